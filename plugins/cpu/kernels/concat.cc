#include "kernels/common/checked.h"
#include "kernels/common/movement.h"

namespace tenon::cpu {
namespace {

// Before opset 4 the axis was optional, by default 1.
struct Concat {
  explicit Concat(const NodeView& n)
      : axis_(n.since_version() < 4 ? n.attr_i("axis", 1) : n.attr_i("axis")) {}

  void prepare(PrepareContext& p) const {
    Dims out(p.input(0).dims().begin(), p.input(0).dims().end());
    const int axis = normalize_axis(axis_, static_cast<int>(out.size()));
    for (int i = 1; i < p.input_count(); ++i) {
      const DimsView dims = p.input(i).dims();
      for (size_t d = 0; d < out.size(); ++d) {
        if (d == static_cast<size_t>(axis)) continue;
        require(dims[d] == out[d], TENON_INVALID_ARGUMENT, "input ", i, " has shape ", dims,
                ", the first differs in dim ", d);
      }
      int64_t& sum = out[static_cast<size_t>(axis)];
      sum = checked_add(sum, dims[static_cast<size_t>(axis)], "the output");
    }
    p.set_output(0, out);
  }

  void run(const Context& ctx) const {
    const OutputTensor out = ctx.output(0);
    const int axis = normalize_axis(axis_, out.rank());
    const int64_t outer = count_between(out.dims(), 0, axis);
    BlockWriter writer(ctx, 0, out.dims(), ctx.input(0).dtype());
    for (int64_t o = 0; o < outer; ++o) {
      for (int i = 0; i < ctx.input_count(); ++i) {
        const TensorView in = ctx.input(i);
        const int64_t block = count_between(in.dims(), axis, in.rank());
        writer.append(in, o * block, block);
      }
    }
    writer.finish();
  }

 private:
  int64_t axis_;
};
TENON_KERNEL(Concat, .op_type = "Concat", .contract = "first: rank 1..; others...: rank first")

}  // namespace
}  // namespace tenon::cpu
