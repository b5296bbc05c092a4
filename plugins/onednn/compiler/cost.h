// What a group of nodes is worth here: how much less time it takes than on the cpu provider, by its shapes.
#pragma once

#include <span>

#include "compiler/operation.h"

namespace tenon::onednn {

/// Nanoseconds on one thread; negative where the cpu provider is faster.
struct Benefit {
  double work = 0;   // saved in the work itself
  double steps = 0;  // lost to one call of the library more per step
  double total() const { return work - steps; }
};

/// Of one node. Dims that are not known count as small ones.
Benefit benefit_of(Work work, std::span<const Dims> inputs, std::span<const Dims> outputs);
/// Of entering a group and leaving it, with so many numbers to bring into another layout.
Benefit benefit_of_border(double elements);

}  // namespace tenon::onednn
