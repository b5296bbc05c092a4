// The last stage of planning: places slots in memory, numbers a frame's descriptors, and lists those that change with
// the caller's memory.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "host/exec/executable.h"
#include "host/exec/plan.h"

namespace tenon::runtime {

/// `finished_at`: per step, as in plan::StepMemory. LIMIT_EXCEEDED when the plan does not fit into the session's
/// memory.
Status lay_out(const Executable& executable, std::vector<uint32_t> finished_at, Plan* plan);

}  // namespace tenon::runtime
