// Operators that only move elements: a view if the layout allows it, otherwise one reorder.
#include <algorithm>
#include <numeric>

#include "compiler/ops/binary.h"

namespace tenon::onednn {
namespace {

/// The same elements in the same order. The output's shape comes from the host's inference.
class Renamed : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.input(0, kFloat32 + TypeList<int32_t, int64_t, bool>()).rank(0, 0, 12);
    for (int i = 1; i < n.input_count(); ++i) {
      check.that(!n.has_input(i) || n.input(i).is_constant(), TENON_REJECT_OTHER, "input ", i, " ('",
                 n.input(i).name(), "') is not a constant");
    }
    check.that(n.output_count() < 2 || !n.has_output(1), TENON_REJECT_OTHER, "output 1 is not supported");
    if (n.has_output(0) && n.output(0).has_rank())
      check.that(n.output(0).rank() <= 12, TENON_REJECT_SHAPE, "the output has rank ", n.output(0).rank());
    return check;
  }
  explicit Renamed(const NodeView&) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims &x = b.dims(node.inputs[0]), &y = b.dims(node.outputs[0]);
    require(ep::element_count(x) == ep::element_count(y), TENON_INVALID_ARGUMENT, "the ",
            ep::element_count(x), " elements of shape ", x, " cannot be reshaped to ", y);
    return y;
  }
  void build(Builder& b, const Node& node) const override {
    const uint32_t out = node.outputs[0];
    b.define(out, b.reshaped(b.kept(node.inputs[0]), b.dims(out)));
  }
  double bound(const Builder& b, const Node& node) const override { return b.bound(node.inputs[0]); }
};
ONEDNN_OPERATOR(Renamed, .op_type = "Identity", .contract = "input: any", .work = Work::kNone)
ONEDNN_OPERATOR(Renamed, .op_type = "Reshape", .since = 5, .contract = "data: any; shape: rank 1 @size",
                .work = Work::kNone)
ONEDNN_OPERATOR(Renamed, .op_type = "Flatten", .contract = "input: any", .work = Work::kNone)
ONEDNN_OPERATOR(Renamed, .op_type = "Squeeze", .contract = "data: any; axes?: rank 1", .work = Work::kNone)
ONEDNN_OPERATOR(Renamed, .op_type = "Unsqueeze", .contract = "data: any; axes?: rank 0..1",
                .work = Work::kNone)

class Transpose : public Operation {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloat32).rank(0, 0, 12); }
  explicit Transpose(const NodeView& n) : permutation_(n.attr_ints("perm")) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims& x = b.dims(node.inputs[0]);
    Dims out;
    for (const int64_t axis : permutation_of(x.size())) out.push_back(x[static_cast<size_t>(axis)]);
    return out;
  }
  void build(Builder& b, const Node& node) const override {
    const Tensor x = b.kept(node.inputs[0]);
    const Dims permutation = permutation_of(b.dims(node.inputs[0]).size());
    if (permutation.empty()) return b.define(node.outputs[0], x);  // a scalar
    b.define(node.outputs[0], {x.layout.permuted(permutation), x.buffer});
  }
  double bound(const Builder& b, const Node& node) const override { return b.bound(node.inputs[0]); }

 private:
  Dims permutation_of(size_t rank) const {
    Dims ascending(rank);
    std::iota(ascending.begin(), ascending.end(), 0);
    if (permutation_.empty()) return {ascending.rbegin(), ascending.rend()};
    require(std::is_permutation(permutation_.begin(), permutation_.end(), ascending.begin(), ascending.end()),
            TENON_INVALID_ARGUMENT, "perm ", permutation_, " is not a permutation of ", rank, " axes");
    return permutation_;
  }
  Dims permutation_;
};
ONEDNN_OPERATOR(Transpose, .op_type = "Transpose", .contract = "data: any")

