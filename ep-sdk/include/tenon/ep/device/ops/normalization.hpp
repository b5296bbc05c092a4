// Normalisations: BatchNormalization, those over a line of elements (Layer, Instance, Group, RMS, Lp), and LRN.
//
// Kernels: Batch(x, scale, bias, mean, variance, y, n, channels, inner, epsilon), a work-item for each element.
// Lines(x, scale, bias, y, out_mean, out_inverse, lines, count, epsilon, keeps_mean, has_scale, has_bias, modulo, spread, has_mean,
// has_inverse): `count` elements from line * count on. Scale and bias have the index (line % modulo) * (count / spread) + position /
// spread, which is per channel or per position, as the operator needs.
// LinesAt(x, scale, bias, y, out_mean, out_inverse, walk, lines, count, epsilon, keeps_mean, has_scale, has_bias, has_mean,
// has_inverse): a scale and a bias that broadcast; the walk over x gives their places.
// LpNorm(x, y, outer, count, inner, p) and Lrn(x, y, inner, channels, outer, size, alpha, beta, bias).
#ifndef TENON_EP_DEVICE_OPS_NORMALIZATION_HPP_
#define TENON_EP_DEVICE_OPS_NORMALIZATION_HPP_

#include "tenon/ep/device/axes.hpp"
#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

/// Settings: T for x and y, S for scale and bias, P for the statistics.
inline Settings norm_settings(uint32_t dtype, uint32_t scale, uint32_t parameter) {
  return {computes_in(dtype), computes_in(scale, "S"), computes_in(parameter, "P")};
}

template <class B>
class BatchNormalization {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .inputs(0, kDeviceRealTypes)
        .that(n.output_count() == 1, TENON_REJECT_ATTRIBUTE, "training is not supported")
        .that(n.attr_i("training_mode", 0) == 0 && n.since_version() >= 7, TENON_REJECT_ATTRIBUTE,
              "training is not supported")
        .that(n.attr_i("spatial", 1) == 1, TENON_REJECT_ATTRIBUTE, "spatial = 0 is not supported");
  }
  explicit BatchNormalization(const NodeView& n)
      : epsilon_(n.attr_f("epsilon", 1e-5f)),
        kernel_(
            B::load(n, "Batch", norm_settings(n.input(0).dtype(), n.input(1).dtype(), n.input(3).dtype()))) {}
  void prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    require(!x.empty(), TENON_INVALID_ARGUMENT, "a scalar has no channels");
    const int64_t channels = x.size() < 2 ? 1 : x[1];
    for (int i = 1; i < 5; ++i)
      require(p.input(i).size() == channels, TENON_INVALID_ARGUMENT, "input ", i,
              " does not have one number for each of ", channels, " channels");
    p.set_output(0, x);
    p.may_overwrite(0, 0);
  }
  void record(typename B::Recorder& ctx) const {
    const TensorView x = ctx.input(0);
    const int64_t n = x.size(), channels = x.rank() < 2 ? 1 : x.dim(1);
    const int64_t inner = x.rank() < 2 ? 1 : element_count(x.dims().subspan(2));
    launch(ctx, kernel_, items_of(n), in(x), in(ctx.input(1)), in(ctx.input(2)), in(ctx.input(3)),
           in(ctx.input(4)), out(ctx.output(0)), narrow(n), narrow(channels), narrow(inner), float{epsilon_});
  }

 private:
  float epsilon_;
  typename B::Kernel kernel_;
};

/// The parameters of `Lines`.
struct LineState {
  int64_t lines = 0, count = 0;
  int64_t modulo = 1;  // lines after which scale and bias repeat
  int64_t spread = 1;  // elements that share one scale
  bool broadcasts = false;
  Walk walk{};  // over x: gives the places of scale and bias if they broadcast
};

