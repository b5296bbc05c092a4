// Conv: a product of the filters with the image under each window, laid out as a matrix. An image whose windows are single points is one.
// Filters of one channel each are applied directly.
//
// Beside the backend of launch.hpp, B has typename B::Gemm as in gemm.hpp; B::clamp_of(node), the Clamp of the node; and typename
// B::Patches, the kernels for windows:
//   Patches(node, is_depthwise)                             builds them
//   lays(window)                                            whether images are laid out; else is_pointwise(window)
//   columns(points)                                         the length of a row of the laid matrix
//   padded_bytes(window, planes)                            of a padded copy that it wants at the start of the workspace, or 0
//   lay(recorder, x, image, padded_bytes, laid, window, channels, columns)
//       writes image number `image` as the matrix whose rows are (channel, position in the window)
//   depthwise(recorder, padded_bytes, window, filters, multiplier, images, clamp)
//       applies filters of one channel each to all images of input 0
// Patches that convolve without laying out images have instead of lays(), columns(), padded_bytes() and lay():
//   typename Whole                                          how a convolution is done as a whole; false in a condition: it is not
//   whole(state, has_bias, has_addend, clamp)               a Whole, which may be false for pointwise windows and filters of one channel
//   whole_bytes(whole)                                      of workspace that it wants
//   convolve(recorder, state, whole, clamp)                 lists it
#ifndef TENON_EP_DEVICE_OPS_CONV_HPP_
#define TENON_EP_DEVICE_OPS_CONV_HPP_

#include "tenon/ep/device/clamp.hpp"
#include "tenon/ep/device/ops/gemm.hpp"
#include "tenon/ep/device/window.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

struct ConvState {
  enum class Way { kPoint, kDepthwise, kLaid, kWhole };
  Way way = Way::kLaid;
  Window window{};
  GemmArgs product;  // for one image, or for all of them with kPoint
  int32_t axes = 0;  // spatial ones
  int32_t images = 0, channels = 0, filters = 0, groups = 0;
  int64_t points = 0, depth = 0, columns = 0;
  uint64_t padded_bytes = 0;
};

/// Whether each window is one point, and there is one for each point of the input.
inline bool is_pointwise(const Window& w) {
  for (int d = 0; d < 3; ++d) {
    if (w.size[d] != 1 || w.stride[d] != 1 || w.pad[d] != 0 || w.in[d] != w.out[d]) return false;
  }
  return true;
}

/// For Patches without a Whole.
template <class Patches>
struct WholeOf {
  struct type {};
};
template <class Patches>
requires requires { typename Patches::Whole; }
struct WholeOf<Patches> {
  using type = typename Patches::Whole;
};

template <class B>
class Conv {
  using Way = ConvState::Way;
  using Patches = typename B::Patches;
  using Whole = typename WholeOf<Patches>::type;
  static constexpr bool kHasWhole = requires { typename Patches::Whole; };

 public:
  struct State : ConvState {
    Whole whole;
  };

  static Support supports(const NodeView& n) {
    return Check(n)
        .inputs(0, kDeviceRealTypes)
        .rank(0, 3, 5)
        .rank(1, 3, 5)
        .that(n.attr_i("group", 1) > 0, TENON_REJECT_ATTRIBUTE, "group is not positive");
  }
  explicit Conv(const NodeView& n)
      : attributes_(n), groups_(n.attr_i("group", 1)), clamp_(B::clamp_of(n)), patches_(n, is_depthwise(n)) {
    if (is_depthwise(n)) return;
    const ValueView f = n.input(1);
    gemm_ = typename B::Gemm(n, n.input(0).dtype(),
                             f.has_rank() && f.dim(0) >= 0 ? f.dim(0) / groups_ : int64_t{-1}, 32);
  }

