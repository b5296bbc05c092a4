// MatMul and Gemm.
#include <cmath>

#include "compiler/ops/binary.h"

namespace tenon::onednn {
namespace {

/// Swaps the last two axes.
Tensor transposed(const Tensor& t) {
  Dims order(t.layout.dims().size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return {t.layout.permuted(order), t.buffer};
}

/// A bound on a product whose sums have `length` terms.
double bound_of_product(const Builder& b, const Node& node, int64_t length) {
  return static_cast<double>(length) * b.bound(node.inputs[0]) * b.bound(node.inputs[1]);
}

/// The product of two tensors of equal rank. Its elements are those of the node's result, in the same order.
/// Constant weights are packed.
void product(Builder& b, const Node& node, Tensor x, const Tensor& w, const Dims& result, float scale,
             const Tensor& bias) {
  MatMulSpec spec;
  const Type type = b.product_type();
  x = b.compact(x);
  spec.source = x.layout.with_type(type);
  spec.weights =
      b.is_constant(node.inputs[1]) ? Layout::any(type, w.layout.dims()) : w.layout.with_type(type);
  const bool same_axes = b.dims(node.outputs[0]) == result;
  spec.destination = same_axes ? Layout::any(type, result) : Layout::plain(type, result);
  if (bias.layout) spec.bias = Layout::plain(Type::kFloat32, bias.layout.dims());
  spec.scale = scale;
  Fused fused;
  const auto make = [&](const PostOps& post_ops) { return make_matmul(b.engine(), spec, post_ops); };
  const Primitive primitive = b.fuse(node.outputs[0], result, make, &fused);
  std::vector<std::pair<int, Tensor>> arguments{{kSource, b.as(x, primitive.layout(kSource))},
                                                {kWeights, b.as(w, primitive.layout(kWeights))}};
  if (bias.layout) arguments.emplace_back(kBias, b.as(bias, spec.bias));
  b.run_fused(primitive, std::move(arguments), fused);
}

class MatMul : public Operation {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kFloat32).input(1, kFloat32).rank(0, 1, 12).rank(1, 1, 12);
  }
  explicit MatMul(const NodeView&) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims &x = b.dims(node.inputs[0]), &w = b.dims(node.inputs[1]);
    const auto outer = [](const Dims& dims) {
      return dims.size() > 2 ? Dims(dims.begin(), dims.end() - 2) : Dims();
    };
    Dims out = broadcast_shape(outer(x), outer(w));
    if (x.size() > 1) out.push_back(x.end()[-2]);
    if (w.size() > 1) out.push_back(w.back());
    return out;
  }
  void build(Builder& b, const Node& node) const override {
    const Factors f = factors(b, node);
    if (f.x.back() == 0) return b.fill(node.outputs[0], 0);
    product(b, node, b.reshaped(b.kept(node.inputs[0]), f.x), b.reshaped(b.kept(node.inputs[1]), f.w),
            f.result, 1, {});
  }
  double bound(const Builder& b, const Node& node) const override {
    return bound_of_product(b, node, b.dims(node.inputs[0]).back());
  }
  bool packs_weights() const override { return true; }

 private:
  /// Shapes of equal rank. A vector on the left becomes a row, one on the right a column. If one matrix on
  /// the right serves all on the left, those become one tall matrix: the library's code for that is the
  /// fastest and packs weights.
  struct Factors {
    Dims x, w, result;
  };
  static Factors factors(const Builder& b, const Node& node) {
    Factors f{b.dims(node.inputs[0]), b.dims(node.inputs[1]), {}};
    if (f.x.size() == 1) f.x.insert(f.x.begin(), 1);
    if (f.w.size() == 1) f.w.push_back(1);
    const size_t rank = std::max(f.x.size(), f.w.size());
    f.x.insert(f.x.begin(), rank - f.x.size(), 1);
    f.w.insert(f.w.begin(), rank - f.w.size(), 1);
    const auto end = static_cast<ptrdiff_t>(rank - 2);
    f.result = broadcast_shape(Dims(f.x.begin(), f.x.begin() + end), Dims(f.w.begin(), f.w.begin() + end));
    f.result.push_back(f.x[rank - 2]);
    f.result.push_back(f.w[rank - 1]);
    const bool one_behind = std::all_of(f.w.begin(), f.w.begin() + end, [](int64_t d) { return d == 1; });
    if (rank > 2 && one_behind) {
      const int64_t rows = ep::element_count(DimsView(f.result).first(rank - 1));
      f = {{rows, f.x.back()}, {f.w[rank - 2], f.w.back()}, {rows, f.w.back()}};
    }
    return f;
  }
};
ONEDNN_OPERATOR(MatMul, .op_type = "MatMul", .contract = "A: [K] | [P..., M, K]; B: [K] | [Q..., K, N]",
                .work = Work::kProduct)

