#include "compiler/ops/binary.h"

#include <algorithm>

#include "openmp/parallel.h"

namespace tenon::onednn {
namespace {

constexpr int64_t kGrain = 16384;

/// g such that f(x, y) = g(y, x); nullopt if the library has no such function that handles NaN correctly.
std::optional<Binary> mirrored(Binary f) {
  switch (f) {
    case Binary::kAdd:
    case Binary::kMul:
    case Binary::kMax:
    case Binary::kMin:
    case Binary::kEq:
    case Binary::kNe:
      return f;
    case Binary::kGe:
      return Binary::kLe;
    case Binary::kGt:
      return Binary::kLt;
    default:
      return std::nullopt;
  }
}

/// The library treats NaN as greater than any number.
bool is_wrong_for_nan(Binary f) { return f == Binary::kGe || f == Binary::kGt; }

bool drops_nan(Binary f) { return f == Binary::kMax || f == Binary::kMin; }

/// Where x is NaN, puts NaN into y: the library's minimum and maximum return the second operand.
void keep_nan(Builder& b, const Tensor& x, const Tensor& y) {
  b.local({x, y}, [n = y.layout.elements()](std::span<void* const> addresses) {
    const auto* from = static_cast<const float*>(addresses[0]);
    auto* to = static_cast<float*>(addresses[1]);
    parallel(n, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = from[i] != from[i] ? from[i] : to[i];
    });
  });
}

class BinaryOperation : public Operation {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kFloat32).input(1, kFloat32).rank(0, 0, 12).rank(1, 0, 12);
  }
  explicit BinaryOperation(Binary f) {
    function_.is_binary = true;
    function_.binary = f;
    function_.exact = !drops_nan(f);
  }
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    return broadcast_shape(b.dims(node.inputs[0]), b.dims(node.inputs[1]));
  }
  void build(Builder& b, const Node& node) const override {
    add_binary(b, node.outputs[0], function_.binary, b.compact(node.inputs[0]), b.compact(node.inputs[1]),
               true);
  }
  std::optional<Pointwise> pointwise() const override { return function_; }
  double bound(const Builder& b, const Node& node) const override {
    const double x = b.bound(node.inputs[0]), y = b.bound(node.inputs[1]);
    if (function_.binary == Binary::kMul) return x * y;
    if (function_.binary == Binary::kDiv) {
      const double least = b.bound(node.inputs[1]) < kUnbounded ? b.least(node.inputs[1]) : 0;
      return least > 0 ? x / least : kUnbounded;
    }
    return x + y + 1;  // sums; comparisons give 0 or 1
  }

 private:
  Pointwise function_;
};

#define ONEDNN_BINARY(Name, function, first_version)              \
  struct Name : BinaryOperation {                                 \
    explicit Name(const NodeView&) : BinaryOperation(function) {} \
  };                                                              \
  ONEDNN_OPERATOR(Name, .op_type = #Name, .since = first_version, .contract = "A: ~; B: ~")

ONEDNN_BINARY(Add, Binary::kAdd, 7)
ONEDNN_BINARY(Sub, Binary::kSub, 7)
ONEDNN_BINARY(Mul, Binary::kMul, 7)
ONEDNN_BINARY(Div, Binary::kDiv, 7)
ONEDNN_BINARY(Less, Binary::kLt, 7)
ONEDNN_BINARY(LessOrEqual, Binary::kLe, 12)
ONEDNN_BINARY(Greater, Binary::kGt, 7)
ONEDNN_BINARY(GreaterOrEqual, Binary::kGe, 12)
ONEDNN_BINARY(Equal, Binary::kEq, 7)

/// A function of any number of tensors. Mean divides at the end.
class Variadic : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.inputs(0, kFloat32);
    for (int i = 0; i < n.input_count(); ++i) check.rank(i, 0, 12);
    return check;
  }
  explicit Variadic(Binary f, bool mean = false) : function_(f), mean_(mean) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    Dims out = b.dims(node.inputs[0]);
    for (const uint32_t input : node.inputs) out = broadcast_shape(out, b.dims(input));
    return out;
  }

  void build(Builder& b, const Node& node) const override {
    const uint32_t out = node.outputs[0];
    const size_t count = node.inputs.size();
    const bool scale = mean_ && count > 1;
    if (count == 1) return b.define(out, b.tensor(node.inputs[0]));
    const Layout layout = Layout::plain(b.type(out), b.dims(out));
    Tensor so_far = b.broadcast(b.tensor(node.inputs[0]), layout.dims());
    for (size_t i = 1; i < count; ++i) {
      const bool last = i + 1 == count && !scale;
      const Tensor next = with_rank(b, b.compact(node.inputs[i]), layout.dims().size());
      const Tensor sum = last ? b.create(out, layout) : b.temporary(layout);
      b.call(make_binary(b.engine(), function_, so_far.layout, next.layout, layout, {}),
             {{kSource, so_far}, {kSource1, next}, {kDestination, sum}});
      if (drops_nan(function_)) keep_nan(b, b.as(so_far, layout), sum);
      so_far = sum;
    }
    if (!scale) return;
    b.call(make_eltwise(b.engine(), Eltwise::kLinear, 1.0f / static_cast<float>(count), 0, layout),
           {{kSource, so_far}, {kDestination, b.create(out, layout)}});
  }

 private:
  Binary function_;
  bool mean_;
};

