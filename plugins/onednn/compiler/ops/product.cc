// MatMul and Gemm.
#include <cmath>

#include "compiler/builder.h"

namespace tenon::onednn {
namespace {

/// Swaps the last two axes.
Tensor transposed(const Tensor& t) {
  Dims order(t.layout.dims().size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return {t.layout.permuted(order), t.buffer};
}

/// Of a product whose sums have `length` terms.
double bound_of_product(const Builder& b, const Node& node, int64_t length) {
  return static_cast<double>(length) * b.bound(node.inputs[0]) * b.bound(node.inputs[1]);
}

/// The product of two tensors of equal rank; constant weights are packed.
void product(Builder& b, const Node& node, Tensor x, const Tensor& w, const Dims& result, float scale,
             const Tensor& bias) {
  MatMulSpec spec;
  const Type type = b.product_type();
  x = b.compact(x);
  spec.source = x.layout.with_type(type);
  spec.weights =
      b.is_constant(node.inputs[1]) ? Layout::any(type, w.layout.dims()) : w.layout.with_type(type);
  spec.destination = Layout::any(type, result);
  if (bias.layout) spec.bias = Layout::plain(Type::kFloat32, bias.layout.dims());
  spec.scale = scale;
  Fused fused;
  const bool same_rank = b.dims(node.outputs[0]).size() == result.size();
  const auto make = [&](const PostOps& post_ops) { return make_matmul(b.engine(), spec, post_ops); };
  std::vector<std::pair<int, Tensor>> arguments;
  const auto add_inputs = [&](const Primitive& primitive) {
    arguments.emplace_back(kSource, b.as(x, primitive.layout(kSource)));
    arguments.emplace_back(kWeights, b.as(w, primitive.layout(kWeights)));
    if (bias.layout) arguments.emplace_back(kBias, b.as(bias, spec.bias));
  };
  if (same_rank) {
    const Primitive primitive = b.fuse(node.outputs[0], make, &fused);
    add_inputs(primitive);
    b.run_fused(primitive, std::move(arguments), fused);
    return;
  }
  // A vector among the inputs: the result has fewer axes than the product.
  spec.destination = Layout::plain(Type::kFloat32, result);
  const Primitive primitive = make({});
  add_inputs(primitive);
  const Tensor out = b.create(node.outputs[0], Layout::plain(Type::kFloat32, b.dims(node.outputs[0])));
  arguments.emplace_back(kDestination, out);
  b.step(primitive, arguments);
}

class MatMul : public Operation {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kFloat32).input(1, kFloat32).rank(0, 1, 12).rank(1, 1, 12);
  }
  explicit MatMul(const NodeView&) {}

  void build(Builder& b, const Node& node) const override {
    Dims x = b.dims(node.inputs[0]), w = b.dims(node.inputs[1]);
    if (x.back() == 0) return b.fill(node.outputs[0], 0);
    if (x.size() == 1) x.insert(x.begin(), 1);
    if (w.size() == 1) w.push_back(1);
    const size_t rank = std::max(x.size(), w.size());
    x.insert(x.begin(), rank - x.size(), 1);
    w.insert(w.begin(), rank - w.size(), 1);
    Dims result(rank);
    for (size_t i = 0; i + 2 < rank; ++i) result[i] = std::max(x[i], w[i]);
    result[rank - 2] = x[rank - 2];
    result[rank - 1] = w[rank - 1];
    product(b, node, b.reshaped(b.kept(node.inputs[0]), x), b.reshaped(b.kept(node.inputs[1]), w), result, 1,
            {});
  }
  double bound(const Builder& b, const Node& node) const override {
    return bound_of_product(b, node, b.dims(node.inputs[0]).back());
  }
  bool packs_weights() const override { return true; }
};
ONEDNN_OPERATOR(MatMul, .op_type = "MatMul")

class Gemm : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.input(0, kFloat32).input(1, kFloat32).input(2, kFloat32);
    const float beta = n.attr_f("beta", 1);
    const bool plain_c = !n.has_input(2) || beta == 1 || beta == 0;
    check.that(plain_c, TENON_REJECT_ATTRIBUTE, "beta is ", beta, ", only 0 and 1 are supported");
    return check;
  }
  explicit Gemm(const NodeView& n)
      : transpose_a_(n.attr_i("transA", 0) != 0),
        transpose_b_(n.attr_i("transB", 0) != 0),
        alpha_(n.attr_f("alpha", 1)),
        beta_(n.attr_f("beta", 1)) {}

  void build(Builder& b, const Node& node) const override {
    Tensor x = b.kept(node.inputs[0]), w = b.kept(node.inputs[1]), c;
    if (transpose_a_) x = transposed(x);
    if (transpose_b_) w = transposed(w);
    const Dims& result = b.dims(node.outputs[0]);
    if (node.inputs.size() > 2 && node.inputs[2] != kNone && beta_ != 0) {
      Dims dims = b.dims(node.inputs[2]);
      dims.insert(dims.begin(), 2 - dims.size(), 1);
      c = b.reshaped(b.plain(node.inputs[2]), dims);
    }
    if (x.layout.dims()[1] == 0) return without_product(b, node, result, c);
    product(b, node, x, w, result, alpha_, c);
  }
  double bound(const Builder& b, const Node& node) const override {
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kNone && beta_ != 0;
    return std::fabs(alpha_) * bound_of_product(b, node, b.dims(node.inputs[0])[transpose_a_ ? 0 : 1]) +
           (has_bias ? b.bound(node.inputs[2]) : 0);
  }
  bool packs_weights() const override { return true; }

 private:
  /// No column: nothing but the bias.
  static void without_product(Builder& b, const Node& node, const Dims& result, const Tensor& bias) {
    if (!bias.layout) return b.fill(node.outputs[0], 0);
    const Layout layout = Layout::plain(Type::kFloat32, result);
    const Tensor zero = b.filled(layout, 0), out = b.create(node.outputs[0], layout);
    b.step(make_binary(b.engine(), Binary::kAdd, layout, bias.layout, layout, {}),
           {{kSource, zero}, {kSource1, bias}, {kDestination, out}});
  }

  bool transpose_a_, transpose_b_;
  float alpha_, beta_;
};
ONEDNN_OPERATOR(Gemm, .op_type = "Gemm", .since = 7)

}  // namespace
}  // namespace tenon::onednn
