// Pooling: MaxPool with indices, AveragePool, LpPool and their global forms.
#include "tenon/ep/device/ops/pool.hpp"

#include "kernels/common/lines.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"pool", R"CL(
#define POOL(name, start, each, end, more)                                                                        \
  __kernel void name(IN(T, x), OUT(T, y), OUT(long, places), Window w, int planes, int mode, int has_places,      \
                     int after0, int after1, int after2) {                                                        \
    const int ow = get_global_id(0), line = get_global_id(1), plane = get_global_id(2);                           \
    if (ow >= w.out[2] || line >= w.out[0] * w.out[1] || plane >= planes) return;                                 \
    const int od = line / w.out[1], oh = line - od * w.out[1];                                                    \
    const long base = (long)plane * w.in[0] * w.in[1] * w.in[2];                                                  \
    C s = start;                                                                                                  \
    int count = 0, best = -1;                                                                                     \
    for (int kd = 0; kd < w.size[0]; ++kd) {                                                                    \
      const int d = od * w.stride[0] + kd * w.dilation[0] - w.pad[0];                                             \
      for (int kh = 0; kh < w.size[1]; ++kh) {                                                                  \
        const int h = oh * w.stride[1] + kh * w.dilation[1] - w.pad[1];                                           \
        for (int kw = 0; kw < w.size[2]; ++kw) {                                                                \
          const int q = ow * w.stride[2] + kw * w.dilation[2] - w.pad[2];                                         \
          if (d >= w.in[0] + after0 || h >= w.in[1] + after1 || q >= w.in[2] + after2) continue;                  \
          const bool inside = d >= 0 && d < w.in[0] && h >= 0 && h < w.in[1] && q >= 0 && q < w.in[2];            \
          if (!inside) {                                                                                          \
            count += mode;                                                                                        \
            continue;                                                                                             \
          }                                                                                                       \
          const int at = (d * w.in[1] + h) * w.in[2] + q;                                                         \
          const C v = LOAD(PTR(x), base + at);                                                                    \
          ++count;                                                                                                \
          each;                                                                                                   \
        }                                                                                                         \
      }                                                                                                           \
    }                                                                                                             \
    const long to = ((long)plane * w.out[0] * w.out[1] + line) * w.out[2] + ow;                                   \
    STORE(PTR(y), to, (C)(end));                                                                                  \
    more;                                                                                                         \
  }
#if IS_REAL
POOL(MaxPool, -INFINITY, if (v > s || best < 0 || isnan(v)) { s = v; best = at; }, s,
     if (has_places) PTR(places)[to] = base + best)
POOL(AveragePool, 0, s += v, s / (C)count, )
POOL(L1Pool, 0, s += fabs(v), s, )
POOL(L2Pool, 0, s += v * v, sqrt(s), )
#ifdef NORM
POOL(LpPool, 0, s += pow(fabs(v), (C)NORM), pow(s, 1 / (C)NORM), )
#endif
#else
// A window that is padding alone has the lowest byte.
POOL(MaxPool, (T)-1 > 0 ? 0 : -128, if (best < 0 || v > s) { s = v; best = at; }, s, if (has_places) PTR(places)[to] = base + best)
#endif
)CL"};

struct Kernels : Backend<kSource> {
  using Lines = LineKernels;
  static constexpr bool kHasLines = true;
  static bool lines_fit(const NodeView& node) { return LineKernels::fit(node); }
  static int64_t padded_elements(const Window& window) {
    return opencl::padded_elements(padded_window(window));
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
}  // namespace tenon::opencl
