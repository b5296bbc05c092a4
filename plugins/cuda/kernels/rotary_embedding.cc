// RotaryEmbedding.
#include "tenon/ep/device/ops/rotary_embedding.hpp"

#include "kernels/common/kernel.h"

namespace tenon::cuda {
namespace {

constexpr Source kSource{"rotary_embedding", R"CU(
KERNEL Rotate(IN(T, x), IN(S, cosines), IN(S, sines), IN(int64, positions), OUT(T, y), int* flag, int batch, int heads,
              int length, int size, int rotated, int batch_stride, int head_stride, int row_stride, int interleaved,
              int by_position, int rows) {
  const int half_ = rotated / 2;
  EACH_Z(row, (int64)batch * length) {
    const int64 line = by_position ? place_of(positions[row], rows, flag) : row;
    EACH_Y(head, heads) EACH(e, size) {
      const int64 at = row / length * batch_stride + head * head_stride + row % length * row_stride + e;
      C v = x[at];
      if (e < rotated) {
        const int64 pair = interleaved ? e / 2 : e % half_;
        const bool second = interleaved ? e % 2 != 0 : e >= half_;
        const C u = x[at + (interleaved ? (second ? -1 : 1) : (second ? -half_ : half_))];
        const C cosine = (C)cosines[line * half_ + pair], sine = (C)sines[line * half_ + pair];
        v = second ? sine * u + cosine * v : cosine * v - sine * u;
      }
      y[at] = v;
    }
  }
}
)CU"};
using Kernels = Backend<kSource>;

TENON_KERNEL(ops::RotaryEmbedding<Kernels>, .op_type = "RotaryEmbedding", .since = 23,
             .contract =
                 "X: [B, T, ?] | [B, ?, T, ?]; cos_cache: [?, ?] | [B, T, ?]; sin_cache: = cos_cache; "
                 "position_ids?: [B, T] @index")

}  // namespace
}  // namespace tenon::cuda
