// Det: determinants of square matrices.
#include "kernels/common/kernel.h"
#include "tenon/ep/device/axes.hpp"

namespace tenon::cuda {
namespace {

// Gaussian elimination in double, with the largest element of the column as pivot: a block for each matrix, which it copies
// to the workspace first.
constexpr Source kSource{"det", R"CU(
struct Pivot {
  double value;
  int row;
};
__device__ inline Pivot lane_xor(const Pivot& pivot, int lanes) {
  return {lane_xor(pivot.value, lanes), lane_xor(pivot.row, lanes)};
}
KERNEL Det(IN(T, x), OUT(T, y), double* room, int count, int n) {
  const auto larger = [](const Pivot& a, const Pivot& b) {
    return a.value > b.value || (a.value == b.value && a.row < b.row) ? a : b;
  };
  EACH_BLOCK(matrix, count) {
    double* a = room + matrix * n * n;
    const T* from = x + matrix * n * n;
    for (int64 i = threadIdx.x; i < (int64)n * n; i += blockDim.x) a[i] = (double)(C)from[i];
    double result = 1;
    for (int c = 0; c < n && result != 0; ++c) {
      __syncthreads();
      Pivot pivot = {-1, n};
      for (int r = c + (int)threadIdx.x; r < n; r += (int)blockDim.x) {
        const double value = fabs(a[(int64)r * n + c]);
        pivot = larger(pivot, Pivot{value == value ? value : INFINITY, r});  // the result is NaN then
      }
      pivot = block_combine(pivot, Pivot{-1, n}, larger);
      const double top = a[(int64)pivot.row * n + c];
      __syncthreads();
      if (pivot.row != c) {
        for (int k = c + (int)threadIdx.x; k < n; k += (int)blockDim.x) {
          const double other = a[(int64)c * n + k];
          a[(int64)c * n + k] = a[(int64)pivot.row * n + k];
          a[(int64)pivot.row * n + k] = other;
        }
        __syncthreads();
        result = -result;
      }
      result = top == 0 ? 0 : result * top;
      if (result == 0) break;  // as for all threads of the block
      const int64 width = n - c - 1;
      for (int64 e = threadIdx.x; e < width * width; e += blockDim.x) {
        const int64 r = c + 1 + e / width, k = c + 1 + e % width;
        a[r * n + k] -= a[r * n + c] / top * a[(int64)c * n + k];
      }
    }
    if (threadIdx.x == 0) y[matrix] = (C)result;
    __syncthreads();
  }
}
)CU"};
using Kernels = Backend<kSource>;

constexpr size_t kThreads = 128;
constexpr int64_t kMostBlocks = 4096;

struct MatrixState {
  int32_t count, n;
};

class Det {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kDeviceRealTypes).rank(0, 2); }
  explicit Det(const NodeView& n) : kernel_(Kernels::load(n, "Det", {computes_in(n.input(0).dtype())})) {}
  MatrixState prepare(PrepareContext& p) const {
    const DimsView dims = p.input(0).dims();
    p.set_output(0, dims.first(dims.size() - 2));
    narrow(element_count(dims));
    p.workspace(static_cast<uint64_t>(std::max<int64_t>(1, element_count(dims))) * sizeof(double));
    return {narrow(element_count(dims.first(dims.size() - 2))), narrow(dims.back())};
  }
  void record(Recorder& ctx, const MatrixState& s) const {
    const auto blocks = static_cast<size_t>(std::min<int64_t>(s.count, kMostBlocks));
    launch_blocks(ctx, kernel_, {blocks, 1, 1}, {kThreads, 1, 1}, in(ctx.input(0)), out(ctx.output(0)),
                  WorkspaceArg{0, sizeof(double)}, s.count, s.n);
  }

 private:
  KernelRef kernel_;
};
TENON_KERNEL(Det, .op_type = "Det", .since = 1, .contract = "X: [B..., N, N]")

}  // namespace
}  // namespace tenon::cuda
