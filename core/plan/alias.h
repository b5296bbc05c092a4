// Decides which aliases of a request are used: in place, and views.
#pragma once

#include <vector>

#include "core/plan/plan.h"

namespace tenon::plan {

/// The life of a root: of a value and everything that shares its bytes. StepMemory numbers start at 0.
struct Life {
  uint32_t begin = kNone;   // first step that writes it; 0: there from the start; kNone: not used
  uint32_t end = 0;         // last step that touches it
  uint32_t free_after = 0;  // last step at whose start work on it may be unfinished
  uint32_t stream = 0;      // of all steps that use it, if one_stream
  bool one_stream = true;
};

/// Whether the two may use the same memory.
bool may_share(const Life& first, const Life& second);

struct Aliases {
  std::vector<Root> roots;  // per value
  std::vector<Life> lives;  // per value; filled for roots
};

/// Goes through the steps in order and uses every alias that is safe.
Aliases honour_aliases(const Request& request);

}  // namespace tenon::plan
