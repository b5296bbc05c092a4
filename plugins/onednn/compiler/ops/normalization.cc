// BatchNormalization, LayerNormalization, InstanceNormalization, LRN.
#include <cmath>

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
  Dims shape(const Builder& b, const Node& node, size_t) const override { return b.dims(node.inputs[0]); }

  void build(Builder& b, const Node& node) const override {
    Tensor x;
    const Primitive primitive = b.suit(
        b.tensor(node.inputs[0]),
        [&](const Layout& layout) { return make_batch_norm(b.engine(), layout, epsilon_); }, &x);
    const Tensor y = b.create(node.outputs[0], x.layout);
    b.call(primitive, {{kSource, x},
                       {kScale, b.plain(node.inputs[1])},
                       {kShift, b.plain(node.inputs[2])},
                       {kMean, b.plain(node.inputs[3])},
                       {kVariance, b.plain(node.inputs[4])},
                       {kDestination, y}});
  }

 private:
  float epsilon_;
};
ONEDNN_OPERATOR(BatchNormalization, .op_type = "BatchNormalization", .since = 7,
                .contract = "X: [N, C, D...]; scale: [C]; B: [C]; mean: [C]; var: [C]",
                .work = Work::kNormalization)

/// Normalises over all axes from `axis` on. Scale and bias have the shape of those axes.
class LayerNormalization : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.inputs(0, kFloat32).rank(0, 1).attr_is("stash_type", {int64_t{1}});
    check.that(!n.has_output(1) && !n.has_output(2), TENON_REJECT_OTHER,
               "the outputs Mean and InvStdDev are not supported");
    if (!check.ok() || !n.input(0).has_rank()) return check;
    const auto wanted = n.input(0).dims().subspan(axis_of(n.attr_i("axis", -1), n.input(0).dims().size()));
    for (int i = 1; i < n.input_count() && check.ok(); ++i) {
      const ep::ValueView v = n.input(i);
      check.that(!v.present() || is_as_large(v, wanted), TENON_REJECT_SHAPE, "input ", i, " has shape ",
                 v.dims(), "; only the shape ", wanted,
                 " of the normalized axes is supported, without unknown dims that can be 1");
    }
    return check;
  }
  explicit LayerNormalization(const NodeView& n)
      : axis_(n.attr_i("axis", -1)), epsilon_(n.attr_f("epsilon", 1e-5f)) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims& x = b.dims(node.inputs[0]);
    const int64_t width = ep::element_count(DimsView(x).subspan(axis_of(axis_, x.size())));
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNone) continue;
      const Dims& dims = b.dims(node.inputs[i]);
      require(ep::element_count(dims) == width, TENON_UNIMPLEMENTED, "input ", i, " has shape ", dims, ", ",
              width, " elements are supported");
    }
    return x;
  }
  void build(Builder& b, const Node& node) const override {
    const Dims& dims = b.dims(node.inputs[0]);
    const size_t axis = axis_of(axis_, dims.size());
    const int64_t rows = ep::element_count(DimsView(dims).first(axis));
    const int64_t width = ep::element_count(DimsView(dims).subspan(axis));
    const bool bias = node.inputs.size() > 2 && node.inputs[2] != kNone;
    const Tensor x = b.reshaped(b.plain(node.inputs[0]), Dims{rows, width});
    std::vector<std::pair<int, Tensor>> arguments{{kSource, x},
                                                  {kScale, b.reshaped(b.plain(node.inputs[1]), Dims{width})}};
    if (bias) arguments.emplace_back(kShift, b.reshaped(b.plain(node.inputs[2]), Dims{width}));
    arguments.emplace_back(kDestination, b.create(node.outputs[0], Layout::plain(Type::kFloat32, dims)));
    b.call(make_layer_norm(b.engine(), x.layout, epsilon_, true, bias), arguments);
  }
  /// Of n numbers with variance 1, none is more than sqrt(n) from their mean.
  double bound(const Builder& b, const Node& node) const override {
    const Dims& dims = b.dims(node.inputs[0]);
    const int64_t width = ep::element_count(DimsView(dims).subspan(axis_of(axis_, dims.size())));
    const bool bias = node.inputs.size() > 2 && node.inputs[2] != kNone;
    return std::sqrt(static_cast<double>(width)) * b.bound(node.inputs[1]) +
           (bias ? b.bound(node.inputs[2]) : 0);
  }

 private:
  /// Whether v has the dims `wanted` in every run. A known dim other than 1 matches an unknown one: otherwise
  /// the shapes would not broadcast, which the contract demands.
  static bool is_as_large(const ep::ValueView& v, DimsView wanted) {
    if (!v.has_rank()) return false;
    const DimsView dims = v.dims();
    if (dims.size() != wanted.size()) return false;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] < 0 || (wanted[i] < 0 ? dims[i] == 1 : dims[i] != wanted[i])) return false;
    }
    return true;
  }
  int64_t axis_;
  float epsilon_;
};
ONEDNN_OPERATOR(LayerNormalization, .op_type = "LayerNormalization",
                .contract = "X: rank 1..; Scale: ~ X; B?: ~ X", .work = Work::kNormalization)

