#include "algorithms.h"

#include <algorithm>

namespace fake_cublaslt {
namespace {

constexpr int kMostSplits = 8;
constexpr uint64_t kStreamWorkspace = uint64_t{1} << 20;
constexpr uint32_t kTensorCoreAlignment = 16;

bool is_tensor_core(int32_t id) { return id == kTensorCore || id == kTensorCoreStream; }

/// Tensor cores multiply no float without rounding, and nothing that is pedantic.
bool has_tensor_cores(int compute, int a) {
  if (compute == CUBLAS_COMPUTE_32F_PEDANTIC || compute == CUBLAS_COMPUTE_64F_PEDANTIC) return false;
  return a != CUDA_R_32F || compute != CUBLAS_COMPUTE_32F;
}

bool suits(int32_t id, int compute, int a) {
  if (a == CUDA_R_8I) return id == kTensorCore;  // bytes have no other
  return is_tensor_core(id) ? has_tensor_cores(compute, a) : true;
}

Algorithm made(int32_t id, const Problem& p) {
  Algorithm out{};
  out.magic = kAlgorithmMagic;
  out.id = id;
  out.splits = 1;
  out.tile = CUBLASLT_MATMUL_TILE_64x64;
  out.compute = static_cast<int16_t>(p.operation->compute);
  out.scale = static_cast<int16_t>(p.operation->scale);
  out.a = static_cast<int16_t>(p.a->type);
  out.b = static_cast<int16_t>(p.b->type);
  out.c = static_cast<int16_t>(p.c->type);
  out.d = static_cast<int16_t>(p.d->type);
  if (is_tensor_core(id)) out.tile = CUBLASLT_MATMUL_TILE_128x128;
  if (id == kSimtSplit) {
    out.splits = 4;
    out.reduction = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  }
  return out;
}

}  // namespace

bool is_aligned(const Problem& p, const Layout& layout, uint32_t alignment) {
  const int64_t element = fake_cuda::bytes_of(fake_cuda::type_of(static_cast<cudaDataType_t>(layout.type)));
  const auto divides = [&](int64_t stride) {
    return stride * element % static_cast<int64_t>(alignment) == 0;
  };
  return divides(layout.leading) && (p.work.batch == 1 || divides(layout.batch_stride));
}

uint32_t alignment_of(const Algorithm& algorithm) {
  if (algorithm.a == CUDA_R_8I) return 4;
  if (is_tensor_core(algorithm.id)) return kTensorCoreAlignment;
  return static_cast<uint32_t>(
      fake_cuda::bytes_of(fake_cuda::type_of(static_cast<cudaDataType_t>(algorithm.a))));
}

uint64_t workspace_of(const Algorithm& algorithm, const Problem& p) {
  const auto elements = static_cast<uint64_t>(p.work.rows) * static_cast<uint64_t>(p.work.columns) *
                        static_cast<uint64_t>(p.work.batch);
  if (algorithm.splits > 1)
    return elements * static_cast<uint64_t>(algorithm.splits) *
           static_cast<uint64_t>(fake_cuda::bytes_of(p.work.scale));
  return algorithm.id == kTensorCoreStream ? kStreamWorkspace : 0;
}

cublasStatus_t check_algorithm(const Algorithm& algorithm, const Problem& p) {
  if (algorithm.compute != p.operation->compute || algorithm.scale != p.operation->scale ||
      algorithm.a != p.a->type || algorithm.b != p.b->type || algorithm.c != p.c->type ||
      algorithm.d != p.d->type)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (algorithm.splits < 1 || algorithm.swizzle > 1 || algorithm.custom != 0 ||
      algorithm.tile >= CUBLASLT_MATMUL_TILE_END)
    return CUBLAS_STATUS_INVALID_VALUE;
  if ((algorithm.splits > 1) != (algorithm.reduction != CUBLASLT_REDUCTION_SCHEME_NONE))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (algorithm.splits > 1 && (algorithm.id != kSimtSplit || algorithm.splits > kMostSplits))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (algorithm.reduction > CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE ||
      !suits(algorithm.id, algorithm.compute, algorithm.a))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const uint32_t alignment = alignment_of(algorithm);
  for (const Layout* layout : {p.a, p.b, p.c, p.d}) {
    if (!is_aligned(p, *layout, alignment)) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

int algorithms_for(const Problem& problem, Algorithm (&out)[4]) {
  int count = 0;
  for (const int32_t id : {kTensorCoreStream, kTensorCore, kSimt, kSimtSplit}) {
    const Algorithm candidate = made(id, problem);
    if (check_algorithm(candidate, problem) == CUBLAS_STATUS_SUCCESS) out[count++] = candidate;
  }
  return count;
}

namespace {

struct Capability {
  cublasLtMatmulAlgoCapAttributes_t name;
  size_t size;
  uint64_t (*value)(const Algorithm&);
};

template <uint64_t kValue>
uint64_t always(const Algorithm&) {
  return kValue;
}
uint64_t alignment_value(const Algorithm& algorithm) { return alignment_of(algorithm); }

constexpr Capability kCapabilities[] = {
    {CUBLASLT_ALGO_CAP_SPLITK_SUPPORT, 4, [](const Algorithm& a) -> uint64_t { return a.id == kSimtSplit; }},
    {CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK, 4,
     [](const Algorithm& a) -> uint64_t {
       return a.id == kSimtSplit ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE : 0;
     }},
    {CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT, 4, always<1>},
    {CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT, 4, always<1>},
    {CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT, 4, always<1>},
    {CUBLASLT_ALGO_CAP_UPLO_SUPPORT, 4, always<0>},
    {CUBLASLT_ALGO_CAP_TILE_IDS, 4,
     [](const Algorithm& a) -> uint64_t {
       return is_tensor_core(a.id) ? CUBLASLT_MATMUL_TILE_128x128 : CUBLASLT_MATMUL_TILE_64x64;
     }},
    {CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX, 4, always<0>},
    {CUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER, 4, always<0>},
    {CUBLASLT_ALGO_CAP_POINTER_MODE_MASK, 4,
     always<CUBLASLT_POINTER_MODE_MASK_HOST | CUBLASLT_POINTER_MODE_MASK_DEVICE>},
    {CUBLASLT_ALGO_CAP_EPILOGUE_MASK, 4,
     always<CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_RELU_BIAS | CUBLASLT_EPILOGUE_GELU_BIAS>},
    {CUBLASLT_ALGO_CAP_STAGES_IDS, 4, always<CUBLASLT_MATMUL_STAGES_UNDEFINED>},
    {CUBLASLT_ALGO_CAP_LD_NEGATIVE, 4, always<0>},
    {CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, 8,
     [](const Algorithm& a) -> uint64_t {
       if (a.a == CUDA_R_8I) return CUBLASLT_NUMERICAL_IMPL_FLAGS_IMMA;
       return is_tensor_core(a.id) ? CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA : CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA;
     }},
    {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES, 4, alignment_value},
    {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES, 4, alignment_value},
    {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES, 4, alignment_value},
    {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES, 4, alignment_value},
    {CUBLASLT_ALGO_CAP_POINTER_ARRAY_BATCH_SUPPORT, 4, always<0>},
    {CUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT, 4, always<0>},
};

constexpr Attribute kSettings[] = {
    {CUBLASLT_ALGO_CONFIG_ID, offsetof(Algorithm, id), 4},
    {CUBLASLT_ALGO_CONFIG_TILE_ID, offsetof(Algorithm, tile), 4},
    {CUBLASLT_ALGO_CONFIG_SPLITK_NUM, offsetof(Algorithm, splits), 4},
    {CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, offsetof(Algorithm, reduction), 4},
    {CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, offsetof(Algorithm, swizzle), 4},
    {CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, offsetof(Algorithm, custom), 4},
    {CUBLASLT_ALGO_CONFIG_STAGES_ID, offsetof(Algorithm, stages), 4},
    {CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, offsetof(Algorithm, inner_shape), 2},
    {CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, offsetof(Algorithm, cluster_shape), 2},
};

}  // namespace
}  // namespace fake_cublaslt

using namespace fake_cublaslt;

extern "C" {

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                 cublasLtMatmulAlgoCapAttributes_t name, void* to,
                                                 size_t size, size_t* written) {
  const Algorithm* const algorithm = algorithm_of(algo);
  for (const Capability& known : kCapabilities) {
    if (known.name != name || algorithm == nullptr) continue;
    const uint64_t value = known.value(*algorithm);  // little endian: its first bytes are the smaller number
    const Attribute attribute{name, 0, known.size};
    return get_attribute(&value, &attribute, to, size, written);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t name,
                                                    const void* from, size_t size) {
  if (algorithm_of(algo) == nullptr || name == CUBLASLT_ALGO_CONFIG_ID) return CUBLAS_STATUS_INVALID_VALUE;
  return set_attribute(algo, find(kSettings, name), from, size);
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t name, void* to,
                                                    size_t size, size_t* written) {
  return get_attribute(algorithm_of(algo), find(kSettings, name), to, size, written);
}

}  // extern "C"
