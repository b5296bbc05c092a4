// What is checked of manifest, file and machine without running the library. The checks throw Failed. What the host
// judges too comes from ep-sdk/shared; tests/cts/agreement.py compares the verdicts.
#pragma once

#include <string>

#include "ep-sdk/cts/binary.h"
#include "ep-sdk/cts/target.h"
#include "ep-sdk/shared/option.h"

namespace tenon::cts {

/// The manifest is JSON, keeps to manifest.schema.json and is right in itself.
void check_manifest(const Target& target);
/// Each option has its own name, and a fitting default, bounds and values.
void check_options(const Target& target);
/// `bytes`, the content of `path`, have the size and the SHA-256 that `entry` of the manifest names.
void check_content(const nlohmann::json& entry, const std::string& path, const std::string& bytes);
/// `os` and `arch` of the manifest are those of the library.
void check_platform(const Target& target, const Binary& binary);
/// The library is for this operating system, as far as the manifest tells.
void check_system(const Target& target);
/// The same for everything else of this machine.
void check_machine(const Target& target);

/// An entry of the manifest's `options`. Throws Failed when a bound is no number.
shared::OptionRule rule_of(const nlohmann::json& option);
shared::OptionValue value_of(const nlohmann::json& json);

}  // namespace tenon::cts
