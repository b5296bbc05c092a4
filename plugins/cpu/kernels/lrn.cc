#include <cmath>

#include "kernels/common/lines.h"

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
      for_each_line<T>(ctx, at, [&](auto* x, int64_t n) {
        const std::vector<std::remove_reference_t<decltype(*x)>> copy(x, x + n);
        for (int64_t c = 0; c < n; ++c) {
          double squares = 0;
          for (int64_t k = std::max<int64_t>(0, c - before); k <= std::min(n - 1, c + after); ++k)
            squares += double{copy[static_cast<size_t>(k)]} * double{copy[static_cast<size_t>(k)]};
          x[c] = static_cast<std::remove_reference_t<decltype(*x)>>(
              copy[static_cast<size_t>(c)] /
              std::pow(double{bias_} + double{alpha_} / static_cast<double>(size_) * squares, double{beta_}));
        }
      });
    });
  }

 private:
  float alpha_, beta_, bias_;
  int64_t size_;
};

TENON_KERNEL(Lrn, .op_type = "LRN")

}  // namespace
}  // namespace tenon::cpu
