// ReduceSum, ReduceMean, ReduceProd, ReduceL1, ReduceL2 and ReduceSumSquare. With fast precision also
// ReduceMax and ReduceMin, in which the library loses NaN and infinities.
#include <limits>

#include "compiler/builder.h"

namespace tenon::onednn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Axes are an attribute, or an input in later versions. The input must be a constant.
class Reduction : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.input(0, kFloat32).rank(0, 0, 12);
    check.that(!n.has_input(1) || n.input(1).is_constant(), TENON_REJECT_OTHER, "the axes are not constant");
    return check;
  }
  Reduction(const NodeView& n, Reduce function, float of_nothing)
      : function_(function), of_nothing_(of_nothing), axes_(n.attr_ints("axes")) {
    if (n.has_input(1)) axes_ = n.input(1).constant().to_dims();
    keep_when_empty_ = n.attr_i("noop_with_empty_axes", 0) != 0;
    keep_dims_ = n.attr_i("keepdims", 1) != 0;
  }

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims& dims = b.dims(node.inputs[0]);
    const std::vector<bool> goes = reduced_axes(dims.size());
    Dims out;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (!goes[axis]) out.push_back(dims[axis]);
      if (goes[axis] && keep_dims_) out.push_back(1);
    }
    return out;
  }
  void build(Builder& b, const Node& node) const override {
    const Dims& dims = b.dims(node.inputs[0]);
    const uint32_t out = node.outputs[0];
    const Tensor x = b.tensor(node.inputs[0]);
    if (ep::element_count(dims) == 0) return b.fill(out, of_nothing_);
    Dims reduced = dims;
    const std::vector<bool> goes = reduced_axes(dims.size());
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (goes[axis]) reduced[axis] = 1;
    }
    if (is_mean_of_images(b, node.inputs[0], reduced)) return pool(b, node, reduced);
    const bool nothing = reduced == dims;  // the library needs an axis to reduce
    if (nothing && is_identity()) return b.define(out, b.reshaped(x, b.dims(out)));
    const Layout result = Layout::plain(Type::kFloat32, b.dims(out));
    const Tensor y = b.create(out, result);
    if (nothing) {
      pointwise_step(b, b.plain(node.inputs[0]), y);
    } else if (is_identity()) {
      reduce(b, function_, x, reduced, y);
    } else {
      reduce_powers(b, x, reduced, y);
    }
  }
  double bound(const Builder& b, const Node& node) const override {
    const double x = b.bound(node.inputs[0]);
    if (ep::element_count(b.dims(node.inputs[0])) == 0) return kUnbounded;
    if (function_ == Reduce::kMean) return x;
    const bool adds = function_ == Reduce::kSum || function_ == Reduce::kNorm1;
    return adds ? x * static_cast<double>(ep::element_count(b.dims(node.inputs[0]))) : kUnbounded;
  }

 private:
  /// Per axis, whether it is reduced. Without axes: all, unless noop_with_empty_axes is set.
  std::vector<bool> reduced_axes(size_t rank) const {
    std::vector<bool> out(rank, axes_.empty() && !keep_when_empty_);
    for (const int64_t axis : axes_) out[axis_of(axis, rank)] = true;
    return out;
  }
  /// The mean over whole images that lie in blocks of channels. The library's reductions would put such a tensor into another order.
  bool is_mean_of_images(Builder& b, uint32_t x, const Dims& reduced) const {
    const Dims& dims = b.dims(x);
    return function_ == Reduce::kMean && dims.size() >= 3 && dims.size() <= 5 && reduced != dims &&
           reduced[0] == dims[0] && reduced[1] == dims[1] &&
           ep::element_count(reduced) == dims[0] * dims[1] && !b.kept(x).layout.is_plain() &&
           !b.kept(x).layout.has_gaps();
  }
  static void pool(Builder& b, const Node& node, const Dims& reduced) {
    const Dims& dims = b.dims(node.inputs[0]);
    Window window;
    window.kernel = Dims(dims.begin() + 2, dims.end());
    window.strides = window.dilations = Dims(window.kernel.size(), 1);
    window.pads_begin = window.pads_end = Dims(window.kernel.size(), 0);
    const auto make = [&](const Layout& layout) {
      return make_pooling(b.engine(), Pool::kAverage, layout, Layout::any(layout.type(), reduced), window);
    };
    Tensor x;
    const Primitive primitive = b.suit(b.kept(node.inputs[0]), make, &x);
    const Layout layout = primitive.layout(kDestination);
    const bool same_axes = b.dims(node.outputs[0]) == reduced;
    const Tensor y = same_axes ? b.create(node.outputs[0], layout) : b.temporary(layout);
    b.call(primitive, {{kSource, x}, {kDestination, y}});
    if (same_axes) return;
    const Tensor plain = b.as(y, Layout::plain(Type::kFloat32, reduced));
    b.define(node.outputs[0], b.reshaped(plain, b.dims(node.outputs[0])));
  }
  bool is_identity() const {
    return function_ != Reduce::kNorm1 && function_ != Reduce::kNorm2 && function_ != Reduce::kSumOfSquares;
  }
  static void reduce(Builder& b, Reduce function, const Tensor& x, const Dims& reduced, const Tensor& y) {
    Tensor source;
    const auto make = [&](const Layout& layout) {
      return make_reduction(b.engine(), function, layout, Layout::plain(Type::kFloat32, reduced));
    };
    const Primitive primitive = b.suit(x, make, &source);
    b.call(primitive, {{kSource, source}, {kDestination, y}});
  }
  /// Sums of absolute values or squares, and their root. The library's own norms are its slow reference.
  void reduce_powers(Builder& b, const Tensor& given, const Dims& reduced, const Tensor& y) const {
    const Tensor x = b.compact(given), powers = b.temporary(x.layout);
    const Eltwise power = function_ == Reduce::kNorm1 ? Eltwise::kAbs : Eltwise::kSquare;
    b.call(make_eltwise(b.engine(), power, 0, 0, x.layout), {{kSource, x}, {kDestination, powers}});
    if (function_ != Reduce::kNorm2) return reduce(b, Reduce::kSum, powers, reduced, y);
    const Layout row = Layout::plain(Type::kFloat32, Dims{y.layout.elements()});
    const Tensor sums = b.temporary(row);
    reduce(b, Reduce::kSum, powers, reduced, sums);
    b.call(make_eltwise(b.engine(), Eltwise::kSqrt, 0, 0, row), {{kSource, sums}, {kDestination, y}});
  }
  /// Reductions over one element each.
  void pointwise_step(Builder& b, const Tensor& x, const Tensor& y) const {
    const Layout row = Layout::plain(Type::kFloat32, Dims{x.layout.elements()});
    const Eltwise f = function_ == Reduce::kSumOfSquares ? Eltwise::kSquare
                      : is_norm()                        ? Eltwise::kAbs
                                                         : Eltwise::kLinear;
    b.call(make_eltwise(b.engine(), f, 1, 0, row), {{kSource, x}, {kDestination, y}});
  }
  bool is_norm() const { return function_ == Reduce::kNorm1 || function_ == Reduce::kNorm2; }

  Reduce function_;
  float of_nothing_;
  Dims axes_;
  bool keep_when_empty_, keep_dims_;
};

