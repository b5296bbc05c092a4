// One register of floats, as wide as the instruction set has them.
#pragma once

#include <cstdint>

#include "isa/parts.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {

#if defined(__AVX512F__)
#define TENON_ISA_BYTES 64
#elif defined(__AVX2__)
#define TENON_ISA_BYTES 32
#else
#define TENON_ISA_BYTES 16
#endif

typedef float Floats __attribute__((vector_size(TENON_ISA_BYTES)));
constexpr int64_t kFloats = TENON_ISA_BYTES / 4;

static inline Floats load(const float* from) {
  Floats out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}
static inline void store(float* to, Floats value) { __builtin_memcpy(to, &value, sizeof value); }
static inline Floats all_of(float value) { return Floats{} + value; }

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
