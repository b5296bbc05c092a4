// RotaryEmbedding.
#include "tenon/ep/device/ops/rotary_embedding.hpp"

#include "kernels/common/kernel.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"rotary_embedding", R"CL(
__kernel void Rotate(IN(T, x), IN(S, cosines), IN(S, sines), IN(long, positions), OUT(T, y), __global int* flag, int batch,
                     int heads, int length, int size, int rotated, int batch_stride, int head_stride, int row_stride,
                     int interleaved, int by_position, int rows) {
  const int e = get_global_id(0), head = get_global_id(1), row = get_global_id(2);
  if (e >= size || head >= heads || row >= batch * length) return;
  const int at = row / length * batch_stride + head * head_stride + row % length * row_stride, half_ = rotated / 2;
  C v = LOAD(PTR(x), at + e);
  const long line = by_position ? place_of(PTR(positions)[row], rows, flag) : row;
  if (e < rotated) {
    const int pair = interleaved ? e / 2 : e % half_;
    const bool second = interleaved ? e & 1 : e >= half_;
    const C w = LOAD(PTR(x), at + (interleaved ? e + (second ? -1 : 1) : e + (second ? -half_ : half_)));
    const C cosine = (C)LOAD_S(PTR(cosines), line * half_ + pair), sine = (C)LOAD_S(PTR(sines), line * half_ + pair);
    v = second ? sine * w + cosine * v : cosine * v - sine * w;
  }
  STORE(PTR(y), at + e, v);
}
)CL"};
using Kernels = Backend<kSource>;

TENON_KERNEL(ops::RotaryEmbedding<Kernels>, .op_type = "RotaryEmbedding", .since = 23,
             .contract =
                 "X: [B, T, ?] | [B, ?, T, ?]; cos_cache: [?, ?] | [B, T, ?]; sin_cache: = cos_cache; "
                 "position_ids?: [B, T] @index")

}  // namespace
}  // namespace tenon::opencl
