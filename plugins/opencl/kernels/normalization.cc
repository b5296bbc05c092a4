// Normalisations: BatchNormalization, those over a line of elements (Layer, Instance, Group, RMS,
// MeanVariance, Lp), and LRN.
#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

// Lines: one work-item reads `count` elements from `line * count` on, twice. Scale and bias have the index
// (line / per) % modulo + position / spread, which is per channel or per position, as the operator needs.
constexpr Source kSource{"normalization", R"CL(
__kernel void Batch(IN(T, x), IN(S, scale), IN(S, bias), IN(P, mean), IN(P, variance), OUT(T, y), int n, int channels,
                    int inner, float epsilon) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int c = i / inner % channels;
  const C factor = (C)LOAD_S(PTR(scale), c) / sqrt((C)LOAD_P(PTR(variance), c) + (C)epsilon);
  STORE(PTR(y), i, (LOAD(PTR(x), i) - (C)LOAD_P(PTR(mean), c)) * factor + (C)LOAD_S(PTR(bias), c));
}
__kernel void Lines(IN(T, x), IN(S, scale), IN(S, bias), OUT(T, y), OUT(P, out_mean), OUT(P, out_inverse), int lines,
                    int count, float epsilon, int keeps_mean, int has_scale, int has_bias, int modulo, int spread,
                    int has_mean, int has_inverse) {
  const int line = get_global_id(0);
  if (line >= lines) return;
  __global const T* from = PTR(x) + (long)line * count;
  __global T* to = PTR(y) + (long)line * count;
  C mean = 0, square = 0;
  if (!keeps_mean) {
    for (int k = 0; k < count; ++k) mean += LOAD(from, k);
    mean /= count;
  }
  for (int k = 0; k < count; ++k) {
    const C v = LOAD(from, k) - mean;
    square += v * v;
  }
  const C inverse = 1 / sqrt(square / count + (C)epsilon);
  const int base = line % modulo * (count / spread);
  for (int k = 0; k < count; ++k) {
    const int c = base + k / spread;
    C v = (LOAD(from, k) - mean) * inverse;
    if (has_scale) v *= (C)LOAD_S(PTR(scale), c);
    if (has_bias) v += (C)LOAD_S(PTR(bias), c);
    STORE(to, k, v);
  }
  if (has_mean) STORE_P(PTR(out_mean), line, mean);
  if (has_inverse) STORE_P(PTR(out_inverse), line, inverse);
}
// Like Lines, with a scale and a bias that broadcast: the walk over x gives their places.
__kernel void LinesAt(IN(T, x), IN(S, scale), IN(S, bias), OUT(T, y), OUT(P, out_mean), OUT(P, out_inverse), Walk w,
                      int lines, int count, float epsilon, int keeps_mean, int has_scale, int has_bias, int has_mean,
                      int has_inverse) {
  const int line = get_global_id(0);
  if (line >= lines) return;
  __global const T* from = PTR(x) + (long)line * count;
  __global T* to = PTR(y) + (long)line * count;
  C mean = 0, square = 0;
  if (!keeps_mean) {
    for (int k = 0; k < count; ++k) mean += LOAD(from, k);
    mean /= count;
  }
  for (int k = 0; k < count; ++k) {
    const C v = LOAD(from, k) - mean;
    square += v * v;
  }
  const C inverse = 1 / sqrt(square / count + (C)epsilon);
  for (int k = 0; k < count; ++k) {
    WALK2(w, line * count + k, s, b)
    C v = (LOAD(from, k) - mean) * inverse;
    if (has_scale) v *= (C)LOAD_S(PTR(scale), s);
    if (has_bias) v += (C)LOAD_S(PTR(bias), b);
    STORE(to, k, v);
  }
  if (has_mean) STORE_P(PTR(out_mean), line, mean);
  if (has_inverse) STORE_P(PTR(out_inverse), line, inverse);
}
__kernel void LpNorm(IN(T, x), OUT(T, y), int outer, int count, int inner, int p) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= inner || row >= outer) return;
  const int from = row * count * inner + i;
  C sum = 0;
  for (int k = 0; k < count; ++k) {
    const C v = LOAD(PTR(x), from + k * inner);
    sum += p == 1 ? fabs(v) : v * v;
  }
  const C norm = p == 1 ? sum : sqrt(sum);
  for (int k = 0; k < count; ++k) {
    const C v = LOAD(PTR(x), from + k * inner);
    STORE(PTR(y), from + k * inner, norm == 0 ? (C)0 : v / norm);
  }
}
__kernel void Lrn(IN(T, x), OUT(T, y), int inner, int channels, int outer, int size, float alpha, float beta,
                  float bias) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= inner || row >= outer) return;
  const int c = row % channels;
  const int begin = max(0, c - (size - 1) / 2), end = min(channels - 1, c + size / 2);
  C sum = 0;
  for (int k = begin; k <= end; ++k) {
    const C v = LOAD(PTR(x), (row + k - c) * inner + i);
    sum += v * v;
  }
  STORE(PTR(y), row * inner + i, LOAD(PTR(x), row * inner + i) / pow((C)bias + (C)alpha / size * sum, (C)beta));
}
)CL"};

