// The benefit of running nodes here: the time saved against the cpu provider, estimated from shapes.
#pragma once

#include <span>

#include "compiler/operation.h"

namespace tenon::onednn {

/// Nanoseconds on one thread. Negative: the cpu provider is faster.
struct Benefit {
  double work = 0;   // saved in the work itself
  double calls = 0;  // lost to the calls of the library
  double total() const { return work - calls; }
};

/// The benefit of one node. Unknown dims count as small ones. `bf16`: products and convolutions compute in bfloat16.
Benefit benefit_of(Work work, std::span<const Dims> inputs, std::span<const Dims> outputs, bool bf16);
/// The cost of entering and leaving a group whose inputs have `elements` elements to convert.
Benefit benefit_of_border(double elements);

}  // namespace tenon::onednn