struct Max : Variadic {
  explicit Max(const NodeView&) : Variadic(Binary::kMax) {}
};
struct Min : Variadic {
  explicit Min(const NodeView&) : Variadic(Binary::kMin) {}
};
struct Sum : Variadic {
  explicit Sum(const NodeView&) : Variadic(Binary::kAdd) {}
};
struct Mean : Variadic {
  explicit Mean(const NodeView&) : Variadic(Binary::kAdd, true) {}
};
ONEDNN_OPERATOR(Max, .op_type = "Max", .since = 8, .contract = "data_0: ~; rest...: ~")
ONEDNN_OPERATOR(Min, .op_type = "Min", .since = 8, .contract = "data_0: ~; rest...: ~")
ONEDNN_OPERATOR(Sum, .op_type = "Sum", .since = 8, .contract = "data_0: ~; rest...: ~")
ONEDNN_OPERATOR(Mean, .op_type = "Mean", .since = 8, .contract = "data_0: ~; rest...: ~")

class PRelu : public Operation {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kFloat32).input(1, kFloat32).rank(0, 1, 5);
  }
  explicit PRelu(const NodeView&) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override { return b.dims(node.inputs[0]); }
  void build(Builder& b, const Node& node) const override {
    const Tensor x = b.compact(node.inputs[0]);
    const Tensor slope = with_rank(b, b.plain(node.inputs[1]), x.layout.dims().size());
    const Primitive primitive =
        make_prelu(b.engine(), x.layout, Layout::any(Type::kFloat32, slope.layout.dims()));
    const Tensor y = b.create(node.outputs[0], x.layout);
    b.call(primitive, {{kSource, x}, {kWeights, b.as(slope, primitive.layout(kWeights))}, {kDestination, y}});
  }
};
ONEDNN_OPERATOR(PRelu, .op_type = "PRelu", .since = 7, .contract = "X: any; slope: ~ X")

}  // namespace

Dims broadcast_shape(const Dims& x, const Dims& y) {
  Dims out = x.size() < y.size() ? y : x;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {  // from the last axis on
    const int64_t a = x[x.size() - 1 - i], b = y[y.size() - 1 - i];
    require(a == b || a == 1 || b == 1, TENON_INVALID_ARGUMENT, "shapes ", x, " and ", y,
            " do not broadcast");
    out[out.size() - 1 - i] = a == 1 ? b : a;
  }
  return out;
}

Tensor with_rank(Builder& b, const Tensor& x, size_t rank) {
  Dims dims(rank - x.layout.dims().size(), 1);
  if (dims.empty()) return x;
  dims.insert(dims.end(), x.layout.dims().begin(), x.layout.dims().end());
  return b.reshaped(x, dims);
}

void add_binary(Builder& b, uint32_t value, Binary f, const Tensor& x, const Tensor& y, bool fuse) {
  const size_t rank = std::max(x.layout.dims().size(), y.layout.dims().size());
  Tensor p = with_rank(b, x, rank), q = with_rank(b, y, rank);
  const Dims dims = broadcast_shape(p.layout.dims(), q.layout.dims());
  // The library only repeats its second operand, and gives wrong results if the first one needs it.
  const bool swap = p.layout.dims() != dims && q.layout.dims() == dims;
  if (swap || is_wrong_for_nan(f)) {
    if (const auto other_way = mirrored(f)) std::swap(p, q), f = *other_way;
  }
  p = b.broadcast(p, dims);
  // Tensors of full shape need one layout: that of the first.
  if (q.layout.dims() == dims && !(p.layout == q.layout)) {
    const bool second = p.layout.is_plain() && !q.layout.is_plain();
    second ? (p = b.as(p, q.layout)) : (q = b.as(q, p.layout));
  }
  const Layout any = Layout::any(Type::kFloat32, dims);
  const auto make = [&](const PostOps& post_ops) {
    return make_binary(b.engine(), f, p.layout, q.layout, any, post_ops);
  };
  if (make({}).is_reference()) {  // the library has only reference code for this broadcast
    p = b.as(p, Layout::plain(Type::kFloat32, dims));
    q = b.broadcast(q, dims);
    q = b.as(q, p.layout);
  }
  if (b.type(value) ==
      Type::kUInt8) {  // a comparison: as numbers, for which the library has code, then as bytes
    const Primitive compare = make({});
    const Tensor number = b.temporary(compare.layout(kDestination));
    b.call(compare, {{kSource, p}, {kSource1, q}, {kDestination, number}});
    b.define(value, b.as(number, Layout::plain(Type::kUInt8, dims)));
    return;
  }
  Fused fused;
  fused.value = value;
  const Primitive primitive = fuse ? b.fuse(value, make, &fused) : make({});
  b.run_fused(primitive, {{kSource, p}, {kSource1, q}}, fused);
}

}  // namespace tenon::onednn