class Gemm : public Operation {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kFloat32).input(1, kFloat32).input(2, kFloat32);
  }
  explicit Gemm(const NodeView& n)
      : transpose_a_(n.attr_i("transA", 0) != 0),
        transpose_b_(n.attr_i("transB", 0) != 0),
        alpha_(n.attr_f("alpha", 1)),
        beta_(n.attr_f("beta", 1)) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims &x = b.dims(node.inputs[0]), &w = b.dims(node.inputs[1]);
    const int64_t length = x[transpose_a_ ? 0 : 1], other = w[transpose_b_ ? 1 : 0];
    require(length == other, TENON_INVALID_ARGUMENT, "the rows of A have ", length,
            " elements, but the columns of B have ", other);
    Dims out{x[transpose_a_ ? 1 : 0], w[transpose_b_ ? 0 : 1]};
    if (has_bias(node)) {
      const Dims& c = b.dims(node.inputs[2]);
      require(broadcast_shape(c, out) == out, TENON_INVALID_ARGUMENT, "C of shape ", c,
              " does not broadcast to ", out);
    }
    return out;
  }

  void build(Builder& b, const Node& node) const override {
    Tensor x = b.kept(node.inputs[0]), w = b.kept(node.inputs[1]), c;
    if (transpose_a_) x = transposed(x);
    if (transpose_b_) w = transposed(w);
    const Dims& result = b.dims(node.outputs[0]);
    if (has_bias(node)) c = bias(b, node.inputs[2]);
    if (x.layout.dims()[1] == 0) return without_product(b, node, result, c);
    if (c.layout && alpha_ != 1) return with_bias_behind(b, node, x, w, c);
    product(b, node, x, w, result, alpha_, c);
  }
  double bound(const Builder& b, const Node& node) const override {
    return std::fabs(alpha_) * bound_of_product(b, node, b.dims(node.inputs[0])[transpose_a_ ? 0 : 1]) +
           (has_bias(node) ? std::fabs(beta_) * b.bound(node.inputs[2]) : 0);
  }
  bool packs_weights() const override { return true; }

 private:
  bool has_bias(const Node& node) const {
    return node.inputs.size() > 2 && node.inputs[2] != kNone && beta_ != 0;
  }
  /// C as two axes, times beta.
  Tensor bias(Builder& b, uint32_t value) const {
    Dims dims = b.dims(value);
    dims.insert(dims.begin(), 2 - dims.size(), 1);
    Tensor c = b.reshaped(b.plain(value), dims);
    if (beta_ == 1) return c;
    Tensor out = b.temporary(c.layout);
    b.call(make_eltwise(b.engine(), Eltwise::kLinear, beta_, 0, c.layout),
           {{kSource, c}, {kDestination, out}});
    return out;
  }
  /// Adds the bias as a task of its own: the scale of the library's product would scale its bias too.
  void with_bias_behind(Builder& b, const Node& node, const Tensor& from, const Tensor& w,
                        const Tensor& c) const {
    const Type type = b.product_type();
    const Tensor x = b.compact(from);
    MatMulSpec spec;
    spec.source = x.layout.with_type(type);
    spec.weights =
        b.is_constant(node.inputs[1]) ? Layout::any(type, w.layout.dims()) : w.layout.with_type(type);
    spec.destination = Layout::plain(Type::kFloat32, b.dims(node.outputs[0]));
    spec.scale = alpha_;
    const Primitive primitive = make_matmul(b.engine(), spec, {});
    const Tensor scaled = b.temporary(spec.destination);
    b.call(primitive, {{kSource, b.as(x, primitive.layout(kSource))},
                       {kWeights, b.as(w, primitive.layout(kWeights))},
                       {kDestination, scaled}});
    add_binary(b, node.outputs[0], Binary::kAdd, scaled, c, true);
  }
  /// K is 0: the result is the bias alone.
  static void without_product(Builder& b, const Node& node, const Dims& result, const Tensor& bias) {
    if (!bias.layout) return b.fill(node.outputs[0], 0);
    const Layout layout = Layout::plain(Type::kFloat32, result);
    const Tensor zero = b.filled(layout, 0), out = b.create(node.outputs[0], layout);
    b.call(make_binary(b.engine(), Binary::kAdd, layout, bias.layout, layout, {}),
           {{kSource, zero}, {kSource1, bias}, {kDestination, out}});
  }

  bool transpose_a_, transpose_b_;
  float alpha_, beta_;
};
ONEDNN_OPERATOR(Gemm, .op_type = "Gemm", .since = 7, .contract = "A: rank 2; B: rank 2; C?: rank 0..2",
                .work = Work::kProduct)

}  // namespace
}  // namespace tenon::onednn
