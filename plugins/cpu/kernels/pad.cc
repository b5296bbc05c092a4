#include <algorithm>
#include <numeric>

#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

enum class PadMode { kConstant, kReflect, kEdge, kWrap };

PadMode mode_of(const NodeView& node) {
  const std::string mode = node.attr_s("mode", "constant");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "wrap") return PadMode::kWrap;
  fail(TENON_INVALID_ARGUMENT, "mode is '", mode, "'; it must be constant, reflect, edge or wrap");
}

int64_t positive_modulo(int64_t a, int64_t n) { return (a % n + n) % n; }

// The input position for output position `i`; -1: the constant.
int64_t source_position(int64_t i, int64_t begin, int64_t dim, PadMode mode) {
  const int64_t p = i - begin;
  if (p >= 0 && p < dim) return p;
  if (mode == PadMode::kConstant) return -1;
  require(dim > 0, TENON_INVALID_ARGUMENT, "an axis without elements cannot be padded in this mode");
  if (mode == PadMode::kEdge) return std::clamp<int64_t>(p, 0, dim - 1);
  if (mode == PadMode::kWrap) return positive_modulo(p, dim);
  if (dim == 1) return 0;
  const int64_t period = 2 * (dim - 1), q = positive_modulo(p, period);
  return q < dim ? q : period - q;
}

/// The padded axes, and those before them. Those after them are blocks that are copied whole.
struct PadState {
  Dims in, out;          // per axis
  Dims begins, strides;  // where the input begins in the output; strides of the input, in elements
  int64_t block = 1;     // elements
};

// Joins axes at the end: one that is not padded to the block; with constants also to a padded axis before it, so that rows are long.
void join_axes(PadState& s, bool constant) {
  const auto pop = [&] {
    for (Dims* dims : {&s.in, &s.out, &s.begins, &s.strides}) dims->pop_back();
  };
  while (s.in.size() > 1 && s.begins.back() == 0 && s.in.back() == s.out.back()) {
    s.block *= s.in.back();
    pop();
  }
  if (!constant) return;
  // An input that is cut off as a whole lies just outside: where it would be may be too far away for the product.
  s.begins.back() = std::clamp(s.begins.back(), -s.in.back(), s.out.back());
  s.in.back() *= s.block, s.out.back() *= s.block, s.begins.back() *= s.block;
  s.block = s.strides.back() = 1;
}

// `pads` has all begins of `axes`, then all ends.
PadState prepare_pad(PrepareContext& p, PadMode mode, DimsView pads, DimsView axes) {
  const DimsView in = p.input(0).dims();
  require(pads.size() == 2 * axes.size(), TENON_INVALID_ARGUMENT, "pads has ", pads.size(), " entries for ",
          axes.size(), " axes");
  PadState state{Dims(in.begin(), in.end()), {}, Dims(in.size(), 0), strides_of(in)};
  normalize_axes(axes, static_cast<int>(in.size()));  // refuses duplicates
  Dims out(in.begin(), in.end());
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(normalize_axis(axes[i], static_cast<int>(in.size())));
    constexpr int64_t kMost = int64_t{1} << 60;
    const int64_t begin = pads[i], end = pads[i + axes.size()];
    require(begin > -kMost && begin < kMost && end > -kMost && end < kMost && in[axis] < kMost,
            TENON_RESOURCE_EXHAUSTED, "pads of axis ", axis, " are out of range: ", begin, " and ", end);
    state.begins[axis] = begin;
    out[axis] = in[axis] + begin + end;
    require(out[axis] >= 0, TENON_INVALID_ARGUMENT, "pads leave axis ", axis, " with ", out[axis],
            " elements");
  }
  p.set_output(0, out);
  state.out = std::move(out);
  // Empty tensors may have dims whose products are too large for an integer.
  if (!in.empty() && element_count(in) != 0 && element_count(state.out) != 0)
    join_axes(state, mode == PadMode::kConstant);
  return state;
}

