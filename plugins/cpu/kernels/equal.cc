#include "kernels/common/elementwise.h"

namespace tenon::cpu {
namespace {

struct EqualOp {
  static constexpr auto kTypes = kNumericTypes + kBoolType;
  static constexpr bool kPredicate = true;
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
using Equal = BinaryKernel<EqualOp>;
TENON_BINARY_KERNELS(Equal, "Equal")

struct EqualStrings {
  using State = Broadcast<2>;
  static Support supports(const NodeView& n) {
    return Check(n).that(n.input(0).dtype() == TENON_STRING && n.input(1).dtype() == TENON_STRING,
                         TENON_REJECT_TYPE, "inputs are not strings");
  }
  State prepare(PrepareContext& p) const {
    const Dims out = broadcast_dims(p.input(0).dims(), p.input(1).dims());
    p.set_output(0, out);
    return State(out, {p.input(0).dims(), p.input(1).dims()});
  }
  void run(const Context& ctx, const State& state) const {
    const TensorView a = ctx.input(0), b = ctx.input(1);
    bool* y = ctx.output(0).data<bool>();
    state.parallel(ctx, kGrainCostly, [&](const std::array<int64_t, 2>& at, int64_t out, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        y[out + i] = a.string(at[0] + i * state.run_strides[0]) == b.string(at[1] + i * state.run_strides[1]);
      }
    });
  }
};
TENON_KERNEL(EqualStrings, .op_type = "Equal", .since = 19, .priority = -1, .contract = "A: ~; B: ~")

}  // namespace
}  // namespace tenon::cpu