std::string defines(uint32_t dtype, uint32_t scale, uint32_t parameter) {
  return cat(defines_for(dtype), defines_for(scale, "S"), defines_for(parameter, "P"));
}

class BatchNormalization {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .inputs(0, kRealTypes)
        .that(n.output_count() == 1, TENON_REJECT_ATTRIBUTE, "training is not supported")
        .that(n.attr_i("training_mode", 0) == 0 && n.since_version() >= 7, TENON_REJECT_ATTRIBUTE,
              "training is not supported")
        .that(n.attr_i("spatial", 1) == 1, TENON_REJECT_ATTRIBUTE, "spatial = 0 is not supported");
  }
  explicit BatchNormalization(const NodeView& n)
      : epsilon_(n.attr_f("epsilon", 1e-5f)),
        kernel_(load_kernel(n, kSource, defines(n.input(0).dtype(), n.input(1).dtype(), n.input(3).dtype()),
                            "Batch", kLine)) {}
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
  void record(Recorder& ctx) const {
    const TensorView x = ctx.input(0);
    const int64_t n = x.size(), channels = x.rank() < 2 ? 1 : x.dim(1);
    const int64_t inner = x.rank() < 2 ? 1 : element_count(x.dims().subspan(2));
    launch(ctx, kernel_, {static_cast<size_t>(n), 1, 1}, in(x), in(ctx.input(1)), in(ctx.input(2)),
           in(ctx.input(3)), in(ctx.input(4)), out(ctx.output(0)), narrow(n), narrow(channels), narrow(inner),
           cl_float{epsilon_});
  }

 private:
  float epsilon_;
  KernelRef kernel_;
};
TENON_KERNEL(BatchNormalization, .op_type = "BatchNormalization", .since = 7,
             .contract = "X: [N, C, D...] | [N]; scale: [C]; B: [C]; mean: [C]; var: [C]")

/// The parameters of `Lines`.
struct LineState {
  int64_t lines = 0, count = 0;
  int64_t modulo = 1;  // lines after which scale and bias repeat
  int64_t spread = 1;  // elements that share one scale
  bool broadcasts = false;
  Walk walk{};  // over x: gives the places of scale and bias if they broadcast
};

class LineNorm {
 public:
  void record(Recorder& ctx, const LineState& state) const {
    const auto number = [](int64_t v) { return narrow(v); };
    const auto optional = [&](int i) {
      return ctx.has_output(i) ? out(ctx.output(i)) : TensorArg{&kNoTensor};
    };
    const Size3 global{static_cast<size_t>(state.lines), 1, 1};
    if (state.broadcasts) {
      launch(ctx, broadcasting_, global, in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)),
             out(ctx.output(0)), optional(1), optional(2), state.walk, number(state.lines),
             number(state.count), cl_float{epsilon_}, cl_int{is_rms_}, cl_int{ctx.has_input(1)},
             cl_int{ctx.has_input(2)}, cl_int{ctx.has_output(1)}, cl_int{ctx.has_output(2)});
      return;
    }
    launch(ctx, kernel_, global, in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)), out(ctx.output(0)),
           optional(1), optional(2), number(state.lines), number(state.count), cl_float{epsilon_},
           cl_int{is_rms_}, cl_int{ctx.has_input(1)}, cl_int{ctx.has_input(2)}, number(state.modulo),
           number(state.spread), cl_int{ctx.has_output(1)}, cl_int{ctx.has_output(2)});
  }

 protected:
  LineNorm(const NodeView& n, bool is_rms, float epsilon) : is_rms_(is_rms), epsilon_(epsilon) {
    const uint32_t dtype = n.input(0).dtype();
    const uint32_t scale = n.has_input(1) ? n.input(1).dtype() : dtype;
    const uint32_t statistics = n.has_output(1)   ? n.output(1).dtype()
                                : n.has_output(2) ? n.output(2).dtype()
                                                  : dtype;
    kernel_ = load_kernel(n, kSource, defines(dtype, scale, statistics), "Lines", kLine);
    broadcasting_ = find_kernel(n, kSource, defines(dtype, scale, statistics), "LinesAt", kLine);
  }

 private:
  bool is_rms_;
  float epsilon_;
  KernelRef kernel_, broadcasting_;
};

