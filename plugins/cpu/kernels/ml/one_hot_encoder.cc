#include "kernels/common/lookup.h"
#include "kernels/ml/ml.h"

namespace tenon::cpu {
namespace {

// Numbers are truncated to integers before the lookup.
class OneHotEncoder {
 public:
  static Support supports(const NodeView& n) {
    return n.input(0).dtype() == TENON_STRING ? Support::yes() : Check(n).input(0, kMlNumbers);
  }
  explicit OneHotEncoder(const NodeView& n)
      : classes_(n, "cats_strings", "cats_int64s"),
        strings_(classes_.strings()),
        ints_(std::span<const int64_t>(classes_.ints())),
        zeros_(n.attr_i("zeros", 1) != 0) {}

  void prepare(PrepareContext& p) const {
    Dims out(p.input(0).dims().begin(), p.input(0).dims().end());
    out.push_back(classes_.size());
    p.set_output(0, out);
  }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    auto* out = ctx.output(0).data<float>();
    std::fill_n(out, ctx.output(0).size(), 0.0f);
    const auto mark = [&](int64_t i, int64_t found) {
      if (found >= 0) {
        out[i * classes_.size() + found] = 1;
        return;
      }
      require(zeros_, TENON_INVALID_ARGUMENT, "element ", i, " is not in any category");
    };
    if (x.dtype() == TENON_STRING) {
      for (int64_t i = 0; i < x.size(); ++i) mark(i, strings_.find(x.string(i)));
      return;
    }
    dispatch(kMlNumbers, x.dtype(), [&]<class T>() {
      for (int64_t i = 0; i < x.size(); ++i) mark(i, ints_.find(as_int(x.data<T>()[i])));
    });
  }

 private:
  template <class T>
  static int64_t as_int(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!(x > T(-9.2e18) && x < T(9.2e18))) return std::numeric_limits<int64_t>::min();
    }
    return static_cast<int64_t>(x);
  }

  ClassLabels classes_;
  StringIndex strings_;
  NumberIndex ints_;
  bool zeros_;
};
TENON_KERNEL(OneHotEncoder, .domain = "ai.onnx.ml", .op_type = "OneHotEncoder", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
