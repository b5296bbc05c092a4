#include <cmath>

#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

// Y = X / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta
class Lrn {
 public:
  explicit Lrn(const NodeView& n)
      : alpha_(n.attr_f("alpha", 1e-4f)),
        beta_(n.attr_f("beta", 0.75f)),
        bias_(n.attr_f("bias", 1)),
        size_(n.attr_i("size")) {}
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes).rank(0, 2); }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const Around at = around(in.dims(), 1);
    require(size_ > 0, TENON_INVALID_ARGUMENT, "size is ", size_);
    const int64_t before = (size_ - 1) / 2, after = size_ - 1 - before;
    dispatch(kFloatTypes, in.dtype(), [&]<class T>() {
      const T* x = in.data<T>();
      T* y = ctx.output(0).template data<T>();
      const int64_t lines = at.outer * at.inner;
      const int64_t grain = std::max<int64_t>(1, kGrainCostly / std::max<int64_t>(1, at.axis));
      ctx.parallel_for(lines, grain, [&](int64_t begin, int64_t end) {
        for (int64_t l = begin; l < end; ++l) {
          ctx.check_cancelled();
          const int64_t first = l / at.inner * at.axis * at.inner + l % at.inner;
          const auto element = [&](int64_t c) {
            return static_cast<double>(static_cast<Compute<T>>(x[first + c * at.inner]));
          };
          for (int64_t c = 0; c < at.axis; ++c) {
            double squares = 0;
            for (int64_t k = std::max<int64_t>(0, c - before); k <= std::min(at.axis - 1, c + after); ++k)
              squares += element(k) * element(k);
            const double root = std::pow(
                double{bias_} + double{alpha_} / static_cast<double>(size_) * squares, double{beta_});
            y[first + c * at.inner] = static_cast<T>(static_cast<Compute<T>>(element(c) / root));
          }
        }
      });
    });
  }

 private:
  float alpha_, beta_, bias_;
  int64_t size_;
};

TENON_KERNEL(Lrn, .op_type = "LRN", .contract = "X: rank 2..")

}  // namespace
}  // namespace tenon::cpu
