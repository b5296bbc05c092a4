// BatchNormalization, LayerNormalization, InstanceNormalization, LRN.
#include "compiler/builder.h"

namespace tenon::onednn {
namespace {

class BatchNormalization : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.inputs(0, kFloat32)
        .rank(0, 2, 5)
        .attr_is("training_mode", {int64_t{0}})
        .attr_is("spatial", {int64_t{1}});
    for (int i = 1; i < n.output_count(); ++i) {
      check.that(!n.has_output(i), TENON_REJECT_OTHER, "output ", i, " is not supported");
    }
    return check;
  }
  explicit BatchNormalization(const NodeView& n) : epsilon_(n.attr_f("epsilon", 1e-5f)) {}

  void build(Builder& b, const Node& node) const override {
    Tensor x;
    const Primitive primitive = b.suit(
        b.tensor(node.inputs[0]),
        [&](const Layout& layout) { return make_batch_norm(b.engine(), layout, epsilon_); }, &x);
    const Tensor y = b.create(node.outputs[0], x.layout);
    b.step(primitive, {{kSource, x},
                       {kScale, b.plain(node.inputs[1])},
                       {kShift, b.plain(node.inputs[2])},
                       {kMean, b.plain(node.inputs[3])},
                       {kVariance, b.plain(node.inputs[4])},
                       {kDestination, y}});
  }

 private:
  float epsilon_;
};
ONEDNN_OPERATOR(BatchNormalization, .op_type = "BatchNormalization", .since = 7)

/// Over all axes from `axis` on; scale and bias as large as those.
class LayerNormalization : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.inputs(0, kFloat32).rank(0, 1).attr_is("stash_type", {int64_t{1}});
    check.that(!n.has_output(1) && !n.has_output(2), TENON_REJECT_OTHER,
               "the outputs Mean and InvStdDev are not supported");
    if (!check.ok() || !n.input(0).has_rank()) return check;
    const int64_t axis = axis_of(n, n.input(0).rank());
    for (int i = 1; i < n.input_count() && check.ok(); ++i) {
      const ep::ValueView v = n.input(i);
      const auto wanted = n.input(0).dims().subspan(static_cast<size_t>(axis));
      const bool same = !v.present() || (v.has_rank() && std::equal(wanted.begin(), wanted.end(),
                                                                    v.dims().begin(), v.dims().end()));
      check.that(same, TENON_REJECT_SHAPE, "input ", i, " has shape ", v.dims(),
                 ", not that of the normalized axes");
    }
    return check;
  }
  explicit LayerNormalization(const NodeView& n)
      : axis_(n.attr_i("axis", -1)), epsilon_(n.attr_f("epsilon", 1e-5f)) {}

  void build(Builder& b, const Node& node) const override {
    const Dims& dims = b.dims(node.inputs[0]);
    const auto rank = static_cast<int64_t>(dims.size());
    const int64_t axis = axis_ < 0 ? axis_ + rank : axis_;
    const int64_t rows = ep::element_count(DimsView(dims).first(static_cast<size_t>(axis)));
    const int64_t width = ep::element_count(DimsView(dims).subspan(static_cast<size_t>(axis)));
    const bool bias = node.inputs.size() > 2 && node.inputs[2] != kNone;
    const Tensor x = b.reshaped(b.plain(node.inputs[0]), Dims{rows, width});
    std::vector<std::pair<int, Tensor>> arguments{{kSource, x},
                                                  {kScale, b.reshaped(b.plain(node.inputs[1]), Dims{width})}};
    if (bias) arguments.emplace_back(kShift, b.reshaped(b.plain(node.inputs[2]), Dims{width}));
    arguments.emplace_back(kDestination, b.create(node.outputs[0], Layout::plain(Type::kFloat32, dims)));
    b.step(make_layer_norm(b.engine(), x.layout, epsilon_, true, bias), arguments);
  }

 private:
  static int64_t axis_of(const NodeView& n, int64_t rank) {
    const int64_t axis = n.attr_i("axis", -1);
    return axis < 0 ? axis + rank : axis;
  }
  int64_t axis_;
  float epsilon_;
};
ONEDNN_OPERATOR(LayerNormalization, .op_type = "LayerNormalization")

/// Each channel of each image as a row, then scaled by its channel.
class InstanceNormalization : public Operation {
 public:
  static Support supports(const NodeView& n) { return Check(n).inputs(0, kFloat32).rank(0, 3, 12); }
  explicit InstanceNormalization(const NodeView& n) : epsilon_(n.attr_f("epsilon", 1e-5f)) {}

  void build(Builder& b, const Node& node) const override {
    const Dims& dims = b.dims(node.inputs[0]);
    const Dims rows{dims[0] * dims[1], ep::element_count(DimsView(dims).subspan(2))};
    const Dims channels{dims[0], dims[1], rows[1]}, one_per_channel{1, dims[1], 1};
    const Layout layout = Layout::plain(Type::kFloat32, channels);
    const Tensor x = b.reshaped(b.plain(node.inputs[0]), rows);
    const Tensor even = b.temporary(x.layout);
    b.step(make_layer_norm(b.engine(), x.layout, epsilon_, false, false),
           {{kSource, x}, {kDestination, even}});
    const Tensor scale = b.reshaped(b.plain(node.inputs[1]), one_per_channel);
    const Tensor shift = b.reshaped(b.plain(node.inputs[2]), one_per_channel);
    PostOps add{{PostOp::Kind::kBinary}};
    add[0].operand = shift.layout;
    const Tensor y = b.create(node.outputs[0], Layout::plain(Type::kFloat32, dims));
    b.step(make_binary(b.engine(), Binary::kMul, layout, scale.layout, layout, add),
           {{kSource, even}, {kSource1, scale}, {kFirstPostOp, shift}, {kDestination, y}});
  }

 private:
  float epsilon_;
};
ONEDNN_OPERATOR(InstanceNormalization, .op_type = "InstanceNormalization", .since = 6)

class Lrn : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.input(0, kFloat32).rank(0, 3, 5);
    check.that(n.attr_i("size") % 2 == 1, TENON_REJECT_ATTRIBUTE, "size ", n.attr_i("size"), " is even");
    return check;
  }
  explicit Lrn(const NodeView& n)
      : size_(n.attr_i("size")),
        alpha_(n.attr_f("alpha", 1e-4f)),
        beta_(n.attr_f("beta", 0.75f)),
        k_(n.attr_f("bias", 1)) {}
  void build(Builder& b, const Node& node) const override {
    Tensor x;
    const auto make = [&](const Layout& layout) {
      return make_lrn(b.engine(), layout, size_, alpha_, beta_, k_);
    };
    const Primitive primitive = b.suit(b.tensor(node.inputs[0]), make, &x);
    b.step(primitive, {{kSource, x}, {kDestination, b.create(node.outputs[0], x.layout)}});
  }

 private:
  int64_t size_;
  float alpha_, beta_, k_;
};
ONEDNN_OPERATOR(Lrn, .op_type = "LRN")

}  // namespace
}  // namespace tenon::onednn
