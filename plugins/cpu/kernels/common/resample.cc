#include "kernels/common/resample.h"

#include <cmath>

namespace tenon::cpu {
namespace {

constexpr auto kNearestTypes = kNumericTypes + kBoolType + kComplexTypes;

Interpolation interpolation_named(const std::string& name) {
  if (name == "nearest") return Interpolation::kNearest;
  return name == "cubic" ? Interpolation::kCubic : Interpolation::kLinear;
}

/// Rows of elements of 32 bits, none of them outside.
void resize_nearest_rows(const Context& ctx, const ResizeState& state) {
  const size_t rank = state.out.size();
  const isa::ResizeRow last = state.tables[rank - 1].row();
  const int64_t lines = rank >= 2 ? state.out[rank - 2] : 1;
  static constexpr int64_t kOnly = 0;
  const int64_t* line_offsets = rank >= 2 ? state.tables[rank - 2].index.data() : &kOnly;
  const auto* in = static_cast<const float*>(ctx.input(0).bytes());
  auto* out = static_cast<float*>(ctx.output(0).bytes());
  const auto resize_row = isa_table().resample->row;
  ctx.parallel_for(element_count(state.out) / last.out, std::max<int64_t>(1, kGrainCheap / last.out),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t row = begin; row < end;) {
                       ctx.check_cancelled();
                       int64_t plane = row / lines, base = 0;
                       for (size_t d = rank - std::min<size_t>(rank, 2); d-- > 0; plane /= state.out[d])
                         base += state.tables[d].index[static_cast<size_t>(plane % state.out[d])];
                       const int64_t first = row % lines, last_line = std::min(lines, first + end - row);
                       for (int64_t line = first; line < last_line; ++line, ++row)
                         resize_row(last, in + base + line_offsets[line], out + row * last.out);
                     }
                   });
}

template <class T>
void resize_nearest(const Context& ctx, const ResizeState& state, T outside) {
  const size_t rank = state.out.size();
  const ResizeTable& last = state.tables[rank - 1];
  if (sizeof(T) == sizeof(float) && last.has_row()) return resize_nearest_rows(ctx, state);
  const int64_t rows = element_count(state.out) / std::max<int64_t>(1, last.out);
  const T* in = ctx.input(0).data<T>();
  T* out = ctx.output(0).template data<T>();
  ctx.parallel_for(
      rows, std::max<int64_t>(1, kGrainCheap / std::max<int64_t>(1, last.out)),
      [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          ctx.check_cancelled();
          int64_t rest = row, base = 0;
          bool inside = true;
          for (size_t d = rank - 1; d-- > 0; rest /= state.out[d]) {
            const auto at = static_cast<size_t>(rest % state.out[d]);
            base += state.tables[d].index[at];
            inside = inside && (state.tables[d].outside.empty() || state.tables[d].outside[at] == 0);
          }
          T* to = out + row * last.out;
          for (int64_t i = 0; i < last.out; ++i) {
            const auto at = static_cast<size_t>(i);
            to[i] = inside && (last.outside.empty() || last.outside[at] == 0) ? in[base + last.index[at]]
                                                                              : outside;
          }
        }
      });
}

/// Interpolates one axis in float or double.
template <class C>
void interpolate_axis(const Context& ctx, const ResizeTable& table, int64_t outer, int64_t inner, const C* in,
                      C* out, C outside) {
  const int64_t rows = outer * table.out, work = std::max<int64_t>(1, inner * table.taps);
  ctx.parallel_for(rows, std::max<int64_t>(1, kGrainCheap / work), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t at = row % table.out;
      const C* from = in + row / table.out * table.in * inner;
      C* to = out + row * inner;
      if (!table.outside.empty() && table.outside[static_cast<size_t>(at)] != 0) {
        std::fill_n(to, inner, outside);
        continue;
      }
      const int64_t* index = table.index.data() + at * table.taps;
      const float* weight = table.weight.data() + at * table.taps;
      if constexpr (std::is_same_v<C, float>) {
        constexpr int64_t kMostTaps = 8;
        if (table.taps <= kMostTaps) {
          int64_t offsets[kMostTaps];
          for (int64_t t = 0; t < table.taps; ++t) offsets[t] = index[t] * inner;
          isa_table().resample->blend(from, offsets, weight, table.taps, to, inner);
          continue;
        }
      }
      for (int64_t t = 0; t < table.taps; ++t) {
        const C w = static_cast<C>(weight[t]);
        const C* line = from + index[t] * inner;
        if (t == 0) {
          for (int64_t i = 0; i < inner; ++i) to[i] = w * line[i];
        } else {
          for (int64_t i = 0; i < inner; ++i) to[i] += w * line[i];
        }
      }
    }
  });
}

