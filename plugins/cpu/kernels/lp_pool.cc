#include <cmath>

#include "kernels/common/pool.h"

namespace tenon::cpu {
namespace {

// The p-norm of each window: p is an integer, a float in version 1.
class LpPool : public PoolBase {
 public:
  explicit LpPool(const NodeView& n)
      : PoolBase(n),
        p_(n.since_version() < 2 ? double{n.attr_f("p", 2)} : static_cast<double>(n.attr_i("p", 2))) {}

  void run(const Context& ctx, const PoolTable& table) const {
    dispatch(kFloatTypes, ctx.input(0).dtype(), [&]<class T>() {
      const T* in = ctx.input(0).data<T>();
      T* out = ctx.output(0).template data<T>();
      each_plane(ctx, table, [&](int64_t plane) {
        const T* x = in + plane * table.in_size;
        for (size_t o = 0; o < static_cast<size_t>(table.out_size); ++o) {
          double total = 0;
          for (int64_t t = table.begins[o]; t < table.begins[o + 1]; ++t)
            total += std::pow(
                std::abs(static_cast<double>(static_cast<Compute<T>>(x[table.taps[static_cast<size_t>(t)]]))),
                p_);
          out[plane * table.out_size + static_cast<int64_t>(o)] =
              static_cast<T>(static_cast<Compute<T>>(std::pow(total, 1 / p_)));
        }
      });
    });
  }

 private:
  double p_;
};

TENON_KERNEL(LpPool, .op_type = "LpPool")

}  // namespace
}  // namespace tenon::cpu
