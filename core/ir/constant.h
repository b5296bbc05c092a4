// The values of Constant nodes.
#pragma once

#include "core/ir/graph.h"

namespace tenon::ir {

/// The tensor that one attribute of a Constant node gives. INVALID_MODEL for an attribute that Constant does not
/// have. LIMIT_EXCEEDED when the dense form of a sparse tensor takes more than `limit_bytes`.
Result<TensorPtr> constant_value(const Attribute& attribute, int64_t limit_bytes);

}  // namespace tenon::ir
