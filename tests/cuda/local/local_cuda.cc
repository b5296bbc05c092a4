#include "local_cuda.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace {

using local_cuda::Call;

constexpr size_t kBorder = 256;
constexpr unsigned char kNan = 0xff;

std::vector<Call> calls;
char first_context;
CUcontext context = reinterpret_cast<CUcontext>(&first_context);
CUresult next = CUDA_SUCCESS;

/// A copy of a range, with a border on both sides.
struct Copy {
  std::vector<unsigned char> bytes;

  explicit Copy(const tenon_fake_range& from) : bytes(from.bytes + 2 * kBorder, kNan) {
    if (from.bytes != 0) std::memcpy(begin(), reinterpret_cast<const void*>(from.address), from.bytes);
  }
  unsigned char* begin() { return bytes.data() + kBorder; }
  bool is_border_whole() const {
    const auto is_nan = [](unsigned char byte) { return byte == kNan; };
    return std::all_of(bytes.begin(), bytes.begin() + kBorder, is_nan) &&
           std::all_of(bytes.end() - kBorder, bytes.end(), is_nan);
  }
};

std::string run(const Call& call, const void* arguments, size_t argument_bytes) {
  void* const library = dlopen(call.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "the library of the work cannot be opened";
  const auto work = reinterpret_cast<tenon_fake_work>(dlsym(library, call.function.c_str()));
  if (work == nullptr) return "the function of the work is not exported";
  std::vector<Copy> copies;
  copies.reserve(call.ranges.size());
  std::vector<void*> memory;
  for (const tenon_fake_range& range : call.ranges) {
    copies.emplace_back(range);
    memory.push_back(copies.back().begin());
  }
  std::vector<std::max_align_t> own(argument_bytes / sizeof(std::max_align_t) + 1);
  std::memcpy(own.data(), arguments, argument_bytes);
  if (const char* const error = work(memory.data(), own.data(), argument_bytes); error != nullptr)
    return error;
  for (size_t i = 0; i < copies.size(); ++i) {
    if (!copies[i].is_border_whole()) return "the work wrote beside a range";
    const tenon_fake_range& range = call.ranges[i];
    if (range.writes != 0)
      std::memcpy(reinterpret_cast<void*>(range.address), copies[i].begin(), range.bytes);
  }
  return {};
}

}  // namespace

#define EXPORTED __attribute__((visibility("default")))

extern "C" {

EXPORTED std::vector<Call>* local_cuda_take_calls() {
  static std::vector<Call> taken;
  taken = std::exchange(calls, {});
  return &taken;
}
EXPORTED void local_cuda_set_context(CUcontext current) { context = current; }
EXPORTED void local_cuda_fail_next(CUresult result) { next = result; }

EXPORTED CUresult cuCtxGetCurrent(CUcontext* out) {
  *out = context;
  return CUDA_SUCCESS;
}

EXPORTED CUresult tenon_fake_cuda_enqueue(CUstream stream, const char* library, const char* function,
                                          const char* label, const tenon_fake_range* ranges,
                                          size_t range_count, const void* arguments, size_t argument_bytes) {
  if (next != CUDA_SUCCESS) return std::exchange(next, CUDA_SUCCESS);
  Call call{library, function, label, {ranges, ranges + range_count}, stream, {}};
  call.error = run(call, arguments, argument_bytes);
  const bool failed = !call.error.empty();
  calls.push_back(std::move(call));
  return failed ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS;
}

}  // extern "C"