/// The same for the innermost axis, row by row: it has no vectors of neighbours.
template <class C>
void interpolate_rows(const Context& ctx, const ResizeTable& table, int64_t rows, const C* in, C* out,
                      C outside) {
  const int64_t work = std::max<int64_t>(1, table.out * table.taps);
  const isa::ResizeRow packed = table.row();
  ctx.parallel_for(rows, std::max<int64_t>(1, kGrainCheap / work), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const C* from = in + row * table.in;
      C* to = out + row * table.out;
      if constexpr (std::is_same_v<C, float>) {
        if (table.has_row()) {
          isa_table().resample->row(packed, from, to);
          continue;
        }
      }
      const int64_t* index = table.index.data();
      const float* weight = table.weight.data();
      for (int64_t i = 0; i < table.out; ++i) {
        C sum = 0;
        for (int64_t t = 0; t < table.taps; ++t) sum += static_cast<C>(*weight++) * from[*index++];
        to[i] = !table.outside.empty() && table.outside[static_cast<size_t>(i)] != 0 ? outside : sum;
      }
    }
  });
}

template <class C>
const C* interpolate(const Context& ctx, const ResizeState& state, const C* in, C outside, C* last_out) {
  for (const ResizePass& pass : state.passes) {
    const ResizeTable& table = state.tables[pass.axis];
    const Around& at = pass.around;
    C* out = &pass == &state.passes.back() ? last_out : ctx.scratch<C>(at.outer * table.out * at.inner);
    if (at.inner == 1)
      interpolate_rows(ctx, table, at.outer, in, out, outside);
    else
      interpolate_axis(ctx, table, at.outer, at.inner, in, out, outside);
    in = out;
  }
  return in;
}

/// Converts to the element type. Integers are truncated, as in ONNX's reference.
template <class T, class C>
T narrow(C x) {
  if constexpr (std::is_integral_v<T>) {
    const auto low = static_cast<double>(std::numeric_limits<T>::lowest()),
               high = static_cast<double>(std::numeric_limits<T>::max());
    const auto value = static_cast<double>(x);
    if (!(value > low)) return std::numeric_limits<T>::lowest();
    return value >= high ? std::numeric_limits<T>::max() : static_cast<T>(value);
  } else {
    return static_cast<T>(x);
  }
}

template <class T>
void resize_smooth(const Context& ctx, const ResizeState& state, double outside) {
  using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const TensorView x = ctx.input(0);
  const OutputTensor y = ctx.output(0);
  const int64_t n = y.size();
  if constexpr (std::is_same_v<T, C>) {
    const C* result = interpolate<C>(ctx, state, x.data<T>(), static_cast<C>(outside), y.data<T>());
    if (result != y.data<T>()) std::copy_n(result, n, y.data<T>());
  } else {
    C* widened = ctx.scratch<C>(x.size());
    const T* in = x.data<T>();
    ctx.parallel_for(x.size(), kGrainCheap, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) widened[i] = static_cast<C>(static_cast<Compute<T>>(in[i]));
    });
    const C* result = interpolate<C>(ctx, state, widened, static_cast<C>(outside), ctx.scratch<C>(n));
    T* out = y.data<T>();
    ctx.parallel_for(n, kGrainCheap, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = narrow<T>(result[i]);
    });
  }
}

/// Checks that the result and the tables can fit into memory.
void require_tables(PrepareContext& p, const ResizeRule& rule, const std::vector<ResizeAxis>& axes,
                    DimsView out) {
  constexpr int64_t kMostElements = int64_t{1} << 48;
  require(element_count(out) < kMostElements, TENON_RESOURCE_EXHAUSTED, "the output would have the shape ",
          out);
  double bytes = 0;
  for (const ResizeAxis& axis : axes)
    bytes += static_cast<double>(axis.out) * rule.taps(axis) * 2 * (sizeof(int64_t) + sizeof(float));
  p.require_memory(static_cast<uint64_t>(std::min(bytes, 1e18)), "the weights of the elements");
}

}  // namespace

ResizeRule::ResizeRule(const NodeView& n)
    : interpolation(interpolation_named(n.attr_s("mode", "nearest"))),
      coordinates(n.attr_s("coordinate_transformation_mode",
                           n.op() == "Upsample" || n.since_version() < 11 ? "asymmetric" : "half_pixel")),
      nearest(n.attr_s("nearest_mode",
                       n.op() == "Upsample" || n.since_version() < 11 ? "before_11" : "round_prefer_floor")),
      cubic(static_cast<double>(n.attr_f("cubic_coeff_a", -0.75f))),
      extrapolation(static_cast<double>(n.attr_f("extrapolation_value", 0.0f))),
      exclude_outside(n.attr_i("exclude_outside", 0) != 0),
      antialias(n.attr_i("antialias", 0) != 0) {}

