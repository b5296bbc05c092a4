// Shape arithmetic while planning: a node whose inputs are all known is computed at once and gets no step.
#pragma once

#include "core/base/result.h"
#include "host/exec/executable.h"
#include "host/exec/knowledge.h"

namespace tenon::runtime {

/// Computes Shape or Size of a known shape, and one-node parts with small inputs that the evaluator can run. True when
/// `knowledge` now has the values of all outputs. The part's nodes must have been inferred. Fails only when stopped.
Result<bool> evaluate_part(const Executable& executable, const CompiledPart& part, Knowledge* knowledge);

}  // namespace tenon::runtime
