#include "kernels/common/variadic.h"

namespace tenon::cpu {

VariadicBase::State VariadicBase::prepare(PrepareContext& p) const {
  Dims out(p.input(0).dims().begin(), p.input(0).dims().end());
  for (int i = 1; i < p.input_count(); ++i) out = broadcast_dims(out, p.input(i).dims());
  p.set_output(0, out);
  // Overwriting is not allowed: a later pass would read an input that an earlier one has changed.
  State state;
  for (int i = 1; i < std::max(2, p.input_count()); ++i) {
    const DimsView left = i == 1 ? p.input(0).dims() : DimsView(out);
    state.emplace_back(out, std::array<DimsView, 2>{left, p.input(i < p.input_count() ? i : 0).dims()});
  }
  return state;
}

void VariadicBase::run_loop(const Context& ctx, const State& state, const void* op) const {
  auto* y = static_cast<char*>(ctx.output(0).bytes());
  const int64_t size = ctx.output(0).size();
  if (size == 0) return;  // the output may have no memory
  if (ctx.input_count() == 1) {
    std::memcpy(y, ctx.input(0).bytes(), static_cast<size_t>(size * bytes_));
  }
  for (int i = 1; i < ctx.input_count(); ++i) {
    const Broadcast<2>& pass = state[static_cast<size_t>(i - 1)];
    const auto* a = i == 1 ? static_cast<const char*>(ctx.input(0).bytes()) : y;
    const auto* b = static_cast<const char*>(ctx.input(i).bytes());
    pass.parallel(ctx, kGrainCheap, [&](const std::array<int64_t, 2>& at, int64_t out, int64_t n) {
      loop_(op, a + at[0] * bytes_, pass.run_strides[0], b + at[1] * bytes_, pass.run_strides[1],
            y + out * bytes_, n);
    });
  }
  if (finish_ == nullptr) return;
  ctx.parallel_for(size, kGrainCheap, [&](int64_t begin, int64_t end) {
    finish_(op, y + begin * bytes_, y + begin * bytes_, end - begin);
  });
}

}  // namespace tenon::cpu
