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

/// An input of the executable. A shape that is missing is learned during the Run.
struct PlanInput {
  ir::Type type;
  const MemoryDomain* domain =
      nullptr;  // of a device, where the value is; null: host memory, or that of a state
};

/// `inputs`: one per input of the executable. `kept`: indexes of outputs that stay where they are made. Errors name the
/// node: shapes that its operator or provider refuses, or a value that does not fit into memory.
Result<std::shared_ptr<const Plan>> make_plan(const Executable& executable, std::span<const PlanInput> inputs,
                                              std::span<const uint32_t> kept, plan::Signature signature);

}  // namespace tenon::runtime
