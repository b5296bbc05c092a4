// MaxPool, AveragePool and their global forms.
#include <algorithm>
#include <limits>

#include "compiler/builder.h"
#include "compiler/ops/window.h"

namespace tenon::onednn {
namespace {

class Pooling : public Operation {
 public:
  Pooling(const NodeView& n, Pool pool, bool global) : pool_(pool), global_(global), window_(n) {}

  Dims shape(const Builder& b, const Node& node, size_t) const override {
    const Dims& x = b.dims(node.inputs[0]);
    require(ep::element_count(x) != 0 || x[0] == 0 || x[1] == 0, TENON_UNIMPLEMENTED, "an image of shape ", x,
            " has no elements");
    return window_.shape(x, x[1], kernel_of(x), true);
  }

  void build(Builder& b, const Node& node) const override {
    const Dims& x = b.dims(node.inputs[0]);
    const Dims& y = b.dims(node.outputs[0]);
    const Dims kernel = kernel_of(x);
    Tensor source;
    const auto make = [&](const Layout& layout) {
      return make_pooling(b.engine(), pool_, layout, Layout::any(layout.type(), y), window_.of(x, y, kernel));
    };
    const Primitive primitive = b.suit(b.kept(node.inputs[0]), make, &source);
    const Tensor out = b.create(node.outputs[0], primitive.layout(kDestination));
    b.call(primitive, {{kSource, source}, {kDestination, out}});
    if (pool_ == Pool::kMax && !b.is_tame(node.inputs[0])) keep_infinity(b, source, out);
  }
  double bound(const Builder& b, const Node& node) const override { return b.bound(node.inputs[0]); }

  static Support supports(const NodeView& n, bool global) {
    Check check(n);
    check.input(0, kFloat32)
        .rank(0, 3, 5)
        .attr_is("auto_pad", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
    if (!check.ok() || !n.input(0).has_rank()) return check;
    has_elements(check, n, 0);
    if (global) return check;
    const WindowAttributes window(n);
    const DimsView x = n.input(0).dims().subspan(2);
    check.that(window.kernel().size() == x.size(), TENON_REJECT_ATTRIBUTE, "kernel_shape has ",
               window.kernel().size(), " numbers, ", x.size(), " are needed");
    window.check(check, x.size());
    if (!check.ok()) return check;
    return check
        .that(!window.is_ambiguous(), TENON_REJECT_ATTRIBUTE,
              "ceil_mode with auto_pad VALID is not supported")
        .that(window.stays_inside(x), TENON_REJECT_SHAPE,
              "a window can lie entirely outside an input of shape ", n.input(0).dims());
  }

 private:
  Dims kernel_of(const Dims& x) const { return global_ ? Dims(x.begin() + 2, x.end()) : window_.kernel(); }

  /// Where all elements are -infinity, the library returns the lowest finite number. Replaces it.
  static void keep_infinity(Builder& b, const Tensor& source, const Tensor& out) {
    const auto n = static_cast<int64_t>(source.layout.bytes() / sizeof(float));
    const auto m = static_cast<int64_t>(out.layout.bytes() / sizeof(float));
    b.local({source, out}, [n, m](std::span<void* const> addresses) {
      constexpr float kLowest = std::numeric_limits<float>::lowest();
      const auto* x = static_cast<const float*>(addresses[0]);
      auto* y = static_cast<float*>(addresses[1]);
      if (!contains(y, m, kLowest) || contains(x, n, kLowest)) return;
      std::replace(y, y + m, kLowest, -std::numeric_limits<float>::infinity());
    });
  }
  static bool contains(const float* x, int64_t n, float number) {
    int found = 0;
    for (int64_t i = 0; i < n; ++i) found |= x[i] == number ? 1 : 0;
    return found != 0;
  }

  Pool pool_;
  bool global_;
  WindowAttributes window_;
};

struct MaxPool : Pooling {
  static Support supports(const NodeView& n) {
    const Check check =
        Check(n).that(!n.has_output(1), TENON_REJECT_OTHER, "the output Indices is not supported");
    return check.ok() ? Pooling::supports(n, false) : check;
  }
  explicit MaxPool(const NodeView& n) : Pooling(n, Pool::kMax, false) {}
};

struct AveragePool : Pooling {
  static Support supports(const NodeView& n) {
    const Check check = Check(n).attr_is("ceil_mode", {int64_t{0}});
    return check.ok() ? Pooling::supports(n, false) : check;
  }
  explicit AveragePool(const NodeView& n)
      : Pooling(n, n.attr_i("count_include_pad", 0) != 0 ? Pool::kAverageWithPadding : Pool::kAverage,
                false) {}
};

struct GlobalAveragePool : Pooling {
  static Support supports(const NodeView& n) { return Pooling::supports(n, true); }
  explicit GlobalAveragePool(const NodeView& n) : Pooling(n, Pool::kAverage, true) {}
};
struct GlobalMaxPool : Pooling {
  static Support supports(const NodeView& n) { return Pooling::supports(n, true); }
  explicit GlobalMaxPool(const NodeView& n) : Pooling(n, Pool::kMax, true) {}
};

ONEDNN_OPERATOR(MaxPool, .op_type = "MaxPool", .contract = "X: [N, C, D...]", .work = Work::kPooling)
ONEDNN_OPERATOR(AveragePool, .op_type = "AveragePool", .contract = "X: [N, C, D...]", .work = Work::kPooling)
ONEDNN_OPERATOR(GlobalAveragePool, .op_type = "GlobalAveragePool", .contract = "X: [N, C, D...]",
                .work = Work::kPooling)
ONEDNN_OPERATOR(GlobalMaxPool, .op_type = "GlobalMaxPool", .contract = "X: [N, C, D...]",
                .work = Work::kPooling)

}  // namespace
}  // namespace tenon::onednn
