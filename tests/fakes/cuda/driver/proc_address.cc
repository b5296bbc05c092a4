// Looking functions up by name.
#include <cstring>

#include "call.h"
#include "functions.h"
#include "library_work.h"

namespace fake_cuda {
namespace {

struct Entry {
  const char* name;      // that programs write
  const char* exported;  // of the current version
  void* function;
};

#define FAKE_CUDA_TEXT_OF(name) #name
#define FAKE_CUDA_TEXT(name) FAKE_CUDA_TEXT_OF(name)
#define FAKE_CUDA_ENTRY(name) {#name, FAKE_CUDA_TEXT(name), reinterpret_cast<void*>(&name)},

const Entry kFunctions[] = {FAKE_CUDA_FUNCTIONS(FAKE_CUDA_ENTRY) FAKE_CUDA_ENTRY(tenon_fake_cuda_enqueue)};

}  // namespace
}  // namespace fake_cuda

CUresult cuGetProcAddress(const char* symbol, void** out, int version, cuuint64_t,
                          CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = nullptr;
  if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  for (const auto& entry : fake_cuda::kFunctions) {
    if (std::strcmp(entry.name, symbol) != 0 && std::strcmp(entry.exported, symbol) != 0) continue;
    // Older versions had other prototypes, which the stand-in lacks.
    constexpr int kOldest = 12000;
    if (version < kOldest) {
      if (status != nullptr) *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
      return CUDA_ERROR_NOT_FOUND;
    }
    *out = entry.function;
    if (status != nullptr) *status = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}
