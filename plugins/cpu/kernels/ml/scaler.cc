#include "kernels/ml/ml.h"

namespace tenon::cpu {
namespace {

// (x - offset) * scale. Offset and scale are one number, or one per feature.
class Scaler {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kMlNumbers); }
  explicit Scaler(const NodeView& n) : offset_(n.attr_floats("offset")), scale_(n.attr_floats("scale")) {
    if (offset_.empty()) offset_ = {0};
    if (scale_.empty()) scale_ = {1};
  }

  void prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const size_t features = x.empty() ? 1 : static_cast<size_t>(x.back());
    for (const size_t size : {offset_.size(), scale_.size()})
      require(size == 1 || size == features, TENON_INVALID_ARGUMENT, size, " offsets or scales for ",
              features, " features");
    p.set_output(0, x);
  }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    auto* out = ctx.output(0).data<float>();
    dispatch(kMlNumbers, x.dtype(), [&]<class T>() {
      const T* in = x.data<T>();
      ctx.parallel_for(x.size(), kGrainCheap, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          out[i] = static_cast<float>((static_cast<double>(in[i]) - at(offset_, i)) * at(scale_, i));
      });
    });
  }

 private:
  static double at(const std::vector<float>& values, int64_t i) {
    return static_cast<double>(values.size() == 1 ? values[0]
                                                  : values[static_cast<size_t>(i) % values.size()]);
  }
  std::vector<float> offset_, scale_;
};
TENON_KERNEL(Scaler, .domain = "ai.onnx.ml", .op_type = "Scaler", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
