// Pooling: MaxPool with indices, AveragePool, LpPool and their global forms.
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
POOL(MaxPool, 0, if (best < 0 || v > s) { s = v; best = at; }, s, if (has_places) PTR(places)[to] = base + best)
#endif
)CL"};

struct State {
  Window window{};
  cl_int planes;
  cl_int after[3];        // padding behind the last element
  bool by_lines = false;  // over a padded copy in the workspace
};

class Pool {
 public:
  void record(Recorder& ctx, const State& state) const {
    const Window& w = state.window;
    const bool has_places = ctx.has_output(1);
    if (state.by_lines) {
      const WorkspaceArg padded{0, sizeof(float)};
      lines_.pad(ctx, in(ctx.input(0)), padded, w, state.planes, -std::numeric_limits<float>::infinity());
      return lines_.maximum(ctx, padded, out(ctx.output(0)), w, state.planes);
    }
    launch(ctx, kernel_,
           {static_cast<size_t>(w.out[2]), static_cast<size_t>(w.out[0]) * static_cast<size_t>(w.out[1]),
            static_cast<size_t>(state.planes)},
           in(ctx.input(0)), out(ctx.output(0)), has_places ? out(ctx.output(1)) : TensorArg{&kNoTensor}, w,
           state.planes, cl_int{counts_padding_}, cl_int{has_places}, state.after[0], state.after[1],
           state.after[2]);
  }

 protected:
  Pool(const NodeView& n, const std::string& name, bool counts_padding = false, bool by_lines = false)
      : counts_padding_(counts_padding) {
    const uint32_t dtype = n.input(0).dtype();
    const std::string norm = name == "LpPool" ? cat(" -DNORM=", n.attr_i("p", 2)) : "";
    kernel_ = find_kernel(n, kSource,
                          cat(defines_for(dtype), "-DIS_REAL=", kRealTypes.contains(dtype) ? 1 : 0, norm),
                          name, kLine);
    if (by_lines) {
      lines_ = LineKernels(n);
      lines_.warm_maximum(n);
    } else {
      warm(n, kernel_);
    }
  }
  bool has_lines() const { return static_cast<bool>(lines_); }

 private:
  bool counts_padding_;
  KernelRef kernel_;
  LineKernels lines_;
};

std::string kernel_name(const NodeView& n) {
  if (n.op() == "LpPool" || n.op() == "GlobalLpPool") {
    const int64_t p = n.attr_i("p", 2);
    return p == 1 ? "L1Pool" : p == 2 ? "L2Pool" : "LpPool";
  }
  return std::string(n.op().substr(n.op().starts_with("Global") ? 6 : 0));
}

class WindowPool : public Pool {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.rank(0, 3, 5)
        .that(n.attr_i("p", 2) >= 1, TENON_REJECT_ATTRIBUTE, "p must be at least 1")
        .that(n.attr_i("storage_order", 0) == 0, TENON_REJECT_ATTRIBUTE,
              "storage_order = 1 is not supported");
    if (n.op() == "MaxPool") return check.input(0, kRealTypes + TypeList<int8_t, uint8_t>());
    return check.input(0, kRealTypes);
  }
  explicit WindowPool(const NodeView& n)
      : Pool(n, kernel_name(n), n.attr_i("count_include_pad", 0) != 0,
             n.op() == "MaxPool" && !n.has_output(1) && LineKernels::fit(n)),
        attributes_(n),
        ceils_(n.attr_i("ceil_mode", 0) != 0) {}
  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    Dims y{x[0], x[1]};
    const Dims windows = attributes_.output(x.subspan(2), attributes_.kernel, ceils_, true);
    y.insert(y.end(), windows.begin(), windows.end());
    p.set_output(0, y);
    p.set_output(1, y);
    State out{attributes_.window(x.subspan(2), windows, attributes_.kernel),
              narrow(element_count(x.first(2))),
              {0, 0, 0},
              false};
    const size_t axes = x.size() - 2, first = 3 - axes;
    for (size_t d = 0; d < axes; ++d) {
      const Window& w = out.window;
      const size_t at = first + d;
      // With SAME, whole windows count. Otherwise only the padding in the attribute counts.
      const cl_int span = (w.out[at] - 1) * w.stride[at] + (w.size[at] - 1) * w.dilation[at] + 1;
      const cl_int given = attributes_.pads.empty() || attributes_.auto_pad == "VALID"
                               ? 0
                               : narrow(attributes_.pads[axes + d]);
      out.after[at] = attributes_.is_same() ? std::max(0, span - w.in[at] - w.pad[at]) : given;
    }
    out.by_lines = has_lines() && LineKernels::fit(out.window) && element_count(windows) != 0;
    if (out.by_lines) {
      const int64_t elements = padded_elements(padded_window(out.window)) * out.planes;
      p.workspace(static_cast<uint64_t>(elements) * sizeof(float) + 1, 128);
    }
    return out;
  }

 private:
  WindowAttributes attributes_;
  bool ceils_;
};
TENON_KERNEL(WindowPool, .op_type = "MaxPool", .since = 1, .contract = "X: [N, C, D...] & rank 3..5")
TENON_KERNEL(WindowPool, .op_type = "AveragePool", .since = 1, .contract = "X: [N, C, D...] & rank 3..5")
TENON_KERNEL(WindowPool, .op_type = "LpPool", .since = 2, .contract = "X: [N, C, D...] & rank 3..5")

class GlobalPool : public Pool {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kRealTypes)
        .rank(0, 3)
        .that(n.attr_i("p", 2) >= 1, TENON_REJECT_ATTRIBUTE, "p must be at least 1");
  }
  explicit GlobalPool(const NodeView& n) : Pool(n, kernel_name(n)) {}
  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    Dims dims(x.begin(), x.end());
    std::fill(dims.begin() + 2, dims.end(), 1);
    p.set_output(0, dims);
    State out{{}, narrow(element_count(x.first(2))), {0, 0, 0}, false};
    Window& w = out.window;
    for (int d = 0; d < 3; ++d) w.in[d] = w.out[d] = w.size[d] = w.stride[d] = w.dilation[d] = 1;
    w.in[2] = w.size[2] = narrow(element_count(x.subspan(2)));
    return out;
  }
};
TENON_KERNEL(GlobalPool, .op_type = "GlobalMaxPool", .since = 1, .contract = "X: [N, C, D...] & rank 3..")
TENON_KERNEL(GlobalPool, .op_type = "GlobalAveragePool", .since = 1, .contract = "X: [N, C, D...] & rank 3..")
TENON_KERNEL(GlobalPool, .op_type = "GlobalLpPool", .since = 2, .contract = "X: [N, C, D...] & rank 3..")

}  // namespace
}  // namespace tenon::opencl
