// TypeProto <-> ir::Type.
#pragma once

#include "core/base/result.h"
#include "core/ir/type.h"
#include "core/proto/pb.h"

namespace tenon::proto {

/// INVALID_MODEL for a number that is no element type.
Result<ir::ElementType> read_element_type(int32_t number);

/// A TypeProto that says nothing gives kUnknown, a tensor without element type kUndefined. INVALID_MODEL for
/// element types that do not exist, UNSUPPORTED for opaque ones. Depth and rank were checked where the message came in.
Result<ir::Type> read_type(const pb::TypeProto& proto);
void write_type(const ir::Type& type, pb::TypeProto* out);

}  // namespace tenon::proto