class Concat : public Operation {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .inputs(0, kFloat32)
        .rank(0, 1, 12)
        .that(n.input_count() <= kMostInputs, TENON_REJECT_OTHER, n.input_count(),
              " inputs; oneDNN concatenates at most ", kMostInputs);
  }
  explicit Concat(const NodeView& n) : axis_(n.attr_i("axis", 1)) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    Dims out = b.dims(node.inputs[0]);
    const size_t axis = axis_of(axis_, out.size());
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      const Dims& x = b.dims(node.inputs[i]);
      Dims wanted = out;
      wanted[axis] = x[axis];
      require(x == wanted, TENON_INVALID_ARGUMENT, "input ", i, " has shape ", x, "; ", wanted, " is needed");
      out[axis] += x[axis];
    }
    return out;
  }
  void build(Builder& b, const Node& node) const override {
    const Dims& dims = b.dims(node.outputs[0]);
    const auto axis = static_cast<int>(axis_of(axis_, dims.size()));
    if (b.finish_join(node)) return;
    std::vector<Layout> layouts;
    std::vector<std::pair<int, Tensor>> arguments;
    for (const uint32_t input : node.inputs) {
      const Tensor x = b.tensor(input);
      if (x.is_empty()) continue;
      arguments.emplace_back(kFirstSource + static_cast<int>(layouts.size()), x);
      layouts.push_back(x.layout);
    }
    const Primitive primitive = make_concat(b.engine(), axis, layouts, Layout::any(Type::kFloat32, dims));
    arguments.emplace_back(kDestination, b.create(node.outputs[0], primitive.layout(kDestination)));
    b.call(primitive, arguments);
  }
  std::optional<int64_t> joins() const override { return axis_; }
  double bound(const Builder& b, const Node& node) const override {
    double out = 0;
    for (const uint32_t input : node.inputs) out = std::max(out, b.bound(input));
    return out;
  }

 private:
  static constexpr int kMostInputs =
      1024;  // the library numbers the sources, and other argument numbers follow
  int64_t axis_;
};
ONEDNN_OPERATOR(Concat, .op_type = "Concat", .contract = "first: rank 1..; rest...: rank first")

/// Splits along an axis into views.
class Split : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.input(0, kFloat32).rank(0, 1, 12);
    return check.that(!n.has_input(1) || n.input(1).is_constant(), TENON_REJECT_OTHER,
                      "the sizes are not constant");
  }
  explicit Split(const NodeView& n)
      : axis_(n.attr_i("axis", 0)), sizes_(n.attr_ints("split")), may_differ_(n.since_version() >= 18) {
    if (n.has_input(1)) sizes_ = n.input(1).constant().to_dims();
    for (const int64_t size : sizes_) {
      require(size >= 0 && !__builtin_add_overflow(total_, size, &total_), TENON_INVALID_ARGUMENT,
              "split has the size ", size, ", which is negative or too large");
    }
  }
  Dims shape(const Builder& b, const Node& node, size_t output) const override {
    Dims out = b.dims(node.inputs[0]);
    const size_t axis = axis_of(axis_, out.size());
    require_pieces(out[axis], node);
    out[axis] = piece(out[axis], node, output);
    return out;
  }
  void build(Builder& b, const Node& node) const override {
    const Dims& dims = b.dims(node.inputs[0]);
    const size_t axis = axis_of(axis_, dims.size());
    Dims part = dims, offsets(dims.size(), 0);
    for (size_t i = 0; i < node.outputs.size(); ++i, offsets[axis] += part[axis]) {
      part[axis] = piece(dims[axis], node, i);
      if (node.outputs[i] != kNone) define(b, node, node.outputs[i], part, offsets);
    }
  }
  double bound(const Builder& b, const Node& node) const override { return b.bound(node.inputs[0]); }

 private:
  static void define(Builder& b, const Node& node, uint32_t out, const Dims& part, const Dims& offsets) {
    if (ep::element_count(part) == 0) return b.define(out, b.temporary(Layout::plain(Type::kFloat32, part)));
    Tensor x = b.tensor(node.inputs[0]);
    auto layout = x.layout.part(part, offsets);
    if (!layout) x = b.plain(node.inputs[0]), layout = x.layout.part(part, offsets);
    b.define(out, {*layout, x.buffer});
  }
  /// Throws unless the pieces together have `length` elements.
  void require_pieces(int64_t length, const Node& node) const {
    const auto count = static_cast<int64_t>(node.outputs.size());
    if (sizes_.empty()) {
      require(may_differ_ ? part_of(length, count) * (count - 1) <= length : length % count == 0,
              TENON_INVALID_ARGUMENT, "an axis of ", length, " elements cannot be split into ", count,
              " equal pieces");
      return;
    }
    require(static_cast<int64_t>(sizes_.size()) == count && total_ == length, TENON_INVALID_ARGUMENT,
            "split has ", sizes_.size(), " sizes with the sum ", total_, "; ", count, " sizes with the sum ",
            length, " are needed");
  }
  /// The size of output `i`.
  int64_t piece(int64_t length, const Node& node, size_t i) const {
    if (!sizes_.empty()) return sizes_[i];
    const auto count = static_cast<int64_t>(node.outputs.size()), part = part_of(length, count);
    return i + 1 < node.outputs.size() ? part : length - (count - 1) * part;
  }
  static int64_t part_of(int64_t length, int64_t count) { return (length + count - 1) / count; }

  int64_t axis_;
  Dims sizes_;
  int64_t total_ = 0;  // the sum of the sizes
  bool may_differ_;
};
ONEDNN_OPERATOR(Split, .op_type = "Split", .since = 2, .contract = "input: rank 1..; split?: rank 1 @size",
                .work = Work::kNone)

