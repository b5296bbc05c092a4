#include "kernels/common/broadcast.h"

namespace tenon::cpu {
namespace {

struct StringConcat {
  using State = Broadcast<2>;
  static Support supports(const NodeView& n) {
    return Check(n).that(n.input(0).dtype() == TENON_STRING && n.input(1).dtype() == TENON_STRING,
                         TENON_REJECT_TYPE, "both inputs must be strings");
  }

  State prepare(PrepareContext& p) const {
    const Dims out = broadcast_dims(p.input(0).dims(), p.input(1).dims());
    p.set_output(0, out);
    return State(out, {p.input(0).dims(), p.input(1).dims()});
  }

  void run(const Context& ctx, const State& state) const {
    const TensorView a = ctx.input(0), b = ctx.input(1);
    const auto for_pairs = [&](auto&& visit) {
      if (state.run == 0) return;
      state.for_runs(0, state.runs, [&](const std::array<int64_t, 2>& at, int64_t) {
        for (int64_t i = 0; i < state.run; ++i)
          visit(a.string(at[0] + i * state.run_strides[0]), b.string(at[1] + i * state.run_strides[1]));
      });
    };
    // Measures first, so that growing long strings are not moved repeatedly.
    int64_t count = 0;
    size_t bytes = 0, longest = 0;
    for_pairs([&](std::string_view x, std::string_view y) {
      ++count;
      bytes += x.size() + y.size();
      longest = std::max(longest, x.size() + y.size());
    });
    StringBuilder out;
    out.reserve(count, static_cast<int64_t>(bytes));
    std::string joined;
    joined.reserve(longest);
    for_pairs([&](std::string_view x, std::string_view y) {
      joined.assign(x).append(y);
      out.add(joined);
    });
    ctx.set_strings(0, broadcast_dims(a.dims(), b.dims()), out);
  }
};
TENON_KERNEL(StringConcat, .op_type = "StringConcat", .contract = "A: ~; B: ~")

}  // namespace
}  // namespace tenon::cpu
