// Reads text into Value trees. Only the files that implement this see the TOML and JSON libraries.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "host/config/value.h"

namespace tenon::config {

/// Deepest nesting that both readers accept. Deeper is an error, so that a file cannot exhaust the stack.
inline constexpr int kMaxDepth = 32;
/// Largest config file, checked before it is read.
inline constexpr uint64_t kMaxConfigBytes = 1 << 20;

/// Reads a TOML document as a table. Dates and times are errors. `source` names the text in messages.
Result<Value> read_toml(std::string_view text, const std::string& source);

/// Reads a JSON document whose root is an object. A duplicate key is an error. A null member counts as absent.
Result<Value> read_json(std::string_view text, const std::string& source);

}  // namespace tenon::config
