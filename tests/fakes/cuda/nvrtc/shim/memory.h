// Loads and stores with a hint, and fences.
#pragma once

#define FAKE_CUDA_LOAD(name)      \
  template <class T>              \
  FAKE_CUDA T name(const T* at) { \
    return *at;                   \
  }
FAKE_CUDA_LOAD(__ldg)
FAKE_CUDA_LOAD(__ldcg)
FAKE_CUDA_LOAD(__ldca)
FAKE_CUDA_LOAD(__ldcs)
FAKE_CUDA_LOAD(__ldlu)
FAKE_CUDA_LOAD(__ldcv)
#define FAKE_CUDA_STORE(name)           \
  template <class T>                    \
  FAKE_CUDA void name(T* at, T value) { \
    *at = value;                        \
  }
FAKE_CUDA_STORE(__stwb)
FAKE_CUDA_STORE(__stcg)
FAKE_CUDA_STORE(__stcs)
FAKE_CUDA_STORE(__stwt)

FAKE_CUDA void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
FAKE_CUDA void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
FAKE_CUDA void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

FAKE_CUDA void __trap() { fake_cuda_trap("__trap()"); }
FAKE_CUDA void __brkpt() {}
#define assert(condition) ((condition) ? (void)0 : fake_cuda_trap("assertion failed: " #condition))
FAKE_CUDA void __nanosleep(unsigned) {}
FAKE_CUDA long long clock64() { return static_cast<long long>(__builtin_ia32_rdtsc()); }
FAKE_CUDA int clock() { return static_cast<int>(clock64()); }
