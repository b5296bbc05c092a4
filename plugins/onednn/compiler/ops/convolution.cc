// Conv and ConvTranspose with up to three spatial axes, groups and depthwise kernels.
#include "compiler/builder.h"
#include "compiler/ops/window.h"

namespace tenon::onednn {
namespace {

constexpr int64_t kBlock = 16;
/// The least height and width for tiles of 2x2 and 4x4. Larger tiles have more weights, so need more pixels.
constexpr int64_t kLeastSide = 10, kLeastSideOf4x4 = 20;

Support supports_convolution(const NodeView& n) {
  Check check(n);
  check.input(0, kFloat32).input(1, kFloat32).input(2, kFloat32);
  check.rank(0, 3, 5).attr_is("auto_pad", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
  if (!check.ok() || !n.input(0).has_rank()) return check;
  WindowAttributes(n).check(check, static_cast<size_t>(n.input(0).rank()) - 2);
  has_elements(check, n, 0);
  return has_elements(check, n, 1);
}

/// Image and kernel are one pixel wide. The library's code is made for rows, so the axes are swapped.
bool is_column(const Dims& x, const Dims& y, const Window& w) {
  return x.size() == 4 && x[2] > 1 && x[3] == 1 && y[3] == 1 && w.kernel[1] == 1 && w.pads_begin[1] == 0 &&
         w.pads_end[1] == 0;
}

Window turned_window(const Window& w) {
  return {turned(w.kernel), turned(w.strides), turned(w.dilations), turned(w.pads_begin), turned(w.pads_end)};
}

class Convolution : public Operation {
 public:
  Convolution(const NodeView& n, bool transposed)
      : transposed_(transposed),
        window_(n),
        groups_(n.attr_i("group", 1)),
        output_shape_(n.attr_ints("output_shape")),
        output_padding_(n.attr_ints("output_padding")) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims &x = b.dims(node.inputs[0]), &w = b.dims(node.inputs[1]);
    const Dims kernel(w.begin() + 2, w.end());
    require(window_.kernel().empty() || window_.kernel() == kernel, TENON_INVALID_ARGUMENT,
            "kernel_shape is ", window_.kernel(), ", and the weights have shape ", w);
    require(groups_ > 0 && x[1] % groups_ == 0 && w[0] % groups_ == 0, TENON_INVALID_ARGUMENT, x[1],
            " channels and ", w[0], " filters cannot be divided into ", groups_, " groups");
    if (!transposed_) return window_.shape(x, w[0], kernel);
    return window_.transposed_shape(x, w[1] * groups_, kernel, output_padding_, output_shape_);
  }

  void build(Builder& b, const Node& node) const override {
    ConvolutionSpec spec;
    spec.transposed = transposed_;
    Dims x = b.dims(node.inputs[0]), y = b.dims(node.outputs[0]);
    require(ep::element_count(x) != 0 && ep::element_count(b.dims(node.inputs[1])) != 0, TENON_UNIMPLEMENTED,
            "input or weights have no elements");
    Tensor source = b.kept(node.inputs[0]), weights = grouped(b, b.tensor(node.inputs[1]));
    const Dims kernel(b.dims(node.inputs[1]).begin() + 2, b.dims(node.inputs[1]).end());
    spec.window = transposed_ ? window_.of_transposed(x, y, kernel, output_padding_, !output_shape_.empty())
                              : window_.of(x, y, kernel);
    if (is_column(x, y, spec.window)) {
      x = turned(x), y = turned(y), spec.window = turned_window(spec.window);
      source.layout = turned(source.layout), weights.layout = turned(weights.layout);
    }
    spec.weights = Layout::any(b.product_type(), weights.layout.dims());
    std::vector<std::pair<int, Tensor>> arguments;
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kNone;
    if (has_bias) spec.bias = Layout::plain(Type::kFloat32, b.dims(node.inputs[2]));

    const std::vector<ConvolutionSpec> ways = ways_for(b, node, spec, x, y);
    Fused fused;
    const Primitive primitive = b.fuse(
        node.outputs[0], y, [&](const PostOps& post_ops) { return first_of(b.engine(), ways, post_ops); },
        &fused);
    arguments.emplace_back(kSource, b.as(source, primitive.layout(kSource)));
    arguments.emplace_back(kWeights, b.as(weights, primitive.layout(kWeights)));
    if (has_bias) arguments.emplace_back(kBias, b.plain(node.inputs[2]));
    b.run_fused(primitive, std::move(arguments), fused);
  }

  double bound(const Builder& b, const Node& node) const override {
    if (transposed_) return kUnbounded;
    const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != kNone;
    return b.bound(node.inputs[0]) * b.row_bound(node.inputs[1]) + (has_bias ? b.bound(node.inputs[2]) : 0);
  }
  bool packs_weights() const override { return true; }
  bool likes_blocks(const Builder& b, const Node& node) const override { return suits_winograd(b, node); }

 private:
  /// Whether Winograd saves more than its transforms cost: this takes enough channels and pixels.
  bool suits_winograd(const Builder& b, const Node& node) const {
    if (transposed_ || groups_ != 1 || b.product_type() != Type::kFloat32 || !has_winograd()) return false;
    if (!b.is_constant(node.inputs[1]) || b.instance().settings.strict) return false;
    const Dims &x = b.dims(node.inputs[0]), &y = b.dims(node.outputs[0]), &w = b.dims(node.inputs[1]);
    if (w.size() != 4 || w[2] != 3 || w[3] != 3 || w[0] < kBlock || w[1] < kBlock) return false;
    const Window window = window_.of(x, y, {3, 3});
    const Dims ones{1, 1};
    return window.strides == ones && window.dilations == ones && y[2] >= kLeastSide && y[3] >= kLeastSide;
  }

  /// Specs that compute y from x, best first.
  std::vector<ConvolutionSpec> ways_for(Builder& b, const Node& node, const ConvolutionSpec& spec,
                                        const Dims& x, const Dims& y) const {
    const Type type = b.product_type();
    ConvolutionSpec any = spec;
    any.source = Layout::any(type, x);
    any.destination = Layout::any(type, y);
    std::vector<ConvolutionSpec> out;
    if (suits_winograd(b, node) && b.tame(node.outputs[0])) {
      out.push_back(any);
      const bool large = y[2] >= kLeastSideOf4x4 && y[3] >= kLeastSideOf4x4;
      out.back().winograd = large ? Winograd::k4x4 : Winograd::k2x2;
    }
    const bool depthwise = groups_ == x[1] && groups_ == y[1];
    if (b.blocked() && x.size() == 4 && (groups_ == 1 || depthwise) && y[1] % kBlock == 0) {
      out.push_back(any);
      if (x[1] % kBlock == 0) out.back().source = Layout::blocked(type, x);
      out.back().destination = Layout::blocked(type, y);
    }
    out.push_back(any);
    return out;
  }

  static Primitive first_of(const Engine& engine, const std::vector<ConvolutionSpec>& ways,
                            const PostOps& post_ops) {
    for (size_t i = 0; i + 1 < ways.size(); ++i) {
      try {
        Primitive primitive = make_convolution(engine, ways[i], post_ops);
        if (!primitive.is_reference()) return primitive;
      } catch (const ep::Error& e) {
        if (e.code != TENON_UNIMPLEMENTED) throw;
      }
    }
    return make_convolution(engine, ways.back(), post_ops);
  }

  /// Weights with an axis of their own for the groups, and output channels before input channels.
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
  static Support supports(const NodeView& n) {
    Support out = supports_convolution(n);
    if (!out || !n.input(0).has_rank()) return out;
    const auto axes = static_cast<size_t>(n.input(0).rank()) - 2;
    const size_t extras = n.attr_ints("output_padding").size(), lengths = n.attr_ints("output_shape").size();
    return Check(n)
        .that(extras == 0 || extras == axes, TENON_REJECT_ATTRIBUTE, "output_padding has ", extras,
              " numbers")
        .that(lengths == 0 || lengths == axes || lengths == axes + 2, TENON_REJECT_ATTRIBUTE,
              "output_shape has ", lengths, " numbers");
  }
  explicit ConvTranspose(const NodeView& n) : Convolution(n, true) {}
};

ONEDNN_OPERATOR(Conv, .op_type = "Conv",
                .contract = "X: [N, C, D...]; W: [M, C/$group, K...] & rank X; B?: [M]",
                .work = Work::kConvolution)
ONEDNN_OPERATOR(ConvTranspose, .op_type = "ConvTranspose",
                .contract = "X: [N, C, D...]; W: [C, M, K...] & rank X; B?: [M*$group]",
                .work = Work::kTransposedConvolution)

}  // namespace
}  // namespace tenon::onednn