Support ResizeRule::supports(const NodeView& n) {
  const bool smooth = n.attr_s("mode", "nearest") != "nearest";
  Check check(n);
  check.needs_input(0).attr_is("mode", {"nearest", "linear", "bilinear", "cubic"});
  if (smooth)
    check.input(0, kNumericTypes);
  else
    check.input(0, kNearestTypes);
  return check
      .attr_is("coordinate_transformation_mode",
               {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                "tf_half_pixel_for_nn", "tf_crop_and_resize"})
      .attr_is("nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
}

double ResizeRule::source(const ResizeAxis& axis, int64_t i) const {
  const auto x = static_cast<double>(i), in = static_cast<double>(axis.in),
             out = static_cast<double>(axis.out);
  // A scale from the model is used in float32: in double its rounding error would show where a coordinate
  // should be whole.
  const auto unscale = [&](double at) {
    return axis.exact ? at * in / out : static_cast<double>(static_cast<float>(at) / axis.scale);
  };
  const double length = axis.exact        ? out
                        : axis.length > 0 ? axis.length
                                          : static_cast<double>(axis.scale) * in;
  if (coordinates == "asymmetric") return unscale(x);
  if (coordinates == "tf_half_pixel_for_nn") return unscale(x + 0.5);
  if (coordinates == "align_corners") return length == 1 ? 0 : x * (in - 1) / (length - 1);
  if (coordinates == "pytorch_half_pixel") return length > 1 ? unscale(x + 0.5) - 0.5 : 0;
  if (coordinates == "half_pixel_symmetric") return in / 2 * (1 - out / length) + unscale(x + 0.5) - 0.5;
  if (coordinates == "tf_crop_and_resize") {
    const double span = (axis.roi_end - axis.roi_begin) * (in - 1), begin = axis.roi_begin * (in - 1);
    return begin + (length > 1 ? x * span / (length - 1) : span / 2);
  }
  return unscale(x + 0.5) - 0.5;
}

int64_t ResizeRule::nearest_element(double x, bool shrinks) const {
  double at = 0;
  if (nearest == "floor" || (nearest == "before_11" && !shrinks))
    at = std::floor(x);
  else if (nearest == "ceil" || nearest == "before_11")
    at = std::ceil(x);
  else if (nearest == "round_prefer_ceil")
    at = std::floor(x + 0.5);
  else
    at = std::ceil(x - 0.5);
  return static_cast<int64_t>(at);
}

double ResizeRule::kernel(double distance) const {
  const double x = std::fabs(distance);
  if (interpolation == Interpolation::kLinear) return std::max(0.0, 1 - x);
  if (x <= 1) return ((cubic + 2) * x - (cubic + 3)) * x * x + 1;
  return x < 2 ? ((cubic * x - 5 * cubic) * x + 8 * cubic) * x - 4 * cubic : 0;
}

double ResizeRule::taps(const ResizeAxis& axis) const {
  if (interpolation == Interpolation::kNearest) return 1;
  const double reach = interpolation == Interpolation::kLinear ? 1 : 2;
  return antialias ? 2 * std::ceil(reach / std::min(axis.ratio(), 1.0)) : 2 * reach;
}

std::vector<double> ResizeRule::weights(double x, double scale, int64_t* first) const {
  const double reach = interpolation == Interpolation::kLinear ? 1 : 2;
  // When shrinking, antialiasing widens the kernel until neighbouring output elements leave no gap.
  const double narrow = antialias ? std::min(scale, 1.0) : 1.0;
  const auto base = static_cast<int64_t>(std::ceil(x)) - 1;
  const auto begin = static_cast<int64_t>(std::floor(-reach / narrow)) + 1;
  const int64_t count = 2 - 2 * begin;
  *first = base + begin;
  std::vector<double> out(static_cast<size_t>(count));
  double sum = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = kernel((static_cast<double>(*first + static_cast<int64_t>(i)) - x) * narrow);
    sum += out[i];
  }
  if (antialias)
    for (double& w : out) w /= sum;
  return out;
}

void ResizeTable::pack_row() {
  constexpr int64_t kBlock = isa::ResizeRow::kBlock, kReach = 2 * kBlock;
  if (!outside.empty() || in > std::numeric_limits<int32_t>::max()) return;
  const int64_t padded = (out + kBlock - 1) / kBlock * kBlock;
  const auto at = [padded](int64_t t, int64_t i) { return static_cast<size_t>(t * padded + i); };
  row_index.resize(static_cast<size_t>(taps * padded));
  if (!weight.empty()) row_weight.resize(row_index.size());
  bool near = true;
  for (int64_t first = 0; first < out; first += kBlock) {
    int64_t low = in, high = 0;
    for (int64_t i = first; i < first + kBlock; ++i) {
      for (int64_t t = 0; t < taps; ++t) {
        const auto from = static_cast<size_t>(std::min(i, out - 1) * taps + t);
        low = std::min(low, index[from]);
        high = std::max(high, index[from]);
        row_index[at(t, i)] = static_cast<int32_t>(index[from]);
        if (!weight.empty()) row_weight[at(t, i)] = weight[from];
      }
    }
    row_base.push_back(static_cast<int32_t>(low));
    near = near && high - low < kReach;
  }
  if (!near) row_base.clear();
}

