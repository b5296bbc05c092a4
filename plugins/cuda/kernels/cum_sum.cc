// CumSum and CumProd: a thread for each line, or a block for each where lines are long and few.
#include "tenon/ep/device/ops/cum_sum.hpp"

#include "kernels/common/kernel.h"
#include "kernels/common/texts.h"

namespace tenon::cuda {
namespace {

constexpr std::string_view kText = R"CU(
// The first `lanes` threads of a warp keep their value, the others get that of the thread so many before them.
__device__ inline C before(C v, int lanes) { return (C)__shfl_up_sync(0xffffffffu, v, lanes); }

#define CUMULATE(name, start, both)                                                                         \
  KERNEL name(IN(T, x), OUT(T, y), int outer, int count, int inner, int exclusive, int reverse) {           \
    EACH_Y(row, outer) EACH(i, inner) {                                                                     \
      C all = start;                                                                                        \
      for (int64 k = 0; k < count; ++k) {                                                                   \
        const int64 at = (row * count + (reverse ? count - 1 - k : k)) * inner + i;                         \
        const C v = x[at];                                                                                  \
        if (exclusive) y[at] = all;                                                                         \
        all = both(all, v);                                                                                 \
        if (!exclusive) y[at] = all;                                                                        \
      }                                                                                                     \
    }                                                                                                       \
  }                                                                                                         \
  KERNEL name##OfBlocks(IN(T, x), OUT(T, y), int outer, int count, int inner, int exclusive, int reverse) { \
    __shared__ C of_warps[32];                                                                              \
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, warps = (int)blockDim.x / 32;     \
    EACH_BLOCK(line, (int64)outer * inner) {                                                                \
      const int64 first = line / inner * count * inner + line % inner;                                      \
      C all = start;                                                                                        \
      for (int64 begin = 0; begin < count; begin += blockDim.x) {                                           \
        const int64 k = begin + threadIdx.x, at = first + (reverse ? count - 1 - k : k) * inner;            \
        C v = start;                                                                                        \
        if (k < count) v = x[at];                                                                           \
        for (int lanes = 1; lanes < 32; lanes *= 2) {                                                       \
          const C other = before(v, lanes);                                                                 \
          if (lane >= lanes) v = both(other, v);                                                            \
        }                                                                                                   \
        __syncthreads();                                                                                    \
        if (lane == 31) of_warps[warp] = v;                                                                 \
        __syncthreads();                                                                                    \
        const C other = before(v, 1);                                                                       \
        C until = all;                                                                                      \
        for (int w = 0; w < warps; ++w) {                                                                   \
          if (w < warp) until = both(until, of_warps[w]);                                                   \
          all = both(all, of_warps[w]);                                                                     \
        }                                                                                                   \
        if (k < count) y[at] = !exclusive ? both(until, v) : lane == 0 ? until : both(until, other);        \
      }                                                                                                     \
    }                                                                                                       \
  }
CUMULATE(CumSum, (C)0, plus)
CUMULATE(CumProd, (C)1, times)
)CU";
constexpr Source kSource{"cum_sum", kJoined<kWrapping, kText>};

using Kernels = Backend<kSource>;

class Cumulate : public ops::CumSum<Kernels> {
 public:
  explicit Cumulate(const NodeView& n)
      : CumSum(n), of_blocks_(Kernels::load(n, cat(n.op(), "OfBlocks"), {computes_in(n.input(0).dtype())})) {}
  void record(Recorder& ctx, const ops::CumSumLines& lines) const {
    constexpr int32_t kWarp = 32, kLong = 128;
    constexpr size_t kThreads = 256;
    // Neighbouring lines are read together; a block reads along a line.
    if (lines.inner >= kWarp || lines.count < kLong) return CumSum::record(ctx, lines);
    const auto count = static_cast<size_t>(lines.outer) * static_cast<size_t>(lines.inner);
    launch_blocks(ctx, of_blocks_, {count, 1, 1}, {kThreads, 1, 1}, in(ctx.input(0)), out(ctx.output(0)),
                  lines.outer, lines.count, lines.inner, exclusive_, reverse_);
  }

 private:
  KernelRef of_blocks_;
};

TENON_KERNEL(Cumulate, .op_type = "CumSum", .since = 11, .contract = "x: rank 1..; axis: one")
TENON_KERNEL(Cumulate, .op_type = "CumProd", .since = 26, .contract = "x: rank 1..; axis: one")

}  // namespace
}  // namespace tenon::cuda
