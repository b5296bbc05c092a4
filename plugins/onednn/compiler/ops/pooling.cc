// MaxPool, AveragePool and their global forms.
#include "compiler/builder.h"
#include "compiler/ops/window.h"

namespace tenon::onednn {
namespace {

class Pooling : public Operation {
 public:
  Pooling(const NodeView& n, Pool pool, bool global) : pool_(pool), global_(global), window_(n) {}

  void build(Builder& b, const Node& node) const override {
    const Dims& x = b.dims(node.inputs[0]);
    const Dims& y = b.dims(node.outputs[0]);
    const Tensor source = b.tensor(node.inputs[0]);
    const Dims kernel = global_ ? Dims(x.begin() + 2, x.end()) : window_.kernel();
    const Primitive primitive = make_pooling(b.engine(), pool_, source.layout, Layout::any(Type::kFloat32, y),
                                             window_.of(x, y, kernel));
    const Tensor out = b.create(node.outputs[0], primitive.layout(kDestination));
    b.step(primitive, {{kSource, source}, {kDestination, out}});
  }

 private:
  Pool pool_;
  bool global_;
  WindowAttributes window_;
};

struct MaxPool : Pooling {
  static Support supports(const NodeView& n) {
    Check check(n);
    check.input(0, kFloat32).rank(0, 3, 5);
    check.that(!n.has_output(1), TENON_REJECT_OTHER, "the output Indices is not supported");
    return check;
  }
  explicit MaxPool(const NodeView& n) : Pooling(n, Pool::kMax, false) {}
};

struct AveragePool : Pooling {
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kFloat32).rank(0, 3, 5).attr_is("ceil_mode", {int64_t{0}});
  }
  explicit AveragePool(const NodeView& n)
      : Pooling(n, n.attr_i("count_include_pad", 0) != 0 ? Pool::kAverageWithPadding : Pool::kAverage,
                false) {}
};

struct GlobalAveragePool : Pooling {
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloat32).rank(0, 3, 5); }
  explicit GlobalAveragePool(const NodeView& n) : Pooling(n, Pool::kAverage, true) {}
};
struct GlobalMaxPool : Pooling {
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloat32).rank(0, 3, 5); }
  explicit GlobalMaxPool(const NodeView& n) : Pooling(n, Pool::kMax, true) {}
};

ONEDNN_OPERATOR(MaxPool, .op_type = "MaxPool")
ONEDNN_OPERATOR(AveragePool, .op_type = "AveragePool")
ONEDNN_OPERATOR(GlobalAveragePool, .op_type = "GlobalAveragePool")
ONEDNN_OPERATOR(GlobalMaxPool, .op_type = "GlobalMaxPool")

}  // namespace
}  // namespace tenon::onednn