template <class B>
class LineNorm {
 public:
  void record(typename B::Recorder& ctx, const LineState& state) const {
    const auto number = [](int64_t v) { return narrow(v); };
    const auto optional = [&](int i) {
      return ctx.has_output(i) ? out(ctx.output(i)) : TensorArg{&kNoTensor};
    };
    const Size3 global{static_cast<size_t>(state.lines), 1, 1};
    if (state.broadcasts) {
      launch(ctx, broadcasting_, global, in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)),
             out(ctx.output(0)), optional(1), optional(2), state.walk, number(state.lines),
             number(state.count), float{epsilon_}, int32_t{is_rms_}, int32_t{ctx.has_input(1)},
             int32_t{ctx.has_input(2)}, int32_t{ctx.has_output(1)}, int32_t{ctx.has_output(2)});
      return;
    }
    launch(ctx, kernel_, global, in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)), out(ctx.output(0)),
           optional(1), optional(2), number(state.lines), number(state.count), float{epsilon_},
           int32_t{is_rms_}, int32_t{ctx.has_input(1)}, int32_t{ctx.has_input(2)}, number(state.modulo),
           number(state.spread), int32_t{ctx.has_output(1)}, int32_t{ctx.has_output(2)});
  }

 protected:
  LineNorm(const NodeView& n, bool is_rms, float epsilon) : is_rms_(is_rms), epsilon_(epsilon) {
    const uint32_t dtype = n.input(0).dtype();
    const uint32_t scale = n.has_input(1) ? n.input(1).dtype() : dtype;
    const uint32_t statistics = n.has_output(1)   ? n.output(1).dtype()
                                : n.has_output(2) ? n.output(2).dtype()
                                                  : dtype;
    kernel_ = B::load(n, "Lines", norm_settings(dtype, scale, statistics));
    broadcasting_ = B::load(n, "LinesAt", norm_settings(dtype, scale, statistics));
  }

 private:
  bool is_rms_;
  float epsilon_;
  typename B::Kernel kernel_, broadcasting_;
};

/// LayerNormalization and RMSNormalization: the axes from `axis` on form a line.
template <class B>
class LayerNorm : public LineNorm<B> {
 public:
  static Support supports(const NodeView& n) { return Check(n).inputs(0, kDeviceRealTypes); }
  explicit LayerNorm(const NodeView& n)
      : LineNorm<B>(n, n.op() == "RMSNormalization", n.attr_f("epsilon", 1e-5f)),
        scales_lines_(n.op() == "RMSNormalization"),
        axis_(n.attr_i("axis", -1)) {}
  LineState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const size_t axis = checked_axis(axis_, x.size());
    if (scales_lines_) require_line_scale(p.input(1).dims(), x, axis);
    LineState state;
    state.lines = element_count(x.first(axis));
    state.count = element_count(x.subspan(axis));
    state.broadcasts = broadcasts(p, 1, x.subspan(axis)) || broadcasts(p, 2, x.subspan(axis));
    if (state.broadcasts) state.walk = make_walk(x, {strides_of(p, 1), strides_of(p, 2)}, true);
    p.set_output(0, x);
    Dims statistics(x.begin(), x.end());
    for (size_t d = axis; d < x.size(); ++d) statistics[d] = 1;
    p.set_output(1, statistics);
    p.set_output(2, statistics);
    return state;
  }

 private:
  /// The contract makes the scale broadcast to x. In addition, it must not vary along the axes before `axis`.
  void require_line_scale(DimsView scale, DimsView x, size_t axis) const {
    bool fits = true;
    for (size_t i = 1; i <= scale.size(); ++i)
      fits = fits && (x.size() - i >= axis || scale[scale.size() - i] == 1);
    require(fits, TENON_INVALID_ARGUMENT, "scale ", scale, " does not fit the axes of input ", x, " from ",
            axis_, " on");
  }
  /// Whether input `i` has other dims than a line.
  static bool broadcasts(const PrepareContext& p, int i, DimsView line) {
    if (!p.has_input(i)) return false;
    const DimsView dims = p.input(i).dims();
    return !std::equal(dims.begin(), dims.end(), line.begin(), line.end());
  }
  static Dims strides_of(const PrepareContext& p, int i) {
    const DimsView x = p.input(0).dims();
    return p.has_input(i) ? broadcast_strides(p.input(i).dims(), x) : Dims(x.size(), 0);
  }
  bool scales_lines_;  // the scale must not vary between lines (RMSNormalization)
  int64_t axis_;
};

