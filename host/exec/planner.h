// Makes the plan of an executable for given input shapes.
#pragma once

#include <memory>
#include <span>

#include "core/base/result.h"
#include "core/ir/type.h"
#include "core/plan/signature.h"
#include "host/exec/executable.h"
#include "host/exec/plan.h"

namespace tenon::runtime {

/// `input_types`: one per input of the executable, with concrete shapes. A shape that is missing is learned during the
/// Run. Errors name the node: shapes that its operator or provider refuses, or a value that does not fit into memory.
Result<std::shared_ptr<const Plan>> make_plan(const Executable& executable,
                                              std::span<const ir::Type> input_types,
                                              plan::Signature signature);

}  // namespace tenon::runtime
