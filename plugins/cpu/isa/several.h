// Several registers in the place of one: each step of a function is taken for all of them before the next step, so that
// none of them waits for its own last result.
#pragma once

#include "isa/vector.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {

template <class T, int kCount>
struct Several {
  T at[kCount];
};

/// How many registers an argument stands for; 0 for one that all of them share.
template <class T>
inline constexpr int kSeveral = 0;
template <class T, int kCount>
inline constexpr int kSeveral<Several<T, kCount>> = kCount;

template <class T>
TENON_INLINED static inline T part_of(T shared, int) {
  return shared;
}
template <class T, int kCount>
TENON_INLINED static inline T part_of(const Several<T, kCount>& x, int i) {
  return x.at[i];
}

template <class... A>
concept HasSeveral = (kSeveral<A> + ... + 0) > 0;

/// f of each register. Arguments that stand for several stand for equally many.
template <class F, class First, class... Rest>
TENON_INLINED static inline auto for_each_of(F f, const First& first, const Rest&... rest) {
  constexpr int kCount = (kSeveral<First> | ... | kSeveral<Rest>);
  Several<decltype(f(part_of(first, 0), part_of(rest, 0)...)), kCount> out;
  each_of<kCount>([&](auto i) TENON_INLINED { out.at[i] = f(part_of(first, i), part_of(rest, i)...); });
  return out;
}

/// Makes a function of registers one of several.
#define TENON_ISA_SEVERAL_(name)                                                         \
  template <class... A>                                                                  \
  requires HasSeveral<A...> TENON_INLINED static inline auto name(const A&... a) {       \
    return for_each_of([](const auto&... x) TENON_INLINED { return name(x...); }, a...); \
  }
#define TENON_ISA_SEVERAL_OPERATOR_(sign)                                                            \
  template <class A, class B>                                                                        \
  requires HasSeveral<A, B> TENON_INLINED static inline auto operator sign(const A& a, const B& b) { \
    return for_each_of([](const auto& x, const auto& y) TENON_INLINED { return x sign y; }, a, b);   \
  }
TENON_ISA_SEVERAL_OPERATOR_(+)
TENON_ISA_SEVERAL_OPERATOR_(-)
TENON_ISA_SEVERAL_OPERATOR_(*)
TENON_ISA_SEVERAL_OPERATOR_(/)
#undef TENON_ISA_SEVERAL_OPERATOR_

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