template <class B>
class InstanceNorm : public LineNorm<B> {
 public:
  static Support supports(const NodeView& n) { return Check(n).inputs(0, kDeviceRealTypes).rank(0, 3); }
  explicit InstanceNorm(const NodeView& n) : LineNorm<B>(n, false, n.attr_f("epsilon", 1e-5f)) {}
  LineState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    require(x.size() >= 2 && p.input(1).size() == x[1] && p.input(2).size() == x[1], TENON_INVALID_ARGUMENT,
            "scale and bias do not have one number for each channel of ", x);
    p.set_output(0, x);
    const int64_t count = element_count(x.subspan(2));
    return {element_count(x.first(2)), count, std::max<int64_t>(1, x[1]), std::max<int64_t>(1, count)};
  }
};

template <class B>
class GroupNorm : public LineNorm<B> {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .inputs(0, kDeviceRealTypes)
        .that(n.since_version() >= 21, TENON_REJECT_OPERATOR,
              "a scale per group (before version 21) is not supported");
  }
  explicit GroupNorm(const NodeView& n)
      : LineNorm<B>(n, false, n.attr_f("epsilon", 1e-5f)), groups_(n.attr_i("num_groups")) {}
  LineState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    require(x.size() >= 2 && groups_ > 0 && x[1] % groups_ == 0 && p.input(1).size() == x[1] &&
                p.input(2).size() == x[1],
            TENON_INVALID_ARGUMENT, "the channels of ", x, " cannot be divided into ", groups_,
            " groups, or scale and bias do not have one number for each channel");
    p.set_output(0, x);
    const int64_t inner = element_count(x.subspan(2));
    return {x[0] * groups_, x[1] / groups_ * inner, groups_, std::max<int64_t>(1, inner)};
  }

 private:
  int64_t groups_;
};

template <class B>
class LpNormalization {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kDeviceRealTypes).attr_is("p", {1, 2});
  }
  explicit LpNormalization(const NodeView& n)
      : axis_(n.attr_i("axis", -1)),
        p_(static_cast<int32_t>(n.attr_i("p", 2))),
        kernel_(B::load(n, "LpNorm", norm_settings(n.input(0).dtype(), TENON_FLOAT32, TENON_FLOAT32))) {}
  void prepare(PrepareContext& p) const {
    checked_axis(axis_, p.input(0).dims().size());
    p.set_output(0, p.input(0).dims());
  }
  void record(typename B::Recorder& ctx) const {
    const DimsView x = ctx.input(0).dims();
    const size_t axis = checked_axis(axis_, x.size());
    const int64_t outer = element_count(x.first(axis)), inner = element_count(x.subspan(axis + 1));
    launch(ctx, kernel_, {static_cast<size_t>(inner), static_cast<size_t>(outer), 1}, in(ctx.input(0)),
           out(ctx.output(0)), narrow(outer), narrow(x[axis]), narrow(inner), p_);
  }

 private:
  int64_t axis_;
  int32_t p_;
  typename B::Kernel kernel_;
};

template <class B>
class Lrn {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kDeviceRealTypes)
        .rank(0, 2)
        .that(n.attr_i("size", 0) > 0, TENON_REJECT_ATTRIBUTE, "size is not positive");
  }
  explicit Lrn(const NodeView& n)
      : size_(n.attr_i("size")),
        alpha_(n.attr_f("alpha", 1e-4f)),
        beta_(n.attr_f("beta", 0.75f)),
        bias_(n.attr_f("bias", 1.0f)),
        kernel_(B::load(n, "Lrn", norm_settings(n.input(0).dtype(), TENON_FLOAT32, TENON_FLOAT32))) {}
  void prepare(PrepareContext& p) const {
    require(p.input(0).rank() >= 2, TENON_INVALID_ARGUMENT, "rank ", p.input(0).rank(), " has no channels");
    p.set_output(0, p.input(0).dims());
  }
  void record(typename B::Recorder& ctx) const {
    const DimsView x = ctx.input(0).dims();
    const int64_t inner = element_count(x.subspan(2)), outer = x[0] * x[1];
    launch(ctx, kernel_, {static_cast<size_t>(inner), static_cast<size_t>(outer), 1}, in(ctx.input(0)),
           out(ctx.output(0)), narrow(inner), narrow(x[1]), narrow(outer), narrow(size_), float{alpha_},
           float{beta_}, float{bias_});
  }

 private:
  int64_t size_;
  float alpha_, beta_, bias_;
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_NORMALIZATION_HPP_
