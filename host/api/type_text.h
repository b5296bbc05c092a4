// Parses the text of a type, as ir::Type::to_string writes it.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/ir/type.h"

namespace tenon::c_api {

/// "float32[N,3]", "seq(map(int64,float32[]))", "optional(seq(float32[?...]))". "" and "?" are the unknown type.
/// Without `dims` they are skipped, and shapes stay unknown. INVALID_INPUT for other texts.
Result<ir::Type> parse_type(std::string_view text, bool dims = false);

}  // namespace tenon::c_api