/// Normalises each channel of each image as a row, then scales it by its channel.
class InstanceNormalization : public Operation {
 public:
  static Support supports(const NodeView& n) { return Check(n).inputs(0, kFloat32).rank(0, 3, 12); }
  explicit InstanceNormalization(const NodeView& n) : epsilon_(n.attr_f("epsilon", 1e-5f)) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override { return b.dims(node.inputs[0]); }
  void build(Builder& b, const Node& node) const override {
    const Dims& dims = b.dims(node.inputs[0]);
    const Dims rows{dims[0] * dims[1], ep::element_count(DimsView(dims).subspan(2))};
    const bool single = rows[1] == 1;  // drop an axis of one element: it means another format to the library
    const Dims channels = single ? Dims{dims[0], dims[1]} : Dims{dims[0], dims[1], rows[1]};
    const Dims one_per_channel = single ? Dims{1, dims[1]} : Dims{1, dims[1], 1};
    const Layout layout = Layout::plain(Type::kFloat32, channels);
    const Tensor x = b.reshaped(b.plain(node.inputs[0]), rows);
    const Tensor even = b.temporary(x.layout);
    b.call(make_layer_norm(b.engine(), x.layout, epsilon_, false, false),
           {{kSource, x}, {kDestination, even}});
    const Tensor scale = b.reshaped(b.plain(node.inputs[1]), one_per_channel);
    const Tensor shift = b.reshaped(b.plain(node.inputs[2]), one_per_channel);
    PostOps add{{PostOp::Kind::kBinary}};
    add[0].operand = shift.layout;
    const Tensor y = b.create(node.outputs[0], Layout::plain(Type::kFloat32, dims));
    b.call(make_binary(b.engine(), Binary::kMul, layout, scale.layout, layout, add),
           {{kSource, even}, {kSource1, scale}, {kFirstPostOp, shift}, {kDestination, y}});
  }

 private:
  float epsilon_;
};
ONEDNN_OPERATOR(InstanceNormalization, .op_type = "InstanceNormalization", .since = 6,
                .contract = "input: [N, C, D...]; scale: [C]; B: [C]", .work = Work::kNormalization)

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
  Dims shape(const Builder& b, const Node& node, size_t) const override { return b.dims(node.inputs[0]); }
  void build(Builder& b, const Node& node) const override {
    Tensor x;
    const auto make = [&](const Layout& layout) {
      return make_lrn(b.engine(), layout, size_, alpha_, beta_, k_);
    };
    const Primitive primitive = b.suit(b.tensor(node.inputs[0]), make, &x);
    b.call(primitive, {{kSource, x}, {kDestination, b.create(node.outputs[0], x.layout)}});
  }

 private:
  int64_t size_;
  float alpha_, beta_, k_;
};
ONEDNN_OPERATOR(Lrn, .op_type = "LRN", .contract = "X: [N, C, D...]", .work = Work::kNormalization)

}  // namespace
}  // namespace tenon::onednn
