#include "deep_stack.h"

#include <exception>

#if defined(_WIN32)
#include <thread>
#else
#include <pthread.h>
#endif

#include "tenon/ep/error.hpp"

namespace tenon::cuda {
namespace {

struct DeepCall {
  const std::function<void()>& body;
  std::exception_ptr failure = nullptr;
};

void* run_deep(void* raw) {
  auto& call = *static_cast<DeepCall*>(raw);
  try {
    call.body();
  } catch (...) {
    call.failure = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void with_deep_stack(const std::function<void()>& body) {
  DeepCall call{body};
#if defined(_WIN32)
  std::thread(run_deep, &call).join();
#else
  constexpr size_t kDeepStack = size_t{16} << 20;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kDeepStack);
  pthread_t thread{};
  const int code = pthread_create(&thread, &attributes, run_deep, &call);
  pthread_attr_destroy(&attributes);
  ep::require(code == 0, TENON_RESOURCE_EXHAUSTED, "cannot start a thread to compile kernels");
  pthread_join(thread, nullptr);
#endif
  if (call.failure) std::rethrow_exception(call.failure);
}

}  // namespace tenon::cuda
