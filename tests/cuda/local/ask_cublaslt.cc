// Prints what a cuBLASLt answers without a device: versions, texts, and the rules of its descriptors.
#include <cublasLt.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "ask.h"

#define ASKED(name) const auto name = lib.function<decltype(::name)>(#name)

namespace {

using ask::line;

constexpr size_t kSizes[] = {0, 1, 2, 4, 8, 16};

/// Sizes that setting an attribute takes, and what it is before.
template <class Handle, class Name, class Set, class Get>
void ask_attribute(const char* of, int name, Handle handle, Set set, Get get) {
  int64_t value[4] = {}, before[4] = {};
  size_t size = 77;
  const int answer = get(handle, static_cast<Name>(name), nullptr, 0, &size);
  line(of, name, "size", answer, size);
  for (const size_t bytes : kSizes) {
    size_t written = 77;
    const int got = get(handle, static_cast<Name>(name), before, bytes, &written);
    const int no_count = get(handle, static_cast<Name>(name), before, bytes, nullptr);
    const int nowhere = get(handle, static_cast<Name>(name), nullptr, bytes == 0 ? 4 : bytes, &written);
    const int set_it = set(handle, static_cast<Name>(name), bytes == size ? before : value, bytes);
    const int set_nothing = set(handle, static_cast<Name>(name), nullptr, bytes);
    line(of, name, "bytes", bytes, got, written, no_count, nowhere, set_it, set_nothing);
  }
  if (answer == 0 && size <= 8) {
    int64_t number = 0;
    get(handle, static_cast<Name>(name), &number, size, nullptr);
    line(of, name, "default", number);
    for (const int64_t other : {int64_t{1}, int64_t{5}, int64_t{1000}, int64_t{-1}})
      line(of, name, "takes", other, set(handle, static_cast<Name>(name), &other, size));
  }
  line(of, name, "without a descriptor", set(nullptr, static_cast<Name>(name), value, 4));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const ask::Library lib(arguments[1]);
  ASKED(cublasLtGetVersion);
  ASKED(cublasLtGetCudartVersion);
  ASKED(cublasLtGetStatusName);
  ASKED(cublasLtGetStatusString);
  ASKED(cublasLtGetProperty);
  ASKED(cublasLtCreate);
  ASKED(cublasLtDestroy);
  ASKED(cublasLtHeuristicsCacheGetCapacity);
  ASKED(cublasLtMatmul);
  ASKED(cublasLtMatmulAlgoGetHeuristic);
  ASKED(cublasLtMatmulDescCreate);
  ASKED(cublasLtMatmulDescDestroy);
  ASKED(cublasLtMatmulDescSetAttribute);
  ASKED(cublasLtMatmulDescGetAttribute);
  ASKED(cublasLtMatmulDescInit_internal);
  ASKED(cublasLtMatrixLayoutCreate);
  ASKED(cublasLtMatrixLayoutDestroy);
  ASKED(cublasLtMatrixLayoutSetAttribute);
  ASKED(cublasLtMatrixLayoutGetAttribute);
  ASKED(cublasLtMatrixLayoutInit_internal);
  ASKED(cublasLtMatmulPreferenceCreate);
  ASKED(cublasLtMatmulPreferenceDestroy);
  ASKED(cublasLtMatmulPreferenceSetAttribute);
  ASKED(cublasLtMatmulPreferenceGetAttribute);
  ASKED(cublasLtMatmulPreferenceInit_internal);

  line("version", cublasLtGetVersion(), "runtime", cublasLtGetCudartVersion());
  for (int status = -1; status < 20; ++status) {
    const auto code = static_cast<cublasStatus_t>(status);
    line("status", status, cublasLtGetStatusName(code), cublasLtGetStatusString(code));
  }
  for (int property = 0; property < 5; ++property) {
    int value = -1;
    const int answer = cublasLtGetProperty(static_cast<libraryPropertyType>(property), &value);
    line("property", property, answer, value);
  }
  size_t capacity = 0;
  line("cache", cublasLtHeuristicsCacheGetCapacity(&capacity), capacity,
       cublasLtHeuristicsCacheGetCapacity(nullptr));

  line("create nowhere", cublasLtCreate(nullptr),
       cublasLtMatmulDescCreate(nullptr, CUBLAS_COMPUTE_32F, CUDA_R_32F),
       cublasLtMatrixLayoutCreate(nullptr, CUDA_R_32F, 1, 1, 1), cublasLtMatmulPreferenceCreate(nullptr));
  line("destroy nothing", cublasLtDestroy(nullptr), cublasLtMatmulDescDestroy(nullptr),
       cublasLtMatrixLayoutDestroy(nullptr), cublasLtMatmulPreferenceDestroy(nullptr));
  for (const int compute : {0, 64, 65, 68, 69, 70, 72, 74, 75, 77, 79}) {
    for (const int scale : {0, 1, 2, 3, 10, 14, 99, -1}) {
      cublasLtMatmulDesc_t made = nullptr;
      const int answer = cublasLtMatmulDescCreate(&made, static_cast<cublasComputeType_t>(compute),
                                                  static_cast<cudaDataType_t>(scale));
      line("operation", compute, scale, answer, cublasLtMatmulDescDestroy(made));
    }
  }
  for (const int64_t leading : {-1, 0, 3, 5, 8}) {
    for (const uint64_t rows : {0, 5}) {
      cublasLtMatrixLayout_t made = nullptr;
      const int answer = cublasLtMatrixLayoutCreate(&made, CUDA_R_16F, rows, 7, leading);
      line("layout", rows, leading, answer, cublasLtMatrixLayoutDestroy(made));
    }
  }
  std::vector<uint64_t> memory(64);
  line(
      "init",
      cublasLtMatmulDescInit_internal(reinterpret_cast<cublasLtMatmulDesc_t>(memory.data()), 8,
                                      CUBLAS_COMPUTE_32F, CUDA_R_32F),
      cublasLtMatmulDescInit_internal(reinterpret_cast<cublasLtMatmulDesc_t>(memory.data()), 256,
                                      CUBLAS_COMPUTE_32F, CUDA_R_32F),
      cublasLtMatrixLayoutInit_internal(reinterpret_cast<cublasLtMatrixLayout_t>(memory.data()), 56,
                                        CUDA_R_32F, 1, 1, 1),
      cublasLtMatrixLayoutInit_internal(reinterpret_cast<cublasLtMatrixLayout_t>(memory.data()), 64,
                                        CUDA_R_32F, 1, 1, 1),
      cublasLtMatmulPreferenceInit_internal(reinterpret_cast<cublasLtMatmulPreference_t>(memory.data()), 56),
      cublasLtMatmulPreferenceInit_internal(reinterpret_cast<cublasLtMatmulPreference_t>(memory.data()), 64));

  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t layout = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 5, 7, 9);
  cublasLtMatmulPreferenceCreate(&preference);
  for (int name = -1; name < 42; ++name)
    ask_attribute<cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t>(
        "operation", name, operation, cublasLtMatmulDescSetAttribute, cublasLtMatmulDescGetAttribute);
  for (int name = -1; name < 12; ++name)
    ask_attribute<cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t>(
        "layout", name, layout, cublasLtMatrixLayoutSetAttribute, cublasLtMatrixLayoutGetAttribute);
  for (int name = -1; name < 15; ++name)
    ask_attribute<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t>(
        "preference", name, preference, cublasLtMatmulPreferenceSetAttribute,
        cublasLtMatmulPreferenceGetAttribute);

  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  line("heuristic without a handle",
       cublasLtMatmulAlgoGetHeuristic(nullptr, operation, layout, layout, layout, layout, preference, 1,
                                      &result, &found));
  line("product without a handle",
       cublasLtMatmul(nullptr, operation, nullptr, nullptr, layout, nullptr, layout, nullptr, nullptr, layout,
                      nullptr, layout, nullptr, nullptr, 0, nullptr));
  return 0;
}
