#include "kernels/common/pool_plane.h"

namespace tenon::cpu {
namespace {

class AveragePool : public PoolBase {
 public:
  explicit AveragePool(const NodeView& n)
      : PoolBase(n), count_padding_(n.attr_i("count_include_pad", 0) != 0) {}

  PlaneWindows prepare(PrepareContext& p) const {
    const std::vector<WindowDim> dims = prepare_outputs(p);
    return dims.empty() ? PlaneWindows()
                        : PlaneWindows(p, dims, p.input(0).dtype() == TENON_FLOAT32, count_padding_);
  }
  void run(const Context& ctx, const PlaneWindows& state) const {
    if (state.has_planes()) return state.run(ctx, &isa::Pools::mean);
    const PoolWindows& windows = state.windows();
    dispatch(kFloatTypes, ctx.input(0).dtype(), [&]<class T>() {
      using C = Compute<T>;
      const T* in = ctx.input(0).data<T>();
      T* out = ctx.output(0).template data<T>();
      each_plane(ctx, windows, [&](int64_t p) {
        const T* x = in + p * windows.in_size();
        T* y = out + p * windows.out_size();
        windows.each(ctx, [&](int64_t o, const auto& window) {
          C total = 0;
          window.each([&](int64_t at) { total += static_cast<C>(x[at]); });
          const int64_t n = count_padding_ ? window.covered() : window.taps();
          y[o] = static_cast<T>(n > 0 ? total / static_cast<C>(n) : C{0});
        });
      });
    });
  }

 private:
  bool count_padding_;
};

TENON_KERNEL(AveragePool, .op_type = "AveragePool", .contract = "X: rank 3..")

}  // namespace
}  // namespace tenon::cpu