isa::ResizeRow ResizeTable::row() const {
  return {.in = in,
          .out = out,
          .taps = taps,
          .padded = static_cast<int64_t>(row_index.size()) / taps,
          .index = row_index.data(),
          .weight = row_weight.empty() ? nullptr : row_weight.data(),
          .base = row_base.empty() ? nullptr : row_base.data()};
}

ResizeTable make_resize_table(const PrepareContext& p, const ResizeRule& rule, const ResizeAxis& axis) {
  ResizeTable table;
  CancelPoint point(p);
  table.in = axis.in;
  table.out = axis.out;
  const auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i, 0, axis.in - 1); };
  const double scale = axis.ratio();
  for (int64_t o = 0; o < axis.out; ++o) {
    point.pass(table.taps);
    const double x = rule.source(axis, o);
    require(std::fabs(x) < 1e15, TENON_INVALID_ARGUMENT, "a scale or region of interest gives coordinate ",
            x);
    if (rule.coordinates == "tf_crop_and_resize")
      table.outside.push_back(x < 0 || x > static_cast<double>(axis.in - 1));
    if (rule.interpolation == Interpolation::kNearest) {
      table.index.push_back(clamp(rule.nearest_element(x, scale < 1)));
      continue;
    }
    int64_t first = 0;
    std::vector<double> weights = rule.weights(x, scale, &first);
    table.taps = static_cast<int64_t>(weights.size());
    double sum = 0;
    for (size_t t = 0; t < weights.size(); ++t) {
      const int64_t at = first + static_cast<int64_t>(t);
      if (rule.exclude_outside && (at < 0 || at >= axis.in)) weights[t] = 0;
      sum += weights[t];
      table.index.push_back(clamp(at));
    }
    for (const double w : weights)
      table.weight.push_back(static_cast<float>(rule.exclude_outside ? w / sum : w));
  }
  return table;
}

ResizeState prepare_resize(PrepareContext& p, const ResizeRule& rule, const std::vector<ResizeAxis>& axes) {
  ResizeState state;
  for (const ResizeAxis& axis : axes) {
    require(axis.out >= 0 && (axis.in > 0 || axis.out == 0), TENON_INVALID_ARGUMENT, "an axis of ", axis.in,
            " elements cannot be resized to ", axis.out, " elements");
    state.out.push_back(axis.out);
  }
  if (element_count(state.out) > 0) require_tables(p, rule, axes, state.out);
  p.set_output(0, state.out);
  if (element_count(state.out) == 0) return state;
  Dims dims;
  for (const ResizeAxis& axis : axes) {
    if (!axis.same()) state.passes.push_back({dims.size(), {}});
    dims.push_back(axis.in);
    state.tables.push_back(make_resize_table(p, rule, axis));
  }
  if (rule.interpolation == Interpolation::kNearest) {
    const Dims strides = strides_of(dims);
    for (size_t d = 0; d < dims.size(); ++d)
      for (int64_t& index : state.tables[d].index) index *= strides[d];
    if (!state.tables.empty()) state.tables.back().pack_row();
    return state;
  }
  std::stable_sort(state.passes.begin(), state.passes.end(), [&](const ResizePass& a, const ResizePass& b) {
    return axes[a.axis].out * axes[b.axis].in < axes[b.axis].out * axes[a.axis].in;
  });
  for (ResizePass& pass : state.passes) {
    pass.around = around(dims, static_cast<int64_t>(pass.axis));
    dims[pass.axis] = axes[pass.axis].out;
    if (pass.around.inner == 1) state.tables[pass.axis].pack_row();
  }
  return state;
}

void resize(const Context& ctx, const ResizeState& state, const ResizeRule& rule) {
  const TensorView x = ctx.input(0);
  if (element_count(state.out) == 0) return;
  if (state.passes.empty()) {
    std::memcpy(ctx.output(0).bytes(), x.bytes(), static_cast<size_t>(x.byte_size()));
  } else if (rule.interpolation == Interpolation::kNearest) {
    dispatch(kNearestTypes, x.dtype(),
             [&]<class T>() { resize_nearest<T>(ctx, state, static_cast<T>(rule.extrapolation)); });
  } else {
    dispatch(kNumericTypes, x.dtype(), [&]<class T>() { resize_smooth<T>(ctx, state, rule.extrapolation); });
  }
}

}  // namespace tenon::cpu
