#include "tests/cuda/provider/interposed.h"

#include <atomic>
#include <string_view>
#include <type_traits>

#include "plugins/cuda/api.h"
#include "plugins/cuda/cublas_lt_api.h"
#include "plugins/cuda/cudnn_api.h"
#include "tests/support/real_dlsym.h"

namespace tenon::test {
namespace {

#if !TENON_CUDA_HAS_CUDNN
#define TENON_CUDNN_FUNCTIONS(X)
#endif
#define COUNTED_FUNCTIONS(X) \
  TENON_CUDA_FUNCTIONS(X) TENON_NVRTC_FUNCTIONS(X) TENON_CUBLAS_LT_FUNCTIONS(X) TENON_CUDNN_FUNCTIONS(X)
#define TEXT_OF(function) #function
#define SYMBOL(function) TEXT_OF(function)  // behind the version macros of cuda.h

enum Index : size_t {
#define ENUMERATOR(function) k_##function,
  COUNTED_FUNCTIONS(ENUMERATOR)
#undef ENUMERATOR
      kCount
};

struct Function {
  const char* name;    // in cuda.h
  const char* symbol;  // in the library
  std::atomic<int> calls{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<void*> real{nullptr};
};
// The argument of a macro is not expanded where it is made text.
#define ROW(function) {#function, SYMBOL(function)},
Function functions[kCount] = {COUNTED_FUNCTIONS(ROW)};
#undef ROW

/// Sizes are the only arguments of this type: addresses on the device are unsigned long long.
template <class T>
uint64_t bytes_in(const T& argument) {
  if constexpr (std::is_same_v<T, size_t>) return argument;
  return 0;
}

template <Index kIndex, class F>
struct Counting;
template <Index kIndex, class R, class... A>
struct Counting<kIndex, R (*)(A...)> {
  static R call(A... arguments) {
    Function& function = functions[kIndex];
    ++function.calls;
    function.bytes += (uint64_t{0} + ... + bytes_in(arguments));
    return reinterpret_cast<R (*)(A...)>(function.real.load())(arguments...);
  }
};

void* counting(std::string_view symbol, void* real) {
#define CASE(function)                                                                   \
  if (symbol == SYMBOL(function)) {                                                      \
    functions[k_##function].real = real;                                                 \
    return reinterpret_cast<void*>(Counting<k_##function, decltype(&::function)>::call); \
  }
  COUNTED_FUNCTIONS(CASE)
#undef CASE
  return real;
}

}  // namespace

CudaCalls cuda_calls() {
  CudaCalls out;
  for (const Function& function : functions) {
    if (function.calls != 0) out.count[function.name] = function.calls;
    if (function.bytes != 0) out.bytes[function.name] = function.bytes;
  }
  return out;
}

void reset_cuda_calls() {
  for (Function& function : functions) function.calls = 0, function.bytes = 0;
}

}  // namespace tenon::test

extern "C" __attribute__((visibility("default"))) void* dlsym(void* handle, const char* name) noexcept {
  const tenon::test::Dlsym real = tenon::test::real_dlsym();
  void* const found = real == nullptr ? nullptr : real(handle, name);
  return found == nullptr ? nullptr : tenon::test::counting(name, found);
}
