// Pooling: MaxPool with indices, AveragePool, LpPool and their global forms.
//
// Kernels MaxPool, AveragePool, L1Pool, L2Pool and LpPool: (x, y, places, window, planes, mode, has_places, after0, after1, after2), a
// work-item for each output element; setting NORM is p. mode: padding counts. Beside the backend of launch.hpp, B has find(), which
// does not warm the kernel as warm_up() does, and kHasLines: whether it has kernels over lines of a padded copy, B::Lines. It may have
// kThreadsOfWhole: that many work-items along the first axis share each output of the global forms.
#ifndef TENON_EP_DEVICE_OPS_POOL_HPP_
#define TENON_EP_DEVICE_OPS_POOL_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/ops/copy.hpp"
#include "tenon/ep/device/window.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

struct PoolState {
  Window window{};
  int32_t planes;
  int32_t after[3];       // padding behind the last element
  bool by_lines = false;  // over a padded copy in the workspace
  bool is_whole = false;  // of a global form
};

template <class B>
class Pool {
 public:
  void record(typename B::Recorder& ctx, const PoolState& state) const {
    const Window& w = state.window;
    const bool has_places = ctx.has_output(1);
    if constexpr (B::kHasLines) {
      if (state.by_lines) {
        const WorkspaceArg padded{0, sizeof(float)};
        lines_.pad(ctx, in(ctx.input(0)), padded, w, state.planes, -std::numeric_limits<float>::infinity());
        return lines_.maximum(ctx, padded, out(ctx.output(0)), w, state.planes);
      }
    }
    auto columns = static_cast<size_t>(w.out[2]);
    if constexpr (requires { B::kThreadsOfWhole; }) {
      if (state.is_whole) columns *= B::kThreadsOfWhole;
    }
    launch(ctx, kernel_,
           {columns, static_cast<size_t>(w.out[0]) * static_cast<size_t>(w.out[1]),
            static_cast<size_t>(state.planes)},
           in(ctx.input(0)), out(ctx.output(0)), has_places ? out(ctx.output(1)) : TensorArg{&kNoTensor}, w,
           state.planes, int32_t{counts_padding_}, int32_t{has_places}, state.after[0], state.after[1],
           state.after[2]);
  }

 protected:
  Pool(const NodeView& n, const std::string& name, bool counts_padding = false, bool by_lines = false)
      : counts_padding_(counts_padding) {
    kernel_ = B::find(n, name, {computes_in(n.input(0).dtype()), number("NORM", n.attr_i("p", 2))});
    if constexpr (B::kHasLines) {
      if (by_lines) {
        lines_ = typename B::Lines(n);
        lines_.warm_maximum(n);
        return;
      }
    }
    static_cast<void>(by_lines);
    B::warm_up(n, kernel_);
  }
  bool has_lines() const {
    if constexpr (B::kHasLines) {
      return static_cast<bool>(lines_);
    } else {
      return false;
    }
  }

 private:
  bool counts_padding_;
  typename B::Kernel kernel_;
  typename B::Lines lines_;
};

inline std::string pool_kernel_name(const NodeView& n) {
  if (n.op() == "LpPool" || n.op() == "GlobalLpPool") {
    const int64_t p = n.attr_i("p", 2);
    return p == 1 ? "L1Pool" : p == 2 ? "L2Pool" : "LpPool";
  }
  return std::string(n.op().substr(n.op().starts_with("Global") ? 6 : 0));
}

template <class B>
class WindowPool : public Pool<B> {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.rank(0, 3, 5)
        .that(n.attr_i("p", 2) >= 1, TENON_REJECT_ATTRIBUTE, "p must be at least 1")
        .that(n.attr_i("storage_order", 0) == 0, TENON_REJECT_ATTRIBUTE,
              "storage_order = 1 is not supported");
    if (n.op() == "MaxPool") return check.input(0, kDeviceRealTypes + TypeList<int8_t, uint8_t>());
    return check.input(0, kDeviceRealTypes);
  }
  explicit WindowPool(const NodeView& n)
      : Pool<B>(n, pool_kernel_name(n), n.attr_i("count_include_pad", 0) != 0,
                n.op() == "MaxPool" && !n.has_output(1) && B::lines_fit(n)),
        attributes_(n),
        ceils_(n.attr_i("ceil_mode", 0) != 0) {}
  PoolState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    Dims y{x[0], x[1]};
    const Dims windows = attributes_.output(x.subspan(2), attributes_.kernel, ceils_, true);
    y.insert(y.end(), windows.begin(), windows.end());
    p.set_output(0, y);
    p.set_output(1, y);
    PoolState out{attributes_.window(x.subspan(2), windows, attributes_.kernel),
                  narrow(element_count(x.first(2))),
                  {0, 0, 0},
                  false,
                  false};
    const size_t axes = x.size() - 2, first = 3 - axes;
    for (size_t d = 0; d < axes; ++d) {
      const Window& w = out.window;
      const size_t at = first + d;
      // With SAME, whole windows count. Otherwise only the padding in the attribute counts.
      const int32_t span = (w.out[at] - 1) * w.stride[at] + (w.size[at] - 1) * w.dilation[at] + 1;
      const int32_t given = attributes_.pads.empty() || attributes_.auto_pad == "VALID"
                                ? 0
                                : narrow(attributes_.pads[axes + d]);
      out.after[at] = attributes_.is_same() ? std::max(0, span - w.in[at] - w.pad[at]) : given;
    }
    if constexpr (B::kHasLines) {
      out.by_lines = this->has_lines() && B::Lines::fit(out.window) && element_count(windows) != 0;
      if (out.by_lines) {
        const int64_t elements = B::padded_elements(out.window) * out.planes;
        p.workspace(static_cast<uint64_t>(elements) * sizeof(float) + 1, 128);
      }
    }
    return out;
  }

 private:
  WindowAttributes attributes_;
  bool ceils_;
};

template <class B>
class GlobalPool : public Pool<B> {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kDeviceRealTypes)
        .rank(0, 3)
        .that(n.attr_i("p", 2) >= 1, TENON_REJECT_ATTRIBUTE, "p must be at least 1");
  }
  explicit GlobalPool(const NodeView& n) : Pool<B>(n, pool_kernel_name(n)) {}
  PoolState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    Dims dims(x.begin(), x.end());
    std::fill(dims.begin() + 2, dims.end(), 1);
    p.set_output(0, dims);
    PoolState out{{}, narrow(element_count(x.first(2))), {0, 0, 0}, false, true};
    Window& w = out.window;
    for (int d = 0; d < 3; ++d) w.in[d] = w.out[d] = w.size[d] = w.stride[d] = w.dilation[d] = 1;
    w.in[2] = w.size[2] = narrow(element_count(x.subspan(2)));
    return out;
  }
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_POOL_HPP_
