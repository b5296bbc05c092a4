// The last stage of planning: the place of every slot's bytes, the numbers of a frame's descriptors, and the
// descriptors that must be patched when the caller's memory changes.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "host/exec/executable.h"
#include "host/exec/plan.h"

namespace tenon::runtime {

/// Fills in the places of slots, slabs, workspaces, releases, patches and tensor indices. `finished_at`: per step, as
/// in plan::Step. LIMIT_EXCEEDED when the plan does not fit into the session's memory.
Status lay_out(const Executable& executable, std::vector<uint32_t> finished_at, Plan* plan);

}  // namespace tenon::runtime
