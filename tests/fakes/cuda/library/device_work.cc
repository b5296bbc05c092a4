#include "device_work.h"

#include <dlfcn.h>

#include <cstdlib>

namespace fake_cuda {
namespace {

struct Driver {
  decltype(&tenon_fake_cuda_enqueue) enqueue = nullptr;
  decltype(&cuCtxGetCurrent) current = nullptr;
};

/// The driver that the process has loaded already, as programs load it before its libraries.
const Driver& driver() {
  static const Driver found = [] {
    Driver out;
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return out;
    out.enqueue = reinterpret_cast<decltype(out.enqueue)>(dlsym(library, "tenon_fake_cuda_enqueue"));
    out.current = reinterpret_cast<decltype(out.current)>(dlsym(library, "cuCtxGetCurrent"));
    return out;
  }();
  return found;
}

}  // namespace

CUcontext current_context() {
  CUcontext out = nullptr;
  // A driver of NVIDIA's cannot run the work.
  if (driver().enqueue == nullptr || driver().current == nullptr) return nullptr;
  return driver().current(&out) == CUDA_SUCCESS ? out : nullptr;
}

int compute_capability() {
  const char* const set = std::getenv("TENON_FAKE_CUDA_CC");
  if (set == nullptr || *set == '\0') return 90;
  char* end = nullptr;
  const long major = std::strtol(set, &end, 10);
  const long minor = *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0;
  return static_cast<int>(major * 10 + minor);
}

DeviceWork::DeviceWork(tenon_fake_work function, const char* name, const char* label)
    : function_(function), name_(name), label_(label) {}

int DeviceWork::add(const void* address, int64_t bytes, int writes) {
  ranges_.push_back({reinterpret_cast<CUdeviceptr>(address), static_cast<size_t>(bytes), writes});
  return static_cast<int>(ranges_.size()) - 1;
}

CUresult DeviceWork::enqueue(CUstream stream, const void* arguments, size_t bytes) const {
  Dl_info library{};
  if (driver().enqueue == nullptr || dladdr(reinterpret_cast<const void*>(function_), &library) == 0)
    return CUDA_ERROR_NOT_INITIALIZED;
  return driver().enqueue(stream, library.dli_fname, name_, label_, ranges_.data(), ranges_.size(), arguments,
                          bytes);
}

}  // namespace fake_cuda
