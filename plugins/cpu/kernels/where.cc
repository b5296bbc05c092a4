#include "kernels/common/broadcast.h"
#include "kernels/common/movement.h"

namespace tenon::cpu {
namespace {

struct WhereState {
  Dims dims;
  Broadcast<3> broadcast;
};

struct Where {
  using State = WhereState;
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kBoolType)
        .that(n.input(1).dtype() == n.input(2).dtype(), TENON_REJECT_TYPE, "inputs have element types ",
              dtype_name(n.input(1).dtype()), " and ", dtype_name(n.input(2).dtype()));
  }

  State prepare(PrepareContext& p) const {
    const DimsView c = p.input(0).dims(), x = p.input(1).dims(), y = p.input(2).dims();
    Dims out = broadcast_dims(broadcast_dims(c, x), y);
    p.set_output(0, out);
    Broadcast<3> broadcast(out, {c, x, y});
    return {std::move(out), broadcast};
  }

  void run(const Context& ctx, const State& state) const {
    const bool* c = ctx.input(0).data<bool>();
    const TensorView x = ctx.input(1), y = ctx.input(2);
    if (x.dtype() == TENON_STRING) return choose_strings(ctx, state, c, x, y);
    const auto& strides = state.broadcast.run_strides;
    dispatch_size(x.dtype(), [&]<class T>() {
      T* to = ctx.output(0).data<T>();
      state.broadcast.parallel(
          ctx, kGrainCheap, [&](const std::array<int64_t, 3>& at, int64_t out, int64_t n) {
            const bool* condition = c + at[0];
            const T *u = x.data<T>() + at[1], *v = y.data<T>() + at[2];
            for (int64_t i = 0; i < n; ++i)
              to[out + i] = condition[i * strides[0]] ? u[i * strides[1]] : v[i * strides[2]];
          });
    });
  }

 private:
  static void choose_strings(const Context& ctx, const State& state, const bool* c, TensorView x,
                             TensorView y) {
    StringBuilder out;
    const auto& b = state.broadcast;
    if (b.run > 0) {
      b.for_runs(0, b.runs, [&](const std::array<int64_t, 3>& at, int64_t) {
        for (int64_t i = 0; i < b.run; ++i) {
          out.add(c[at[0] + i * b.run_strides[0]] ? x.string(at[1] + i * b.run_strides[1])
                                                  : y.string(at[2] + i * b.run_strides[2]));
        }
      });
    }
    ctx.set_strings(0, state.dims, out);
  }
};
TENON_KERNEL(Where, .op_type = "Where", .contract = "condition: ~; X: ~; Y: ~")

}  // namespace
}  // namespace tenon::cpu
