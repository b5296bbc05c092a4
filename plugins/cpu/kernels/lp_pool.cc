#include <cmath>

#include "kernels/common/pool.h"

namespace tenon::cpu {
namespace {

// The p-norm of each window. p is an integer, in version 1 a float.
class LpPool : public PoolBase {
 public:
  explicit LpPool(const NodeView& n)
      : PoolBase(n),
        p_(n.since_version() < 2 ? double{n.attr_f("p", 2)} : static_cast<double>(n.attr_i("p", 2))) {}

  void run(const Context& ctx, const PoolWindows& windows) const {
    dispatch(kFloatTypes, ctx.input(0).dtype(), [&]<class T>() {
      const T* in = ctx.input(0).data<T>();
      T* out = ctx.output(0).template data<T>();
      each_plane(ctx, windows, [&](int64_t p) {
        const T* x = in + p * windows.in_size();
        T* y = out + p * windows.out_size();
        windows.each(ctx, [&](int64_t o, const auto& window) {
          double total = 0;
          window.each([&](int64_t at) {
            total += std::pow(std::abs(static_cast<double>(static_cast<Compute<T>>(x[at]))), p_);
          });
          y[o] = static_cast<T>(static_cast<Compute<T>>(std::pow(total, 1 / p_)));
        });
      });
    });
  }

 private:
  double p_;
};

TENON_KERNEL(LpPool, .op_type = "LpPool", .contract = "X: rank 3..")

}  // namespace
}  // namespace tenon::cpu
