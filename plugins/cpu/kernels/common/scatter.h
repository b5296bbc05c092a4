// What the Scatter operators share: copy the data, then apply updates at offsets with a reduction.
#pragma once

#include <string>

#include "kernels/common/strided.h"

namespace tenon::cpu {

enum class Reduction { kNone, kAdd, kMul, kMin, kMax };

/// Accepts "none", "add", "mul", "min" and "max"; throws an Error for anything else.
Reduction reduction_from(const std::string& name);

/// output = data; then combines output[offsets[i] + k] with updates[i * block + k] for k < block, in order:
/// without a reduction the last update of an element wins. `updates` has offsets.size() * block elements.
void scatter(const Context& ctx, TensorView data, TensorView updates, DimsView offsets, int64_t block,
             Reduction reduction);

}  // namespace tenon::cpu
