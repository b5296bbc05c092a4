// Which aliases of a request can be honoured: in place and views.
#pragma once

#include <vector>

#include "core/plan/plan.h"

namespace tenon::plan {

/// The life of a root: of a value and everything that shares its bytes. Steps are counted from 0.
struct Life {
  uint32_t begin =
      kNone;         // first step that writes it; 0 when it is there from the start; kNone: nobody touches it
  uint32_t end = 0;  // last step that touches it
  uint32_t free_after = 0;  // last step at whose start work on it may be unfinished
  uint32_t stream = 0;      // of all steps that touch it, when it is one and the same
  bool one_stream = true;
};

/// True when the memory of `first` may be given to `second`, or the other way round.
bool may_share(const Life& first, const Life& second);

struct Aliases {
  std::vector<Root> roots;  // per value
  std::vector<Life> lives;  // per value; filled for roots
};

/// Takes steps in order and honours every alias that is safe.
Aliases honour_aliases(const Request& request);

}  // namespace tenon::plan
