// What the device's process has (device/kernel_abi.h), and how it calls a kernel.
#pragma once

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct fake_cuda_dims {
  unsigned x, y, z;
  operator dim3() const { return dim3(x, y, z); }
};

#define FAKE_CUDA_TLS __attribute__((tls_model("initial-exec"), visibility("default")))
extern "C" {
extern __thread uint3 threadIdx __asm__("fake_cuda_thread_index") FAKE_CUDA_TLS;
extern __thread uint3 blockIdx __asm__("fake_cuda_block_index") FAKE_CUDA_TLS;
extern __thread fake_cuda_dims blockDim __asm__("fake_cuda_block_size") FAKE_CUDA_TLS;
extern __thread fake_cuda_dims gridDim __asm__("fake_cuda_grid_size") FAKE_CUDA_TLS;
extern __thread void* fake_cuda_dynamic_shared FAKE_CUDA_TLS;

int fake_cuda_next_thread();
int fake_cuda_barrier(int predicate, int result);
void fake_cuda_collective(unsigned mask, const void* kind, void* lane,
                          void (*resolve)(void* const*, unsigned));
[[noreturn]] void fake_cuda_trap(const char* why);
void fake_cuda_touch(const void* address, unsigned bytes, int kind);

void* memcpy(void*, const void*, size_t);
void* memset(void*, int, size_t);
void* memmove(void*, const void*, size_t);
}
constexpr int warpSize = 32;

/// `extern __shared__ T name[];` outside of functions.
template <class T>
struct fake_cuda_dynamic {
  operator T*() const { return static_cast<T*>(fake_cuda_dynamic_shared); }
  T& operator[](size_t i) const { return static_cast<T*>(fake_cuda_dynamic_shared)[i]; }
};

/// Accesses to memory that the compiler is not to report, as the function reports them itself.
#if FAKE_CUDA_RACES
#define FAKE_CUDA_UNSEEN __attribute__((noinline, no_sanitize("thread")))
#else
#define FAKE_CUDA_UNSEEN FAKE_CUDA
#endif

// ---- Kernels ----

struct fake_cuda_info {
  char name[320];
  unsigned max_threads, parameter_count;
  struct {
    unsigned short offset, bytes, align, kind;
  } parameters[128];
};

template <class T>
struct fake_cuda_kind {
  static constexpr unsigned short value = 0;
};
template <class T>
struct fake_cuda_kind<const T*> {
  static constexpr unsigned short value = 1;
};
template <class T>
struct fake_cuda_kind<T*> {
  static constexpr unsigned short value = 2;
};
template <class T>
struct fake_cuda_kind<const T* __restrict__> {
  static constexpr unsigned short value = 1;
};
template <class T>
struct fake_cuda_kind<T* __restrict__> {
  static constexpr unsigned short value = 2;
};

template <size_t... I>
struct fake_cuda_indices {};

template <class... A>
struct fake_cuda_arguments {
  static constexpr unsigned count = sizeof...(A);
  static constexpr size_t sizes[count + 1] = {sizeof(A)..., 0};
  static constexpr size_t aligns[count + 1] = {alignof(A)..., 1};
  static constexpr unsigned short kinds[count + 1] = {fake_cuda_kind<A>::value..., 0};
  static constexpr size_t offset(size_t index) {
    size_t at = 0;
    for (size_t i = 0; i <= index; ++i) {
      at = (at + aligns[i] - 1) / aligns[i] * aligns[i];
      if (i < index) at += sizes[i];
    }
    return at;
  }
  static constexpr fake_cuda_info info(const char* name, unsigned max_threads) {
    static_assert(count <= 128, "too many parameters");
    fake_cuda_info out{};
    for (int i = 0; name[i] != 0; ++i) out.name[i] = name[i];
    out.max_threads = max_threads;
    out.parameter_count = count;
    for (unsigned i = 0; i < count; ++i) {
      out.parameters[i].offset = static_cast<unsigned short>(offset(i));
      out.parameters[i].bytes = static_cast<unsigned short>(sizes[i]);
      out.parameters[i].align = static_cast<unsigned short>(aligns[i]);
      out.parameters[i].kind = kinds[i];
    }
    return out;
  }
};

template <class... A>
constexpr fake_cuda_info fake_cuda_info_of(void (*)(A...), const char* name, unsigned max_threads = 0,
                                           unsigned = 0, unsigned = 0) {
  return fake_cuda_arguments<A...>::info(name, max_threads);
}

template <auto kKernel, class... A, size_t... I>
FAKE_CUDA void fake_cuda_call(const unsigned char* arguments, void (*)(A...), fake_cuda_indices<I...>) {
  do {
    kKernel(*reinterpret_cast<const A*>(arguments + fake_cuda_arguments<A...>::offset(I))...);
  } while (fake_cuda_next_thread() != 0);
}
template <auto kKernel, class... A>
FAKE_CUDA void fake_cuda_run(const unsigned char* arguments, void (*kernel)(A...)) {
  fake_cuda_call<kKernel>(arguments, kernel, fake_cuda_indices<__integer_pack(sizeof...(A))...>());
}
