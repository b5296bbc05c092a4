#include "kernels/ml/ml.h"

namespace tenon::cpu {
namespace {

// Replaces one value (possibly NaN) by another, for all features or one per feature.
class Imputer {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kMlNumbers); }
  explicit Imputer(const NodeView& n)
      : floats_(n.attr_floats("imputed_value_floats")),
        ints_(n.attr_ints("imputed_value_int64s")),
        old_float_(n.attr_f("replaced_value_float", 0.0f)),
        old_int_(n.attr_i("replaced_value_int64", 0)) {
    const uint32_t dtype = n.input(0).dtype();
    const bool is_float = dtype == TENON_FLOAT32 || dtype == TENON_FLOAT64;
    values_ = static_cast<int64_t>(is_float ? floats_.size() : ints_.size());
    require(values_ > 0, TENON_INVALID_ARGUMENT, "there is no imputed value");
  }

  void prepare(PrepareContext& p) const {
    const Rows x = rows_of(p.input(0).dims());
    require(values_ == 1 || values_ == x.columns, TENON_INVALID_ARGUMENT, values_, " imputed values for ",
            x.columns, " features");
    p.set_output(0, p.input(0).dims());
    p.may_overwrite(0, 0);
  }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    dispatch(kMlNumbers, x.dtype(), [&]<class T>() {
      if constexpr (std::is_floating_point_v<T>)
        replace(ctx, static_cast<T>(old_float_), floats_);
      else
        replace(ctx, static_cast<T>(old_int_), ints_);
    });
  }

 private:
  template <class T, class V>
  static void replace(const Context& ctx, T old, const std::vector<V>& values) {
    const TensorView x = ctx.input(0);
    const T* in = x.data<T>();
    T* out = ctx.output(0).data<T>();
    const bool nan = old != old;
    ctx.parallel_for(x.size(), kGrainCheap, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const bool missing = nan ? in[i] != in[i] : in[i] == old;
        out[i] = missing ? static_cast<T>(values[static_cast<size_t>(i) % values.size()]) : in[i];
      }
    });
  }

  std::vector<float> floats_;
  std::vector<int64_t> ints_;
  float old_float_;
  int64_t old_int_, values_ = 0;
};
TENON_KERNEL(Imputer, .domain = "ai.onnx.ml", .op_type = "Imputer", .contract = "X: rank 1..2")

}  // namespace
}  // namespace tenon::cpu
