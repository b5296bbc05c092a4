#include "kernels/common/lookup.h"
#include "kernels/ml/ml.h"

namespace tenon::cpu {
namespace {

class CategoryMapper {
 public:
  static Support supports(const NodeView& n) {
    return n.input(0).dtype() == TENON_STRING ? Support::yes() : Check(n).input(0, TypeList<int64_t>());
  }
  explicit CategoryMapper(const NodeView& n)
      : strings_(n.attr_strings("cats_strings")),
        ints_(n.attr_ints("cats_int64s")),
        by_string_(strings_),
        by_int_(std::span<const int64_t>(ints_)),
        default_string_(n.attr_s("default_string", "_Unused")),
        default_int_(n.attr_i("default_int64", -1)) {
    require(strings_.size() == ints_.size(), TENON_INVALID_ARGUMENT, strings_.size(), " strings and ",
            ints_.size(), " integers as categories");
  }

  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).dims()); }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    if (x.dtype() == TENON_STRING) {
      auto* out = ctx.output(0).data<int64_t>();
      for (int64_t i = 0; i < x.size(); ++i) {
        const int64_t at = by_string_.find(x.string(i));
        out[i] = at < 0 ? default_int_ : ints_[static_cast<size_t>(at)];
      }
      return;
    }
    StringBuilder out;
    for (const int64_t value : x.span<int64_t>()) {
      const int64_t at = by_int_.find(value);
      out.add(at < 0 ? default_string_ : strings_[static_cast<size_t>(at)]);
    }
    ctx.set_strings(0, x.dims(), out);
  }

 private:
  std::vector<std::string> strings_;
  std::vector<int64_t> ints_;
  StringIndex by_string_;
  NumberIndex by_int_;
  std::string default_string_;
  int64_t default_int_;
};
TENON_KERNEL(CategoryMapper, .domain = "ai.onnx.ml", .op_type = "CategoryMapper", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
