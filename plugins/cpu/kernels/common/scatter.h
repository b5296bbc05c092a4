// What the Scatter operators share: a copy of the data, then updates at offsets, with a reduction.
#pragma once

#include <string>

#include "kernels/common/strided.h"

namespace tenon::cpu {

enum class Reduction { kNone, kAdd, kMul, kMin, kMax };

/// "none", "add", "mul", "min", "max"; an Error for anything else.
Reduction reduction_from(const std::string& name);

/// output = data; then output[offsets[i] + k] = combine(that, updates[i * block + k]) for k < block. In
/// order, so the last of several updates of one element wins. There are as many updates.
void scatter(const Context& ctx, TensorView data, TensorView updates, DimsView offsets, int64_t block,
             Reduction reduction);

}  // namespace tenon::cpu
