// TypeProto <-> ir::Type.
#pragma once

#include "core/base/result.h"
#include "core/ir/type.h"
#include "core/proto/pb.h"

namespace tenon::proto {

/// INVALID_MODEL for a number that is not an element type.
Result<ir::ElementType> read_element_type(int32_t number);

/// An empty TypeProto gives kUnknown; a tensor without element type gives kUndefined. INVALID_MODEL for element
/// types that do not exist, UNSUPPORTED for opaque types. The caller must have checked depth and rank.
Result<ir::Type> read_type(const pb::TypeProto& proto);
void write_type(const ir::Type& type, pb::TypeProto* out);

}  // namespace tenon::proto
