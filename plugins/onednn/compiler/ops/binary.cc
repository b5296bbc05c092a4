// Add, Sub, Mul, Div with broadcasting.
#include "compiler/builder.h"

namespace tenon::onednn {
namespace {

class BinaryOperation : public Operation {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kFloat32).input(1, kFloat32).rank(0, 0, 12).rank(1, 0, 12);
  }
  explicit BinaryOperation(Binary function) { function_.is_binary = true, function_.binary = function; }

  void build(Builder& b, const Node& node) const override {
    const size_t rank = std::max<size_t>(b.dims(node.outputs[0]).size(), 1);
    const Tensor x = aligned(b, node.inputs[0], rank), y = aligned(b, node.inputs[1], rank);
    for (size_t i = 0; i < rank; ++i) {
      const int64_t p = x.layout.dims()[i], q = y.layout.dims()[i];
      require(p == q || p == 1 || q == 1, TENON_INVALID_ARGUMENT, "shapes ", b.dims(node.inputs[0]), " and ",
              b.dims(node.inputs[1]), " do not broadcast");
    }
    const Layout any = Layout::any(b.type(node.outputs[0]), b.dims(node.outputs[0]));
    Fused fused;
    const Primitive primitive = b.fuse(
        node.outputs[0],
        [&](const PostOps& post_ops) {
          return make_binary(b.engine(), function_.binary, x.layout, y.layout, any, post_ops);
        },
        &fused);
    b.run_fused(primitive, {{kSource, x}, {kSource1, y}}, fused);
  }
  std::optional<Pointwise> pointwise() const override { return function_; }

 private:
  static Tensor aligned(Builder& b, uint32_t value, size_t rank) {
    Dims dims(rank - b.dims(value).size(), 1);
    dims.insert(dims.end(), b.dims(value).begin(), b.dims(value).end());
    return b.reshaped(b.tensor(value), dims);
  }

  Pointwise function_;
};

struct Add : BinaryOperation {
  explicit Add(const NodeView&) : BinaryOperation(Binary::kAdd) {}
};
struct Sub : BinaryOperation {
  explicit Sub(const NodeView&) : BinaryOperation(Binary::kSub) {}
};
struct Mul : BinaryOperation {
  explicit Mul(const NodeView&) : BinaryOperation(Binary::kMul) {}
};
struct Div : BinaryOperation {
  explicit Div(const NodeView&) : BinaryOperation(Binary::kDiv) {}
};
ONEDNN_OPERATOR(Add, .op_type = "Add", .since = 7)
ONEDNN_OPERATOR(Sub, .op_type = "Sub", .since = 7)
ONEDNN_OPERATOR(Mul, .op_type = "Mul", .since = 7)
ONEDNN_OPERATOR(Div, .op_type = "Div", .since = 7)

}  // namespace
}  // namespace tenon::onednn