Dims all_axes(int rank) {
  Dims out(static_cast<size_t>(rank));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

// `fill` holds the constant at element 0; absent: zero.
void pad(const Context& ctx, const PadState& s, PadMode mode, TensorView fill) {
  const TensorView in = ctx.input(0);
  BlockWriter writer(ctx, 0);
  const auto constant = [&](int64_t count) {
    if (fill.present())
      writer.repeat(fill, 0, count);
    else
      writer.zeros(count);
  };
  if (s.out.empty()) {
    writer.append(in, 0, 1);
    return writer.finish();
  }
  const size_t last = s.out.size() - 1;
  const int64_t columns = s.out[last], in_columns = s.in[last], begin = s.begins[last];
  const int64_t rows = columns ? element_count(s.out) / columns : 0;
  // The part of a row that is copied as one piece.
  const int64_t first = std::clamp<int64_t>(begin, 0, columns);
  const int64_t end = std::clamp<int64_t>(begin + in_columns, first, columns);
  CancelPoint point(ctx);
  for (int64_t r = 0; r < rows && s.block != 0; ++r) {
    point.pass(columns);
    int64_t rest = r, offset = 0;
    for (size_t d = last; d-- > 0 && offset >= 0;) {
      const int64_t position = source_position(rest % s.out[d], s.begins[d], s.in[d], mode);
      rest /= s.out[d];
      offset = position < 0 ? -1 : offset + position * s.strides[d];
    }
    if (offset < 0) {
      constant(columns * s.block);
      continue;
    }
    const auto edge = [&](int64_t from, int64_t to) {
      if (mode == PadMode::kConstant) return constant((to - from) * s.block);
      for (int64_t c = from; c < to; ++c) {
        point.pass(s.block);
        const int64_t position = source_position(c, begin, in_columns, mode);
        if (position < 0)
          constant(s.block);
        else
          writer.append(in, offset + position * s.block, s.block);
      }
    };
    edge(0, first);
    writer.append(in, offset + (first - begin) * s.block, (end - first) * s.block);
    edge(end, columns);
  }
  writer.finish();
}

// Pads and value are inputs since version 11, axes since 18.
class Pad {
 public:
  static constexpr int shape_inputs[] = {1, 3};
  explicit Pad(const NodeView& node) : mode_(mode_of(node)) {}

  using State = PadState;
  State prepare(PrepareContext& p) const {
    return prepare_pad(p, mode_, p.input(1).to_dims(),
                       p.has_input(3) ? p.input(3).to_dims() : all_axes(p.input(0).rank()));
  }
  void run(const Context& ctx, const State& state) const {
    const TensorView value = ctx.input(2);
    pad(ctx, state, mode_, value);  // absent: zero
  }

 private:
  PadMode mode_;
};

// Pad-1 and Pad-2: attributes, floats only.
class PadAttributes {
 public:
  explicit PadAttributes(const NodeView& node)
      : mode_(mode_of(node)),
        pads_(node.attr_ints(node.has_attr("paddings") ? "paddings" : "pads")),
        value_(node.attr_f("value", 0)) {}
  static Support supports(const NodeView& node) { return Check(node).input(0, kFloatTypes); }

  using State = PadState;
  State prepare(PrepareContext& p) const { return prepare_pad(p, mode_, pads_, all_axes(p.input(0).rank())); }
  void run(const Context& ctx, const State& state) const {
    const TensorView in = ctx.input(0);
    dispatch(kFloatTypes, in.dtype(), [&]<class T>() {
      T value = static_cast<T>(value_);
      tenon_tensor fill{};
      fill.kind = TENON_KIND_TENSOR;
      fill.dtype = in.dtype();
      fill.data = &value;
      pad(ctx, state, mode_, TensorView(&fill));
    });
  }

 private:
  PadMode mode_;
  Dims pads_;
  float value_;
};

TENON_KERNEL(PadAttributes, .op_type = "Pad", .since = 1, .until = 10, .contract = "data: any")
TENON_KERNEL(Pad, .op_type = "Pad", .since = 11,
             .contract = "data: any; pads: [?] @size; constant_value?: one; axes?: rank 0..1")

}  // namespace
}  // namespace tenon::cpu
