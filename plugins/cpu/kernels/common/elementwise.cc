#include "kernels/common/elementwise.h"

namespace tenon::cpu {

void UnaryBase::prepare(PrepareContext& p) const {
  p.set_output(0, p.input(0).dims());
  if (in_bytes_ == out_bytes_) p.may_overwrite(0, 0);
}

void UnaryBase::run_loop(const Context& ctx, const void* op) const {
  const TensorView x = ctx.input(0);
  const auto* in = static_cast<const char*>(x.bytes());
  auto* out = static_cast<char*>(ctx.output(0).bytes());
  ctx.parallel_for(x.size(), grain_, [&](int64_t begin, int64_t end) {
    loop_(op, in + begin * in_bytes_, out + begin * out_bytes_, end - begin);
  });
}

BinaryBase::BinaryBase(const NodeView& n) {
  const bool old = n.domain().empty() && n.since_version() < 7;
  if (old && n.attr_i("broadcast", 0) != 0 && n.has_attr("axis")) align_second(n.attr_i("axis"));
}

Dims BinaryBase::second_dims(DimsView a, DimsView b) const {
  Dims out(b.begin(), b.end());
  if (!has_axis_ || element_count(b) == 1 || b.size() >= a.size()) return out;
  const int at = normalize_axis(axis_, static_cast<int>(a.size()));
  while (static_cast<size_t>(at) + out.size() < a.size()) out.push_back(1);
  return out;
}

BinaryBase::State BinaryBase::prepare(PrepareContext& p) const {
  const DimsView a = p.input(0).dims();
  const Dims b = second_dims(a, p.input(1).dims());
  const Dims out = broadcast_dims(a, b);
  p.set_output(0, out);
  if (a_bytes_ == out_bytes_ && std::equal(out.begin(), out.end(), a.begin(), a.end())) {
    p.may_overwrite(0, 0);
  } else if (b_bytes_ == out_bytes_ && b == out) {
    p.may_overwrite(0, 1);
  }
  return State(out, {a, b});
}

void BinaryBase::run_loop(const Context& ctx, const State& state, const void* op) const {
  run_loop(ctx, state, op, ctx.input(0).bytes(), ctx.input(1).bytes());
}

void BinaryBase::run_loop(const Context& ctx, const State& state, const void* op, const void* a,
                          const void* b) const {
  const auto* left = static_cast<const char*>(a);
  const auto* right = static_cast<const char*>(b);
  auto* y = static_cast<char*>(ctx.output(0).bytes());
  state.parallel(ctx, grain_, [&](const std::array<int64_t, 2>& at, int64_t out, int64_t n) {
    loop_(op, left + at[0] * a_bytes_, state.run_strides[0], right + at[1] * b_bytes_, state.run_strides[1],
          y + out * out_bytes_, n);
  });
}

}  // namespace tenon::cpu
