// The values that Constant nodes state.
#pragma once

#include "core/ir/graph.h"

namespace tenon::ir {

/// The tensor that an attribute of a Constant node stands for. INVALID_MODEL for one that a Constant cannot have,
/// LIMIT_EXCEEDED when the dense form of a sparse one takes more than `limit_bytes`.
Result<TensorPtr> constant_value(const Attribute& attribute, int64_t limit_bytes);

}  // namespace tenon::ir
