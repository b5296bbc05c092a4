#include "kernels/ml/ml.h"

namespace tenon::cpu {
namespace {

class Binarizer {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kMlNumbers); }
  explicit Binarizer(const NodeView& n) : threshold_(n.attr_f("threshold", 0.0f)) {}

  void prepare(PrepareContext& p) const {
    p.set_output(0, p.input(0).dims());
    p.may_overwrite(0, 0);
  }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    dispatch(kMlNumbers, x.dtype(), [&]<class T>() {
      const T* in = x.data<T>();
      T* out = ctx.output(0).data<T>();
      ctx.parallel_for(x.size(), kGrainCheap, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          out[i] = static_cast<T>(static_cast<double>(in[i]) > static_cast<double>(threshold_) ? 1 : 0);
      });
    });
  }

 private:
  float threshold_;
};
TENON_KERNEL(Binarizer, .domain = "ai.onnx.ml", .op_type = "Binarizer", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu
