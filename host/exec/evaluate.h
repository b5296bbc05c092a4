// Shape arithmetic while planning: nodes whose inputs are all known give known values, and no step.
#pragma once

#include "core/base/result.h"
#include "host/exec/executable.h"
#include "host/exec/knowledge.h"

namespace tenon::runtime {

/// True when all outputs of the part became known values: Shape and Size of a known shape, and one-node parts
/// with small inputs that the executable's evaluator could run. The part's nodes have been inferred.
Result<bool> evaluate_part(const Executable& executable, const Part& part, Knowledge* knowledge);

}  // namespace tenon::runtime
