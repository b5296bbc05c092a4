#include "product_calls.h"

#include <algorithm>
#include <bit>

#include "api.h"

namespace tenon::cuda {
namespace {

using Addition = LtProduct::Addition;

/// The library's own advice: 4 MiB, and 32 MiB from Hopper on.
constexpr uint64_t kWorkspace = uint64_t{4} << 20, kLargeWorkspace = uint64_t{32} << 20;
constexpr int kHopper = 90;

cudaDataType_t data_type(uint32_t dtype) {
  switch (dtype) {
    case TENON_FLOAT32:
      return CUDA_R_32F;
    case TENON_FLOAT64:
      return CUDA_R_64F;
    case TENON_FLOAT16:
      return CUDA_R_16F;
    case TENON_BFLOAT16:
      return CUDA_R_16BF;
    case TENON_INT8:
      return CUDA_R_8I;
    case TENON_INT32:
      return CUDA_R_32I;
    default:
      ep::fail(TENON_INTERNAL, "cuBLASLt is asked for products of ", ep::dtype_name(dtype));
  }
}

cudaDataType_t scale_type(const ProductTypes& types) {
  if (types.in == TENON_INT8) return CUDA_R_32I;
  return types.in == TENON_FLOAT64 ? CUDA_R_64F : CUDA_R_32F;
}

/// float32 is computed exactly unless the session allows less.
cublasComputeType_t compute_type(const ProductTypes& types) {
  if (types.in == TENON_INT8) return CUBLAS_COMPUTE_32I;
  if (types.in == TENON_FLOAT64) return CUBLAS_COMPUTE_64F;
  if (types.in != TENON_FLOAT32) return CUBLAS_COMPUTE_32F;
  switch (types.precision) {
    case TENON_PRECISION_FAST:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case TENON_PRECISION_BF16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    case TENON_PRECISION_FP16:
      return CUBLAS_COMPUTE_32F_FAST_16F;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}

/// A descriptor that ends itself.
template <class T, auto kDestroy>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) (cublas_lt()->*kDestroy)(handle_);
  }
  T get() const { return handle_; }
  T* out() { return &handle_; }

 private:
  T handle_ = nullptr;
};
using Layout = Owned<cublasLtMatrixLayout_t, &CublasLtApi::cublasLtMatrixLayoutDestroy>;
using Operation = Owned<cublasLtMatmulDesc_t, &CublasLtApi::cublasLtMatmulDescDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, &CublasLtApi::cublasLtMatmulPreferenceDestroy>;

Layout layout_of(const CublasLtApi& api, const LtMatrix& matrix, uint32_t dtype, int32_t batch) {
  Layout out;
  check(api.cublasLtMatrixLayoutCreate(out.out(), data_type(dtype), static_cast<uint64_t>(matrix.rows),
                                       static_cast<uint64_t>(matrix.columns), matrix.leading),
        "cublasLtMatrixLayoutCreate");
  const auto set = [&](cublasLtMatrixLayoutAttribute_t name, const auto& value) {
    check(api.cublasLtMatrixLayoutSetAttribute(out.get(), name, &value, sizeof(value)),
          "cublasLtMatrixLayoutSetAttribute");
  };
  if (batch > 1) {
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.stride);
  }
  return out;
}

Operation operation_of(const CublasLtApi& api, const LtProduct& product, const ProductTypes& types,
                       CUdeviceptr bias) {
  Operation out;
  check(api.cublasLtMatmulDescCreate(out.out(), compute_type(types), scale_type(types)),
        "cublasLtMatmulDescCreate");
  const auto set = [&](cublasLtMatmulDescAttributes_t name, const auto& value) {
    check(api.cublasLtMatmulDescSetAttribute(out.get(), name, &value, sizeof(value)),
          "cublasLtMatmulDescSetAttribute");
  };
  const auto form = [](bool transposed) {
    return static_cast<int32_t>(transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, form(product.left_transposed));
  set(CUBLASLT_MATMUL_DESC_TRANSB, form(product.right_transposed));
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  if (product.has_bias) {
    epilogue = product.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(pointer_of(bias)));
    if (product.bias_stride != 0) set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, product.bias_stride);
  } else if (product.relu) {
    epilogue = CUBLASLT_EPILOGUE_RELU;
  }
  if (epilogue != CUBLASLT_EPILOGUE_DEFAULT) set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  return out;
}

/// The layouts of a product's matrices.
struct Layouts {
  Layout left, right, c, d;
  Layouts(const CublasLtApi& api, const LtProduct& product, const ProductTypes& types)
      : left(layout_of(api, product.left, types.in, product.batch)),
        right(layout_of(api, product.right, types.in, product.batch)),
        c(layout_of(api, product.c, types.out, product.batch)),
        d(layout_of(api, product.d, types.out, product.batch)) {}
};

/// Where the matrices of one call are.
struct Addresses {
  CUdeviceptr left, right, c, d, bias;
};

std::vector<Addresses> addresses_of(const LtProduct& product, const ProductTypes& types,
                                    const ProductMemory& memory) {
  const auto in = static_cast<int64_t>(ep::dtype_bits(types.in) / 8),
             out = static_cast<int64_t>(ep::dtype_bits(types.out) / 8);
  const auto at = [](CUdeviceptr begin, int64_t bytes) { return begin + static_cast<CUdeviceptr>(bytes); };
  std::vector<Addresses> all;
  for (const LtOffsets& offsets : product.calls) {
    Addresses call{at(memory.b, offsets.left * in), at(memory.a, offsets.right * in), 0,
                   at(memory.y, offsets.d * out), at(memory.bias, offsets.bias * out)};
    call.c = product.addition == Addition::kAddend ? at(memory.addend, offsets.d * out)
             : product.addition == Addition::kBias ? call.bias
                                                   : call.d;
    all.push_back(call);
  }
  return all;
}

