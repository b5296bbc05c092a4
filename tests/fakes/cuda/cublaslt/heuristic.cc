// Which algorithms there are for a product.
#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "algorithms.h"
#include "handle.h"

using namespace fake_cublaslt;

namespace {

constexpr float kBlocksAtOnce = 132;

float waves_of(const Problem& p) {
  const auto blocks = [](int64_t count) { return static_cast<float>((count + 127) / 128); };
  return blocks(p.work.rows) * blocks(p.work.columns) * static_cast<float>(p.work.batch) / kBlocksAtOnce;
}

/// Pointers are as aligned as the preference says, and strides as they are.
bool is_preferred(const Algorithm& algorithm, const Problem& p, const Preference& preference) {
  const uint32_t needed = alignment_of(algorithm);
  for (const uint32_t alignment : preference.alignment) {
    if (alignment < needed) return false;
  }
  const int64_t of_bias = p.bytes_of(p.work.bias);
  if (of_bias != 0 && reinterpret_cast<uintptr_t>(p.operation->bias) % static_cast<uintptr_t>(of_bias) != 0)
    return false;
  uint64_t flags = 0;
  cublasLtMatmulAlgo_t algo{};
  std::memcpy(&algo, &algorithm, sizeof(algorithm));
  cublasLtMatmulAlgoCapGetAttribute(&algo, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags, sizeof(flags),
                                    nullptr);
  if ((flags & preference.implementations) == 0) return false;
  if (preference.waves > 0 && waves_of(p) > preference.waves) return false;
  return (algorithm.reduction & ~preference.reductions) == 0 &&
         workspace_of(algorithm, p) <= preference.workspace;
}

void write_result(const Algorithm& algorithm, const Problem& p, cublasLtMatmulHeuristicResult_t* to) {
  *to = {};
  std::memcpy(&to->algo, &algorithm, sizeof(algorithm));
  to->workspaceSize = workspace_of(algorithm, p);
  to->state = CUBLAS_STATUS_SUCCESS;
  to->wavesCount = waves_of(p);
}

bool is_known(int id) {
  return id == kSimt || id == kSimtSplit || id == kTensorCore || id == kTensorCoreStream;
}

bool can_multiply(int id, int compute, int a) {
  if (a == CUDA_R_8I) return id == kTensorCore;
  const bool is_exact =
      a == CUDA_R_32F && (compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC);
  return id == kSimt || id == kSimtSplit || !is_exact;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preferred, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* returned) {
  if (!is_usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Preference* const preference = preference_of(preferred);
  if (preference == nullptr || requested <= 0 || results == nullptr || returned == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  for (const uint32_t alignment : preference->alignment) {
    if (!std::has_single_bit(alignment)) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (preference->search > CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID) return CUBLAS_STATUS_NOT_SUPPORTED;
  Problem problem;
  if (const cublasStatus_t status = problem_of(operation, a, b, c, d, &problem);
      status != CUBLAS_STATUS_SUCCESS)
    return status;
  Algorithm all[4];
  const int count = algorithms_for(problem, all);
  for (int i = 0; i < count && *returned < requested; ++i) {
    const Algorithm* const asked = algorithm_of(&results[*returned].algo);
    if (preference->search == CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID &&
        (asked == nullptr || asked->id != all[i].id))
      continue;
    if (is_preferred(all[i], problem, *preference)) write_result(all[i], problem, &results[(*returned)++]);
  }
  return *returned == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t compute,
                                        cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                        cudaDataType_t c, cudaDataType_t d, int requested, int ids[],
                                        int* returned) {
  if (!is_usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (requested <= 0 || ids == nullptr || returned == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  if (!are_types_supported(compute, scale, a, b, c, d)) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (const int id : {kSimt, kSimtSplit, kTensorCore, kTensorCoreStream}) {
    if (*returned < requested && can_multiply(id, compute, a)) ids[(*returned)++] = id;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t compute,
                                      cudaDataType_t scale, cudaDataType_t a, cudaDataType_t b,
                                      cudaDataType_t c, cudaDataType_t d, int id,
                                      cublasLtMatmulAlgo_t* algo) {
  if (!is_usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (algo == nullptr || !is_known(id)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!are_types_supported(compute, scale, a, b, c, d) || !can_multiply(id, compute, a))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  *algo = {};
  new (algo) Algorithm{.magic = kAlgorithmMagic,
                       .id = id,
                       .splits = 1,
                       .tile = CUBLASLT_MATMUL_TILE_UNDEFINED,
                       .reduction = CUBLASLT_REDUCTION_SCHEME_NONE,
                       .swizzle = 0,
                       .custom = 0,
                       .stages = CUBLASLT_MATMUL_STAGES_UNDEFINED,
                       .inner_shape = 0,
                       .cluster_shape = 0,
                       .compute = static_cast<int16_t>(compute),
                       .scale = static_cast<int16_t>(scale),
                       .a = static_cast<int16_t>(a),
                       .b = static_cast<int16_t>(b),
                       .c = static_cast<int16_t>(c),
                       .d = static_cast<int16_t>(d)};
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (!is_usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const Algorithm* const algorithm = algorithm_of(algo);
  if (algorithm == nullptr || result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Problem problem;
  cublasStatus_t status = problem_of(operation, a, b, c, d, &problem);
  if (status == CUBLAS_STATUS_SUCCESS) status = check_algorithm(*algorithm, problem);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  result->workspaceSize = workspace_of(*algorithm, problem);
  result->wavesCount = waves_of(problem);
  result->state = status;
  return status;
}

}  // extern "C"
