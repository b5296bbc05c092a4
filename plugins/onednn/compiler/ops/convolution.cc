// Conv and ConvTranspose: any number of spatial axes up to three, groups, depthwise.
#include "compiler/builder.h"
#include "compiler/ops/window.h"

namespace tenon::onednn {
namespace {

Support supports_convolution(const NodeView& n) {
  Check check(n);
  check.input(0, kFloat32).input(1, kFloat32).input(2, kFloat32);
  check.rank(0, 3, 5);
  return check;
}

class Convolution : public Operation {
 public:
  Convolution(const NodeView& n, bool transposed)
      : transposed_(transposed),
        window_(n),
        groups_(n.attr_i("group", 1)),
        output_shape_(n.attr_ints("output_shape")),
        output_padding_(n.attr_ints("output_padding")) {}

  void build(Builder& b, const Node& node) const override {
    ConvolutionSpec spec;
    spec.transposed = transposed_;
    const Dims& x = b.dims(node.inputs[0]);
    const Dims& y = b.dims(node.outputs[0]);
    const Tensor weights = grouped(b, b.tensor(node.inputs[1]));
    const Dims kernel(b.dims(node.inputs[1]).begin() + 2, b.dims(node.inputs[1]).end());
    spec.window =
        transposed_ ? window_.of_transposed(x, y, kernel, output_padding_) : window_.of(x, y, kernel);
    const Type type = b.product_type();
    spec.source = Layout::any(type, x);
    spec.weights = Layout::any(type, weights.layout.dims());
    spec.destination = Layout::any(type, y);
    std::vector<std::pair<int, Tensor>> arguments;
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kNone;
    if (has_bias) spec.bias = Layout::plain(Type::kFloat32, b.dims(node.inputs[2]));

    Fused fused;
    const Primitive primitive = b.fuse(
        node.outputs[0],
        [&](const PostOps& post_ops) { return make_convolution(b.engine(), spec, post_ops); }, &fused);
    arguments.emplace_back(kSource, b.as(b.kept(node.inputs[0]), primitive.layout(kSource)));
    arguments.emplace_back(kWeights, b.as(weights, primitive.layout(kWeights)));
    if (has_bias) arguments.emplace_back(kBias, b.plain(node.inputs[2]));
    b.run_fused(primitive, std::move(arguments), fused);
  }

 private:
  /// With the groups as an axis of their own, and output channels before input channels.
  Tensor grouped(Builder& b, const Tensor& weights) const {
    Tensor out = weights;
    if (groups_ != 1) {
      Dims dims = weights.layout.dims();
      dims[0] /= groups_;
      dims.insert(dims.begin(), groups_);
      out = b.reshaped(weights, dims);
    }
    if (!transposed_) return out;
    Dims order(out.layout.dims().size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    const size_t first = groups_ != 1 ? 1 : 0;
    std::swap(order[first], order[first + 1]);
    return {out.layout.permuted(order), out.buffer};
  }

  bool transposed_;
  WindowAttributes window_;
  int64_t groups_;
  Dims output_shape_, output_padding_;
};

struct Conv : Convolution {
  static Support supports(const NodeView& n) { return supports_convolution(n); }
  explicit Conv(const NodeView& n) : Convolution(n, false) {}
};
struct ConvTranspose : Convolution {
  static Support supports(const NodeView& n) { return supports_convolution(n); }
  explicit ConvTranspose(const NodeView& n) : Convolution(n, true) {}
};

ONEDNN_OPERATOR(Conv, .op_type = "Conv")
ONEDNN_OPERATOR(ConvTranspose, .op_type = "ConvTranspose")

}  // namespace
}  // namespace tenon::onednn
