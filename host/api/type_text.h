// Reading back the text of a type, as ir::Type::to_string writes it.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "core/ir/type.h"

namespace tenon::c_api {

/// "float32[N,3]", "seq(map(int64,float32[]))", "optional(seq(float32[?...]))"; "" and "?" are an unknown
/// type. Dims are not read: shapes stay unknown.
Result<ir::Type> parse_type(std::string_view text);

}  // namespace tenon::c_api