/// What a stream gets, in each Run. It lives as long as the call.
struct Call {
  Layouts layouts;
  std::vector<Addresses> addresses;
  std::vector<Operation> operations;  // one per call if there is a bias, else one
  cublasLtMatmulAlgo_t algorithm;
  void* workspace;
  uint64_t workspace_bytes;
  bool in_double;
  bool in_integers;
  double alpha64, beta64;
  float alpha32, beta32;
  int32_t alpha_integer, beta_integer;

  void enqueue(const CublasLtApi& api, cublasLtHandle_t handle, CUstream stream) const {
    const void* const alpha = in_double     ? static_cast<const void*>(&alpha64)
                              : in_integers ? static_cast<const void*>(&alpha_integer)
                                            : static_cast<const void*>(&alpha32);
    const void* const beta = in_double     ? static_cast<const void*>(&beta64)
                             : in_integers ? static_cast<const void*>(&beta_integer)
                                           : static_cast<const void*>(&beta32);
    for (size_t i = 0; i < addresses.size(); ++i) {
      const Addresses& at = addresses[i];
      check(api.cublasLtMatmul(handle, operations[std::min(i, operations.size() - 1)].get(), alpha,
                               pointer_of(at.left), layouts.left.get(), pointer_of(at.right),
                               layouts.right.get(), beta, pointer_of(at.c), layouts.c.get(), pointer_of(at.d),
                               layouts.d.get(), &algorithm, workspace, workspace_bytes, stream),
            "cublasLtMatmul");
    }
  }
};

}  // namespace

uint32_t alignment_of(const LtProduct& product, const ProductTypes& types, const ProductMemory& memory) {
  CUdeviceptr bits = 256;
  for (const Addresses& at : addresses_of(product, types, memory)) {
    bits |= at.left | at.right | at.d | at.c;
    if (product.has_bias) bits |= at.bias;
  }
  return uint32_t{1} << std::countr_zero(static_cast<uint64_t>(bits));
}

LtContext::LtContext(const Device& device, const CublasLtApi& api)
    : device_(device),
      api_(api),
      answers_(ep::cat("products/", device.build_key(), "/cublasLt/", api.version)) {
  const Current current(device.context());
  check(api.cublasLtCreate(&handle_), "cublasLtCreate");
}

LtContext::~LtContext() {
  if (is_forked()) return;
  api_.cublasLtDestroy(handle_);
}

uint64_t LtContext::workspace_bytes() const {
  return device_.limits().capability >= kHopper ? kLargeWorkspace : kWorkspace;
}

std::vector<LtAlgorithm> LtContext::algorithms(const LtProduct& product, const ProductTypes& types,
                                               const ProductMemory& memory, uint64_t workspace_bytes,
                                               int most) const {
  const Layouts layouts(api_, product, types);
  const Operation operation = operation_of(api_, product, types, memory.bias);
  Preference preference;
  check(api_.cublasLtMatmulPreferenceCreate(preference.out()), "cublasLtMatmulPreferenceCreate");
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t name, const auto& value) {
    check(api_.cublasLtMatmulPreferenceSetAttribute(preference.get(), name, &value, sizeof(value)),
          "cublasLtMatmulPreferenceSetAttribute");
  };
  const uint32_t alignment = alignment_of(product, types, memory);
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
  // Partial sums stay in float32: the other schemes round them to the element type of the result.
  const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);
  for (const cublasLtMatmulPreferenceAttributes_t name :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(name, alignment);
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<size_t>(most));
  int found = 0;
  const cublasStatus_t status = api_.cublasLtMatmulAlgoGetHeuristic(
      handle_, operation.get(), layouts.left.get(), layouts.right.get(), layouts.c.get(), layouts.d.get(),
      preference.get(), most, results.data(), &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  std::vector<LtAlgorithm> out;
  for (int i = 0; i < found; ++i) {
    const cublasLtMatmulHeuristicResult_t& result = results[static_cast<size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= workspace_bytes)
      out.push_back({result.algo, result.workspaceSize});
  }
  return out;
}

LibraryCall LtContext::call(const LtProduct& product, const ProductTypes& types, const ProductMemory& memory,
                            const LtAlgorithm& algorithm, uint64_t workspace_bytes) const {
  auto call = std::make_shared<Call>(Call{Layouts(api_, product, types),
                                          addresses_of(product, types, memory),
                                          {},
                                          algorithm.algorithm,
                                          pointer_of(memory.workspace),
                                          memory.workspace == 0 ? 0 : workspace_bytes,
                                          types.in == TENON_FLOAT64,
                                          types.in == TENON_INT8,
                                          product.alpha,
                                          product.beta,
                                          product.alpha,
                                          product.beta,
                                          static_cast<int32_t>(product.alpha),
                                          static_cast<int32_t>(product.beta)});
  for (const Addresses& at : call->addresses) {
    if (call->operations.empty() || product.has_bias)
      call->operations.push_back(operation_of(api_, product, types, at.bias));
  }
  return {"cublasLtMatmul", [call = std::shared_ptr<const Call>(std::move(call)), &api = api_,
                             handle = handle_](CUstream stream) { call->enqueue(api, handle, stream); }};
}

}  // namespace tenon::cuda
