// Shape arithmetic while planning: a node whose inputs are all known is computed at once and gets no step.
#pragma once

#include "core/base/result.h"
#include "host/exec/executable.h"
#include "host/exec/knowledge.h"

namespace tenon::runtime {

/// Computes a part of one node: Shape or Size of a known shape, or a node with small inputs that the executable's
/// evaluator can run. True when `knowledge` now has the values of all its outputs. The part's nodes must have been
/// inferred. The only errors are CANCELLED and DEADLINE_EXCEEDED.
Result<bool> evaluate_part(const Executable& executable, const Part& part, Knowledge* knowledge);

}  // namespace tenon::runtime
