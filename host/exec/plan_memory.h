// The last stage of planning: places slots in memory, numbers a frame's descriptors, and lists those that change with
// the caller's memory.
#pragma once

#include "core/base/result.h"
#include "host/exec/executable.h"
#include "host/exec/plan.h"

namespace tenon::runtime {

/// The steps are complete. LIMIT_EXCEEDED when the plan does not fit into the session's memory.
Status lay_out(const Executable& executable, Plan* plan);

}  // namespace tenon::runtime
