// Steps that follow a result, and the table of islands' loops.
#include "isa/compute_parts.h"
#include "isa/math.h"

namespace tenon::cpu::isa {
namespace TENON_ISA_NAMESPACE {
namespace {

/// A line of at most this many elements is copied and changed before the next one: it stays in the first-level cache.
constexpr int64_t kLine = 2048;

template <class F>
inline void each(float* y, int64_t n, F f) {
  for (int64_t i = 0; i < n; ++i) y[i] = f(y[i]);
}
template <class F>
inline void with(float* y, const float* other, bool scalar, int64_t n, F f) {
  if (scalar) {
    const float value = *other;
    for (int64_t i = 0; i < n; ++i) y[i] = f(y[i], value);
  } else {
    for (int64_t i = 0; i < n; ++i) y[i] = f(y[i], other[i]);
  }
}

// NaN wins, as in ONNX's Max and Min.
inline float larger(float a, float b) { return a != a ? a : select(a > b, a, b); }
inline float smaller(float a, float b) { return a != a ? a : select(a < b, a, b); }

void step_line(const Step& s, float* y, const float* other, int64_t n) {
  const float alpha = s.alpha, beta = s.beta;
  switch (s.kind) {
    case Step::Kind::kUnary:
      return s.unary(y, y, n);
    case Step::Kind::kClamp:
      return each(y, n, [=](float v) {
        const float above = select(v < alpha, alpha, v);
        return select(above > beta, beta, above);
      });
    case Step::Kind::kLeaky:
      return each(y, n, [=](float v) { return select(v < 0.0f, alpha * v, v); });
    case Step::Kind::kElu:
      return each(y, n, [=](float v) { return select(v < 0.0f, alpha * (fast_exp(v) - 1.0f), v); });
    case Step::Kind::kGate:
      return each(y, n, [=](float v) {
        const float gate = alpha * v + beta, above = select(gate < 0.0f, 0.0f, gate);
        return select(above > 1.0f, 1.0f, above);
      });
    case Step::Kind::kAdd:
      return with(y, other, s.scalar, n, [](float a, float b) { return a + b; });
    case Step::Kind::kMul:
      return with(y, other, s.scalar, n, [](float a, float b) { return a * b; });
    case Step::Kind::kMax:
      return with(y, other, s.scalar, n, larger);
    case Step::Kind::kMin:
      return with(y, other, s.scalar, n, smaller);
    case Step::Kind::kSub:
      return with(y, other, s.scalar, n, [](float a, float b) { return a - b; });
    case Step::Kind::kDiv:
      return with(y, other, s.scalar, n, [](float a, float b) { return a / b; });
    case Step::Kind::kSubFrom:
      return with(y, other, s.scalar, n, [](float a, float b) { return b - a; });
    case Step::Kind::kDivInto:
      return with(y, other, s.scalar, n, [](float a, float b) { return b / a; });
  }
}

void chain(const Chain& c, const float* x, int64_t ldx, float* y, int64_t ldy, int64_t row, int64_t rows,
           int64_t column, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < columns; j += kLine) {
      const int64_t n = least(columns - j, kLine);
      float* line = y + r * ldy + j;
      if (x + r * ldx + j != line) __builtin_memcpy(line, x + r * ldx + j, static_cast<uint64_t>(n) * 4);
      apply(c, line, ldy, row + r, 1, column + j, n);
    }
  }
}

Compute make_compute() {
  Compute out{};
  fill_panels(out);
  fill_dots(out);
  fill_groups(out);
  fill_windows(out);
  fill_winograd(out);
  fill_chain(out);
  return out;
}

}  // namespace

void apply(const Chain& chain, float* y, int64_t ld, int64_t row, int64_t rows, int64_t column,
           int64_t columns) {
  for (int i = 0; i < chain.count; ++i) {
    const Step& s = chain.steps[i];
    for (int64_t r = 0; r < rows; ++r) {
      const float* other = nullptr;
      if (s.other != nullptr) other = s.other + (row + r) / s.group * s.ld + (s.scalar ? 0 : column);
      step_line(s, y + r * ld, other, columns);
    }
  }
}

void fill_chain(Compute& c) { c.chain = chain; }

}  // namespace TENON_ISA_NAMESPACE

const Compute& TENON_ISA_JOIN_(compute_, TENON_ISA)() {
  static const Compute compute = TENON_ISA_NAMESPACE::make_compute();
  return compute;
}

}  // namespace tenon::cpu::isa
