// Text to Value trees. The only files that see the TOML and JSON libraries.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "host/config/value.h"

namespace tenon::config {

/// Deepest nesting either reader accepts; more is an error, so that no stack can be exhausted by a file.
inline constexpr int kMaxDepth = 32;
/// Largest config file, checked before it is read.
inline constexpr uint64_t kMaxConfigBytes = 1 << 20;

/// A TOML document as a table. Dates and times have no use here and are errors. `source` names the text in
/// messages.
Result<Value> read_toml(std::string_view text, const std::string& source);

/// A JSON document whose root is an object. A key given twice is an error; a member that is null counts as
/// absent.
Result<Value> read_json(std::string_view text, const std::string& source);

}  // namespace tenon::config