/// LayerNormalization and RMSNormalization: the axes from `axis` on form a line.
class LayerNorm : public LineNorm {
 public:
  static Support supports(const NodeView& n) { return Check(n).inputs(0, kRealTypes); }
  explicit LayerNorm(const NodeView& n)
      : LineNorm(n, n.op() == "RMSNormalization", n.attr_f("epsilon", 1e-5f)),
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
TENON_KERNEL(LayerNorm, .op_type = "LayerNormalization", .since = 1,
             .contract = "X: rank 1..; Scale: ~ X; B?: ~ X")
TENON_KERNEL(LayerNorm, .op_type = "RMSNormalization", .since = 23, .contract = "X: rank 1..; scale: ~ X")

class InstanceNorm : public LineNorm {
 public:
  static Support supports(const NodeView& n) { return Check(n).inputs(0, kRealTypes).rank(0, 3); }
  explicit InstanceNorm(const NodeView& n) : LineNorm(n, false, n.attr_f("epsilon", 1e-5f)) {}
  LineState prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    require(x.size() >= 2 && p.input(1).size() == x[1] && p.input(2).size() == x[1], TENON_INVALID_ARGUMENT,
            "scale and bias do not have one number for each channel of ", x);
    p.set_output(0, x);
    const int64_t count = element_count(x.subspan(2));
    return {element_count(x.first(2)), count, std::max<int64_t>(1, x[1]), std::max<int64_t>(1, count)};
  }
};
TENON_KERNEL(InstanceNorm, .op_type = "InstanceNormalization", .since = 6,
             .contract = "input: [N, C, D...] & rank 3..; scale: [C]; B: [C]")

class GroupNorm : public LineNorm {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .inputs(0, kRealTypes)
        .that(n.since_version() >= 21, TENON_REJECT_OPERATOR,
              "a scale per group (before version 21) is not supported");
  }
  explicit GroupNorm(const NodeView& n)
      : LineNorm(n, false, n.attr_f("epsilon", 1e-5f)), groups_(n.attr_i("num_groups")) {}
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
TENON_KERNEL(GroupNorm, .op_type = "GroupNormalization", .since = 21,
             .contract = "X: [N, C, D...]; scale: [C]; bias: [C]")

class LpNormalization {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kRealTypes).attr_is("p", {1, 2}); }
  explicit LpNormalization(const NodeView& n)
      : axis_(n.attr_i("axis", -1)),
        p_(static_cast<cl_int>(n.attr_i("p", 2))),
        kernel_(load_kernel(n, kSource, defines(n.input(0).dtype(), TENON_FLOAT32, TENON_FLOAT32), "LpNorm",
                            kLine)) {}
  void prepare(PrepareContext& p) const {
    checked_axis(axis_, p.input(0).dims().size());
    p.set_output(0, p.input(0).dims());
  }
  void record(Recorder& ctx) const {
    const DimsView x = ctx.input(0).dims();
    const size_t axis = checked_axis(axis_, x.size());
    const int64_t outer = element_count(x.first(axis)), inner = element_count(x.subspan(axis + 1));
    launch(ctx, kernel_, {static_cast<size_t>(inner), static_cast<size_t>(outer), 1}, in(ctx.input(0)),
           out(ctx.output(0)), narrow(outer), narrow(x[axis]), narrow(inner), p_);
  }

 private:
  int64_t axis_;
  cl_int p_;
  KernelRef kernel_;
};
TENON_KERNEL(LpNormalization, .op_type = "LpNormalization", .since = 1, .contract = "input: rank 1..")

class Lrn {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kRealTypes)
        .rank(0, 2)
        .that(n.attr_i("size", 0) > 0, TENON_REJECT_ATTRIBUTE, "size is not positive");
  }
  explicit Lrn(const NodeView& n)
      : size_(n.attr_i("size")),
        alpha_(n.attr_f("alpha", 1e-4f)),
        beta_(n.attr_f("beta", 0.75f)),
        bias_(n.attr_f("bias", 1.0f)),
        kernel_(load_kernel(n, kSource, defines(n.input(0).dtype(), TENON_FLOAT32, TENON_FLOAT32), "Lrn",
                            kLine)) {}
  void prepare(PrepareContext& p) const {
    require(p.input(0).rank() >= 2, TENON_INVALID_ARGUMENT, "rank ", p.input(0).rank(), " has no channels");
    p.set_output(0, p.input(0).dims());
  }
  void record(Recorder& ctx) const {
    const DimsView x = ctx.input(0).dims();
    const int64_t inner = element_count(x.subspan(2)), outer = x[0] * x[1];
    launch(ctx, kernel_, {static_cast<size_t>(inner), static_cast<size_t>(outer), 1}, in(ctx.input(0)),
           out(ctx.output(0)), narrow(inner), narrow(x[1]), narrow(outer), narrow(size_), cl_float{alpha_},
           cl_float{beta_}, cl_float{bias_});
  }

 private:
  int64_t size_;
  float alpha_, beta_, bias_;
  KernelRef kernel_;
};
TENON_KERNEL(Lrn, .op_type = "LRN", .since = 1, .contract = "X: [N, C, D...]")

}  // namespace
}  // namespace tenon::opencl
