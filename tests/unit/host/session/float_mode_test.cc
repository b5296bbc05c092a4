// The application's floating-point mode: no kernel sees it, and it is the same afterwards.
#include <cfenv>
#include <thread>

#include "host/services/float_mode.h"
#include "host/session/slots.h"
#include "tests/unit/host/session/session_case.h"

#if defined(__SSE2__)
#include <pmmintrin.h>
#include <xmmintrin.h>
#endif

namespace tenon::test {
namespace {

/// y = 1/3 of x and what follows of it; wide enough for several threads.
std::string thirds() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({1 << 16}));
  m.output(m.node("Div", {x, m.constant("three", {1}, {3})}), "y");
  m.output(m.node("Mul", {m.constant("folded", {1}, {1e-39f}), m.constant("by", {1}, {1})}), "z");
  return m.bytes();
}

std::vector<std::vector<float>> results(const std::string& bytes) {
  const auto session = make_session(bytes);
  if (session == nullptr) return {};
  const std::vector<float> ones(1 << 16, 1.0f);
  const std::vector<ValueRef> made = run(*session, {{"x", f32({1 << 16}, ones)}});
  session::Slots slots(session);
  const ValueRef x = f32({1 << 16}, ones);
  EXPECT_TRUE(slots.bind_input(0, x->tensor).ok());
  EXPECT_TRUE(slots.run({}).ok());
  const tenon_tensor y = *slots.output(0);
  const auto* data = static_cast<const float*>(y.data);
  return {floats(made[0]), floats(made[1]), {data, data + (1 << 16)}};
}

TEST(FloatMode, OfTheCallerReachesNoKernelAndStays) {
  const std::vector<std::vector<float>> right = results(thirds());
  for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(rounding);
    const std::vector<std::vector<float>> made = results(thirds());
    EXPECT_EQ(std::fegetround(), rounding);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(made, right) << rounding;
  }
}

#if defined(__SSE2__)
TEST(FloatMode, FlushingAndExceptionsOfTheCallerStay) {
  const std::vector<std::vector<float>> right = results(thirds());
  const uint32_t before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush results and operands to zero
  const std::vector<std::vector<float>> made = results(thirds());
  EXPECT_EQ(_mm_getcsr() & ~0x3Fu, (before | 0x8040) & ~0x3Fu);
  _mm_setcsr(before);
  EXPECT_EQ(made, right);
}
#endif

TEST(FloatMode, WhatAProviderChangesEndsWithTheScope) {
  {
    const runtime::FloatMode mode;
    std::fesetround(FE_UPWARD);
  }
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

}  // namespace
}  // namespace tenon::test
