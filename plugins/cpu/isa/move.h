// Moving elements of any type, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace tenon::cpu::isa {

/// out[r * out_stride + c] = in[c * in_stride + r] for r < rows and c < columns. Strides count elements.
using Transpose = void (*)(const void* in, int64_t in_stride, void* out, int64_t out_stride, int64_t rows,
                           int64_t columns);

struct Moves {
  Transpose transpose_1, transpose_2, transpose_4, transpose_8;  // by the bytes of an element
};

}  // namespace tenon::cpu::isa
