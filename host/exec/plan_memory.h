// The last step of planning: where every slot's bytes are, where a frame's descriptors stand, and which of
// them must be patched when the caller's memory changes.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "host/exec/executable.h"
#include "host/exec/plan.h"

namespace tenon::runtime {

/// Fills slots' places, slabs, workspaces, releases, patches and tensor indices. `finished_at`: per step, see
/// plan::Step.
Status lay_out(const Executable& executable, std::vector<uint32_t> finished_at, Plan* plan);

}  // namespace tenon::runtime
