// Atomic operations. They are real ones, as kernels of several streams may run at once.
#pragma once

template <class T>
FAKE_CUDA_UNSEEN T fake_cuda_exchange_if(T* at, T expected, T value) {
#if FAKE_CUDA_RACES
  fake_cuda_touch(at, sizeof(T), 4);
#endif
  __atomic_compare_exchange(at, &expected, &value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}
template <class T>
FAKE_CUDA_UNSEEN T fake_cuda_read_atomic(T* at) {
  T out;
  __atomic_load(at, &out, __ATOMIC_SEQ_CST);
  return out;
}
/// Replaces *at by change(*at), and returns what it was.
template <class T, class Bits, class Change>
inline T fake_cuda_change(T* at, Change change) {
  static_assert(sizeof(T) == sizeof(Bits), "");
  Bits* bits = reinterpret_cast<Bits*>(at);
  Bits before = fake_cuda_read_atomic(bits);
  for (;;) {
    T value;
    __builtin_memcpy(&value, &before, sizeof(T));
    const T changed = change(value);
    Bits after;
    __builtin_memcpy(&after, &changed, sizeof(T));
    const Bits seen = fake_cuda_exchange_if(bits, before, after);
    if (seen == before) return value;
    before = seen;
  }
}

#define FAKE_CUDA_ATOMIC(name, type, bits, expression)                                     \
  inline type name(type* at, type value) {                                                 \
    return fake_cuda_change<type, bits>(at, [=](type old) -> type { return expression; }); \
  }
#define FAKE_CUDA_ATOMICS_OF(type, bits)               \
  FAKE_CUDA_ATOMIC(atomicAdd, type, bits, old + value) \
  FAKE_CUDA_ATOMIC(atomicExch, type, bits, value)
#define FAKE_CUDA_INTEGER_ATOMICS_OF(type, bits)                     \
  FAKE_CUDA_ATOMICS_OF(type, bits)                                   \
  FAKE_CUDA_ATOMIC(atomicMin, type, bits, old < value ? old : value) \
  FAKE_CUDA_ATOMIC(atomicMax, type, bits, old > value ? old : value) \
  FAKE_CUDA_ATOMIC(atomicAnd, type, bits, old& value)                \
  FAKE_CUDA_ATOMIC(atomicOr, type, bits, old | value)                \
  FAKE_CUDA_ATOMIC(atomicXor, type, bits, old ^ value)
FAKE_CUDA_INTEGER_ATOMICS_OF(int, unsigned)
FAKE_CUDA_INTEGER_ATOMICS_OF(unsigned, unsigned)
FAKE_CUDA_INTEGER_ATOMICS_OF(unsigned long long, unsigned long long)
FAKE_CUDA_ATOMICS_OF(float, unsigned)
FAKE_CUDA_ATOMICS_OF(double, unsigned long long)
FAKE_CUDA_ATOMIC(atomicMin, long long, unsigned long long, old < value ? old : value)
FAKE_CUDA_ATOMIC(atomicMax, long long, unsigned long long, old > value ? old : value)
FAKE_CUDA_ATOMIC(atomicSub, int, unsigned, old - value)
FAKE_CUDA_ATOMIC(atomicSub, unsigned, unsigned, old - value)
FAKE_CUDA_ATOMIC(atomicInc, unsigned, unsigned, old >= value ? 0 : old + 1)
FAKE_CUDA_ATOMIC(atomicDec, unsigned, unsigned, old == 0 || old > value ? value : old - 1)

#define FAKE_CUDA_CAS(type)                                    \
  inline type atomicCAS(type* at, type expected, type value) { \
    return fake_cuda_exchange_if(at, expected, value);         \
  }
FAKE_CUDA_CAS(int)
FAKE_CUDA_CAS(unsigned)
FAKE_CUDA_CAS(unsigned long long)
FAKE_CUDA_CAS(unsigned short)
