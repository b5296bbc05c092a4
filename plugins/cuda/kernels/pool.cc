// Pooling: MaxPool with indices, AveragePool, LpPool and their global forms.
#include "tenon/ep/device/ops/pool.hpp"

#include "kernels/common/kernel.h"

namespace tenon::cuda {
namespace {

// BY_WARP: the global forms, with few outputs of many elements. A warp computes one, else a thread does.
constexpr Source kSource{"pool", R"CU(
#if IS_REAL
#define LEAST -INFINITY
typedef C Wide;  // for shuffles
#else
#define LEAST LOWEST
typedef int Wide;
#endif
#if BY_WARP
#define EACH_OUTPUT(column, n)                                                           \
  for (int64 column = ((int64)blockIdx.x * blockDim.x + threadIdx.x) / 32; column < (n); \
       column += (int64)gridDim.x * blockDim.x / 32)
#define EACH_TAP                                                                                            \
  for (int tap = (int)threadIdx.x % 32; tap < w.size[0] * w.size[1] * w.size[2]; tap += 32)                 \
    for (int kq = tap % w.size[2], line_ = tap / w.size[2], kh = line_ % w.size[1], kd = line_ / w.size[1], \
             once = 1;                                                                                      \
         once != 0; once = 0)
#define IS_FIRST (threadIdx.x % 32 == 0)
#define JOIN(join)                                                                                   \
  for (int lanes = 16; lanes > 0; lanes /= 2) {                                                      \
    const Best o = {(C)lane_xor((Wide)s.v, lanes), lane_xor(s.at, lanes), lane_xor(s.count, lanes)}; \
    join;                                                                                            \
    s.count += o.count;                                                                              \
  }
#else
#define EACH_OUTPUT(column, n) EACH(column, n)
#define EACH_TAP                           \
  for (int kd = 0; kd < w.size[0]; ++kd)   \
    for (int kh = 0; kh < w.size[1]; ++kh) \
      for (int kq = 0; kq < w.size[2]; ++kq)
#define IS_FIRST true
#define JOIN(join)
#endif
// What was seen of a window so far.
struct Best {
  C v;
  int at, count;
};
#define POOL(name, start, each, end, join)                                                             \
  KERNEL name(IN(T, x), OUT(T, y), OUT(int64, places), Window w, int planes, int mode, int has_places, \
              int after0, int after1, int after2) {                                                    \
    const int lines = w.out[0] * w.out[1];                                                             \
    EACH_Z(plane, planes) EACH_Y(line, lines) EACH_OUTPUT(column, w.out[2]) {                          \
      const int od = (int)line / w.out[1], oh = (int)line - od * w.out[1], oq = (int)column;           \
      const int64 base = plane * w.in[0] * w.in[1] * w.in[2];                                          \
      Best s = {start, -1, 0};                                                                         \
      EACH_TAP {                                                                                       \
        const int d = od * w.stride[0] + kd * w.dilation[0] - w.pad[0];                                \
        const int h = oh * w.stride[1] + kh * w.dilation[1] - w.pad[1];                                \
        const int q = oq * w.stride[2] + kq * w.dilation[2] - w.pad[2];                                \
        if (d >= w.in[0] + after0 || h >= w.in[1] + after1 || q >= w.in[2] + after2) continue;         \
        if (d < 0 || d >= w.in[0] || h < 0 || h >= w.in[1] || q < 0 || q >= w.in[2]) {                 \
          s.count += mode;                                                                             \
          continue;                                                                                    \
        }                                                                                              \
        const int at = (d * w.in[1] + h) * w.in[2] + q;                                                \
        const C v = x[base + at];                                                                      \
        ++s.count;                                                                                     \
        each;                                                                                          \
      }                                                                                                \
      JOIN(join)                                                                                       \
      const int64 to = (plane * lines + line) * w.out[2] + column;                                     \
      if (IS_FIRST) {                                                                                  \
        y[to] = (C)(end);                                                                              \
        if (has_places) places[to] = base + s.at;                                                      \
      }                                                                                                \
    }                                                                                                  \
  }
// Of equal numbers the first, of NaN the last.
#define MAX_EACH                             \
  if (v > s.v || s.at < 0 || v != v) {       \
    s.v = v;                                 \
    s.at = at;                               \
  }
__device__ inline bool is_better(const Best& a, const Best& b) {
  if (a.at < 0 || b.at < 0) return b.at < 0 && a.at >= 0;
  if (a.v != a.v || b.v != b.v) return a.v != a.v && (b.v == b.v || a.at > b.at);
  return a.v > b.v || (a.v == b.v && a.at < b.at);
}
#define MAX_JOIN          \
  if (is_better(o, s)) {  \
    s.v = o.v;            \
    s.at = o.at;          \
  }
POOL(MaxPool, LEAST, MAX_EACH, s.v, MAX_JOIN)
#if IS_REAL
POOL(AveragePool, 0, s.v += v, s.v / (C)s.count, s.v += o.v)
POOL(L1Pool, 0, s.v += fabs(v), s.v, s.v += o.v)
POOL(L2Pool, 0, s.v += v * v, sqrt(s.v), s.v += o.v)
POOL(LpPool, 0, s.v += pow(fabs(v), (C)NORM), pow(s.v, 1 / (C)NORM), s.v += o.v)
#endif
)CU"};

struct NoLines {};
struct Kernels : Backend<kSource> {
  using Lines = NoLines;
  static constexpr bool kHasLines = false;
  static constexpr size_t kThreadsOfWhole = 32;
  static bool lines_fit(const NodeView&) { return false; }
  static KernelRef find(const NodeView& node, std::string_view name, Settings settings) {
    settings.push_back(number("BY_WARP", node.op().starts_with("Global")));
    return load_kernel(node, kSource, defines_of(settings), std::string(name));
  }
};

TENON_KERNEL(ops::WindowPool<Kernels>, .op_type = "MaxPool", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..5")
TENON_KERNEL(ops::WindowPool<Kernels>, .op_type = "AveragePool", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..5")
TENON_KERNEL(ops::WindowPool<Kernels>, .op_type = "LpPool", .since = 2,
             .contract = "X: [N, C, D...] & rank 3..5")
TENON_KERNEL(ops::GlobalPool<Kernels>, .op_type = "GlobalMaxPool", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..")
TENON_KERNEL(ops::GlobalPool<Kernels>, .op_type = "GlobalAveragePool", .since = 1,
             .contract = "X: [N, C, D...] & rank 3..")
TENON_KERNEL(ops::GlobalPool<Kernels>, .op_type = "GlobalLpPool", .since = 2,
             .contract = "X: [N, C, D...] & rank 3..")

}  // namespace
}  // namespace tenon::cuda