Support takes_blocks(const NodeView& n) {
  constexpr int64_t kMost = 1 << 15;  // its square must fit into an integer
  Check check(n);
  check.input(0, kFloat32).rank(0, 4, 4).attr_is("mode", {"DCR", "CRD"});
  const int64_t block = n.attr_i("blocksize");
  return check.that(block >= 1 && block <= kMost, TENON_REJECT_ATTRIBUTE, "blocksize is ", block,
                    "; supported values are 1 to ", kMost);
}

/// Moves blocks of pixels to channels or back: splits an axis, exchanges axes, merges them.
class DepthToSpace : public Operation {
 public:
  static Support supports(const NodeView& n) { return takes_blocks(n); }
  explicit DepthToSpace(const NodeView& n)
      : block_(n.attr_i("blocksize")), crd_(n.attr_s("mode", "DCR") == "CRD") {}
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims& d = b.dims(node.inputs[0]);
    return {d[0], d[1] / (block_ * block_), d[2] * block_, d[3] * block_};
  }
  void build(Builder& b, const Node& node) const override {
    const Dims& d = b.dims(node.inputs[0]);
    const int64_t c = d[1] / (block_ * block_);
    const Dims apart =
        crd_ ? Dims{d[0], c, block_, block_, d[2], d[3]} : Dims{d[0], block_, block_, c, d[2], d[3]};
    const Dims order = crd_ ? Dims{0, 1, 4, 2, 5, 3} : Dims{0, 3, 4, 1, 5, 2};
    const Tensor x = b.reshaped(b.tensor(node.inputs[0]), apart);
    b.define(node.outputs[0], b.reshaped({x.layout.permuted(order), x.buffer}, b.dims(node.outputs[0])));
  }

 private:
  int64_t block_;
  bool crd_;
};
ONEDNN_OPERATOR(DepthToSpace, .op_type = "DepthToSpace",
                .contract = "input: [N, $blocksize*$blocksize*C, H, W]")

class SpaceToDepth : public Operation {
 public:
  static Support supports(const NodeView& n) { return takes_blocks(n); }
  explicit SpaceToDepth(const NodeView& n)
      : block_(n.attr_i("blocksize")), crd_(n.attr_s("mode", "DCR") == "CRD") {}
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims& d = b.dims(node.inputs[0]);
    return {d[0], d[1] * block_ * block_, d[2] / block_, d[3] / block_};
  }
  void build(Builder& b, const Node& node) const override {
    const Dims& d = b.dims(node.inputs[0]);
    const Dims apart{d[0], d[1], d[2] / block_, block_, d[3] / block_, block_};
    const Tensor x = b.reshaped(b.tensor(node.inputs[0]), apart);
    const Dims order = crd_ ? Dims{0, 1, 3, 5, 2, 4} : Dims{0, 3, 5, 1, 2, 4};
    b.define(node.outputs[0], b.reshaped({x.layout.permuted(order), x.buffer}, b.dims(node.outputs[0])));
  }

 private:
  int64_t block_;
  bool crd_;
};
ONEDNN_OPERATOR(SpaceToDepth, .op_type = "SpaceToDepth",
                .contract = "input: [N, C, $blocksize*H, $blocksize*W]")

/// Expands to the shape that the host's inference gives.
class Expand : public Operation {
 public:
  static Support supports(const NodeView& n) {
    Check check(n);
    check.input(0, kFloat32).rank(0, 0, 12);
    check.that(n.input(1).is_constant(), TENON_REJECT_OTHER, "the shape is not constant");
    return check;
  }
  explicit Expand(const NodeView&) {}
  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims &x = b.dims(node.inputs[0]), &y = b.dims(node.outputs[0]);
    require(broadcast_shape(x, y) == y, TENON_INVALID_ARGUMENT, "shape ", x, " does not expand to ", y);
    return y;
  }
  void build(Builder& b, const Node& node) const override {
    b.define(node.outputs[0], b.broadcast(b.tensor(node.inputs[0]), b.dims(node.outputs[0])));
  }
};
ONEDNN_OPERATOR(Expand, .op_type = "Expand", .contract = "input: any; shape: rank 1 @size")

}  // namespace
}  // namespace tenon::onednn