#define ONEDNN_REDUCTION(Name, ...)                                 \
  struct Name : Reduction {                                         \
    explicit Name(const NodeView& n) : Reduction(n, __VA_ARGS__) {} \
  };                                                                \
  ONEDNN_OPERATOR(Name, .op_type = #Name, .contract = "data: any; axes?: rank 1", .work = Work::kReduction)

ONEDNN_REDUCTION(ReduceSum, Reduce::kSum, 0)
ONEDNN_REDUCTION(ReduceMean, Reduce::kMean, std::numeric_limits<float>::quiet_NaN())
ONEDNN_REDUCTION(ReduceProd, Reduce::kMul, 1)
ONEDNN_REDUCTION(ReduceL1, Reduce::kNorm1, 0)
ONEDNN_REDUCTION(ReduceL2, Reduce::kNorm2, 0)
ONEDNN_REDUCTION(ReduceSumSquare, Reduce::kSumOfSquares, 0)

struct Extremum : Reduction {
  static Support supports(const NodeView& n) {
    Check check(n);
    check.that(n.instance().precision != TENON_PRECISION_EXACT, TENON_REJECT_OTHER,
               "oneDNN loses NaN and infinities here; precision fast allows it");
    return check.ok() ? Reduction::supports(n) : check;
  }
  using Reduction::Reduction;
};
struct ReduceMax : Extremum {
  explicit ReduceMax(const NodeView& n) : Extremum(n, Reduce::kMax, -kInfinity) {}
};
struct ReduceMin : Extremum {
  explicit ReduceMin(const NodeView& n) : Extremum(n, Reduce::kMin, kInfinity) {}
};
ONEDNN_OPERATOR(ReduceMax, .op_type = "ReduceMax", .contract = "data: any; axes?: rank 1",
                .work = Work::kReduction)
ONEDNN_OPERATOR(ReduceMin, .op_type = "ReduceMin", .contract = "data: any; axes?: rank 1",
                .work = Work::kReduction)

}  // namespace
}  // namespace tenon::onednn