  State prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims(), f = p.input(1).dims();
    require(f[0] % groups_ == 0, TENON_INVALID_ARGUMENT, "filters ", f, " cannot be divided into ", groups_,
            " groups");
    const Dims places = attributes_.output(x.subspan(2), f.subspan(2));
    Dims y{x[0], f[0]};
    y.insert(y.end(), places.begin(), places.end());
    p.set_output(0, y);
    State out;
    out.window = attributes_.window(x.subspan(2), places, f.subspan(2));
    out.axes = narrow(static_cast<int64_t>(places.size()));
    out.images = narrow(x[0]);
    out.channels = narrow(x[1]);
    out.filters = narrow(f[0]);
    out.groups = narrow(groups_);
    out.points = element_count(places);
    out.depth = element_count(f.subspan(1));
    out.way = groups_ > 1 && f[1] == 1 ? Way::kDepthwise : Way::kPoint;
    if constexpr (kHasWhole) {
      out.whole = patches_.whole(out, p.has_input(kBiasInput), p.has_input(kAddendInput), clamp_);
      if (out.whole) {
        out.way = Way::kWhole;
        if (const uint64_t bytes = patches_.whole_bytes(out.whole); bytes != 0) p.workspace(bytes, 256);
        return out;
      }
    } else {
      if (out.way == Way::kPoint && patches_.lays(out.window)) out.way = Way::kLaid;
      if (out.way != Way::kPoint) out.padded_bytes = patches_.padded_bytes(out.window, x[1]);
    }
    if (out.way == Way::kDepthwise) {
      if (out.padded_bytes != 0) p.workspace(out.padded_bytes * static_cast<uint64_t>(x[0]), 128);
      return out;
    }
    out.columns = out.points;
    if constexpr (!kHasWhole) {
      if (out.way == Way::kLaid) out.columns = patches_.columns(out.points);
    }
    out.product = product(out, p.has_input(2));
    uint64_t laid_bytes = 0;
    if (out.way == Way::kLaid) {
      const int64_t elements = product_of(product_of(out.depth, groups_), out.columns);
      laid_bytes =
          out.padded_bytes + static_cast<uint64_t>(elements) * (dtype_bits(p.input(0).dtype()) / 8) + 1;
    }
    place_workspace(p, gemm_, laid_bytes, &out.product);
    return out;
  }

  void record(typename B::Recorder& ctx, const State& state) const {
    if constexpr (kHasWhole) {
      if (state.way == Way::kWhole) return patches_.convolve(ctx, state, state.whole, clamp_);
    }
    if (state.way == Way::kDepthwise) {
      return patches_.depthwise(ctx, state.padded_bytes, state.window, state.filters,
                                state.filters / state.groups, state.images, clamp_);
    }
    const TensorArg filters = in(ctx.input(1)), bias = in(ctx.input(2));
    if (state.way == Way::kPoint)
      return gemm_.record(ctx, state.product, filters, in(ctx.input(0)), bias, out(ctx.output(0)));
    if constexpr (!kHasWhole) {
      const WorkspaceArg laid{state.padded_bytes, dtype_bits(ctx.input(0).dtype()) / 8};
      for (int32_t image = 0; image < state.images; ++image) {
        patches_.lay(ctx, ctx.input(0), image, state.padded_bytes, laid, state.window, state.channels,
                     state.columns);
        gemm_.record(ctx, state.product, filters, laid, bias,
                     out(ctx.output(0), int64_t{image} * state.filters * state.points));
      }
    }
  }

 private:
  /// Whether the filters are known to have one channel each.
  static bool is_depthwise(const NodeView& n) {
    const ValueView f = n.input(1);
    return n.attr_i("group", 1) > 1 && f.has_rank() && f.dim(1) == 1;
  }

  GemmArgs product(const ConvState& state, bool has_bias) const {
    GemmArgs out;
    GemmShape& s = out.shape;
    const int64_t rows = state.filters / groups_, images = state.way == Way::kPoint ? state.images : 1;
    s.rows = narrow(rows);
    s.columns = narrow(state.points);
    s.depth = s.a_row = narrow(state.depth);
    s.b_depth = narrow(state.columns);
    s.y_row = s.columns;
    s.bias_row = 1;
    out.beta = has_bias ? 1.0f : 0.0f;
    out.lowest = clamp_.low;
    out.highest = clamp_.high;
    const int64_t b = product_of(state.depth, state.columns), y = rows * state.points;
    s.batches =
        make_walk(Dims{images, groups_},
                  {{0, rows * state.depth}, {product_of(b, groups_), b}, {y * groups_, y}, {0, rows}}, true);
    return out;
  }

  WindowAttributes attributes_;
  int64_t groups_;
  Clamp clamp_;
  Patches patches_;
  typename B::Gemm gemm_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_CONV_HPP_
