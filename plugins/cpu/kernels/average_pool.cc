#include "kernels/common/pool.h"

namespace tenon::cpu {
namespace {

class AveragePool : public PoolBase {
 public:
  explicit AveragePool(const NodeView& n)
      : PoolBase(n), count_padding_(n.attr_i("count_include_pad", 0) != 0) {}

  void run(const Context& ctx, const PoolTable& table) const {
    dispatch(kFloatTypes, ctx.input(0).dtype(), [&]<class T>() {
      using C = Compute<T>;
      const T* in = ctx.input(0).data<T>();
      T* out = ctx.output(0).template data<T>();
      each_plane(ctx, table, [&](int64_t p) {
        const T* x = in + p * table.in_size;
        for (size_t o = 0; o < static_cast<size_t>(table.out_size); ++o) {
          C total = 0;
          for (int64_t t = table.begins[o]; t < table.begins[o + 1]; ++t)
            total += static_cast<C>(x[table.taps[static_cast<size_t>(t)]]);
          const int64_t n = count_padding_ ? table.covered[o] : table.begins[o + 1] - table.begins[o];
          out[p * table.out_size + static_cast<int64_t>(o)] =
              static_cast<T>(n > 0 ? total / static_cast<C>(n) : C{0});
        }
      });
    });
  }

 private:
  bool count_padding_;
};

TENON_KERNEL(AveragePool, .op_type = "AveragePool")

}  // namespace
}  // namespace tenon::cpu
