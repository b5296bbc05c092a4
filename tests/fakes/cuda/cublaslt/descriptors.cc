#include "descriptors.h"

#include <cstddef>
#include <cstring>
#include <limits>
#include <new>

namespace fake_cublaslt {
namespace {

#define FAKE_FIELD(name, type, field) \
  { name, offsetof(type, field), sizeof(type::field) }

constexpr Attribute kOfLayouts[] = {
    FAKE_FIELD(CUBLASLT_MATRIX_LAYOUT_TYPE, Layout, type),
    FAKE_FIELD(CUBLASLT_MATRIX_LAYOUT_ORDER, Layout, order),
    FAKE_FIELD(CUBLASLT_MATRIX_LAYOUT_ROWS, Layout, rows),
    FAKE_FIELD(CUBLASLT_MATRIX_LAYOUT_COLS, Layout, columns),
    FAKE_FIELD(CUBLASLT_MATRIX_LAYOUT_LD, Layout, leading),
    FAKE_FIELD(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, Layout, batch),
    FAKE_FIELD(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, Layout, batch_stride),
    FAKE_FIELD(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, Layout, plane_offset),
    FAKE_FIELD(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, Layout, batch_mode),
};

constexpr Attribute kOfOperations[] = {
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, Operation, compute),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_SCALE_TYPE, Operation, scale),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_POINTER_MODE, Operation, pointer_mode),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_TRANSA, Operation, transpose_a),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_TRANSB, Operation, transpose_b),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_TRANSC, Operation, transpose_c),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_FILL_MODE, Operation, fill),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE, Operation, epilogue),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_BIAS_POINTER, Operation, bias),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, Operation, bias_stride),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, Operation, aux),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, Operation, aux_leading),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, Operation, aux_stride),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, Operation, alpha_stride),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, Operation, processors),
    FAKE_FIELD(16, Operation, reserved),  // not in the header; the library has it
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, Operation, a_scale),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, Operation, b_scale),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, Operation, c_scale),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, Operation, d_scale),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, Operation, d_amax),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, Operation, aux_type),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, Operation, aux_scale),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, Operation, aux_amax),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_FAST_ACCUM, Operation, fast_accumulation),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, Operation, bias_type),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, Operation, scale_modes[0]),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, Operation, scale_modes[1]),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_C_SCALE_MODE, Operation, scale_modes[2]),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, Operation, scale_modes[3]),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, Operation, scale_modes[4]),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, Operation, d_out_scale),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, Operation, d_out_mode),
    FAKE_FIELD(CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, Operation, emulation),
};

constexpr Attribute kOfPreferences[] = {
    FAKE_FIELD(CUBLASLT_MATMUL_PREF_SEARCH_MODE, Preference, search),
    FAKE_FIELD(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, Preference, workspace),
    FAKE_FIELD(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, Preference, reductions),
    FAKE_FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, Preference, alignment[0]),
    FAKE_FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, Preference, alignment[1]),
    FAKE_FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, Preference, alignment[2]),
    FAKE_FIELD(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, Preference, alignment[3]),
    FAKE_FIELD(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, Preference, waves),
    FAKE_FIELD(CUBLASLT_MATMUL_PREF_IMPL_MASK, Preference, implementations),
};

/// Makes a descriptor, which `initialize` fills.
template <class Opaque, class Initialize>
cublasStatus_t create(Opaque** out, const Initialize& initialize) {
  if (out == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  auto* const made = new (std::nothrow) Opaque;
  if (made == nullptr) return CUBLAS_STATUS_ALLOC_FAILED;
  const cublasStatus_t status = initialize(made, sizeof(Opaque));
  if (status != CUBLAS_STATUS_SUCCESS) {
    delete made;
    return status;
  }
  *out = made;
  return CUBLAS_STATUS_SUCCESS;
}

template <class Opaque, class Made>
cublasStatus_t destroy(Opaque* handle, const Made* made) {
  if (handle == nullptr) return CUBLAS_STATUS_SUCCESS;
  if (made == nullptr) return CUBLAS_STATUS_INVALID_VALUE;  // it was none, or is gone already
  std::memset(handle, 0, sizeof(*handle));
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t set_attribute(void* descriptor, const Attribute* attribute, const void* from, size_t size) {
  if (descriptor == nullptr || attribute == nullptr || from == nullptr || size != attribute->size)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(static_cast<char*>(descriptor) + attribute->offset, from, size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t get_attribute(const void* descriptor, const Attribute* attribute, void* to, size_t size,
                             size_t* written) {
  if (descriptor == nullptr || attribute == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (size == 0) {
    if (written == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *written = attribute->size;
    return CUBLAS_STATUS_SUCCESS;
  }
  if (to == nullptr || size != attribute->size) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, static_cast<const char*>(descriptor) + attribute->offset, size);
  if (written != nullptr) *written = size;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace fake_cublaslt

using namespace fake_cublaslt;

extern "C" {

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t handle, size_t size,
                                                 cudaDataType type, uint64_t rows, uint64_t cols,
                                                 int64_t ld) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (size < sizeof(Layout)) return CUBLAS_STATUS_ALLOC_FAILED;
  new (handle)
      Layout{type, CUBLASLT_ORDER_COL, rows, cols, ld, 1, CUBLASLT_BATCH_MODE_STRIDED, 0, 0, Magic::kLayout};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* out, cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld) {
  return create(out, [&](auto* made, size_t size) {
    return cublasLtMatrixLayoutInit_internal(made, size, type, rows, cols, ld);
  });
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t handle) {
  return destroy(handle, layout_of(handle));
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t handle,
                                                cublasLtMatrixLayoutAttribute_t name, const void* from,
                                                size_t size) {
  return layout_of(handle) == nullptr ? CUBLAS_STATUS_INVALID_VALUE
                                      : set_attribute(handle, find(kOfLayouts, name), from, size);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t handle,
                                                cublasLtMatrixLayoutAttribute_t name, void* to, size_t size,
                                                size_t* written) {
  return get_attribute(layout_of(handle), find(kOfLayouts, name), to, size, written);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t handle, size_t size,
                                               cublasComputeType_t compute, cudaDataType_t scale) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (size < sizeof(Operation)) return CUBLAS_STATUS_ALLOC_FAILED;
  auto* const made = new (handle) Operation{};
  made->compute = compute;
  made->scale = scale;
  made->fill = CUBLAS_FILL_MODE_FULL;
  made->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  made->aux_type = made->bias_type = -1;
  made->magic = Magic::kOperation;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* out, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  return create(out, [&](auto* made, size_t size) {
    return cublasLtMatmulDescInit_internal(made, size, compute, scale);
  });
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t handle) {
  return destroy(handle, operation_of(handle));
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                                              cublasLtMatmulDescAttributes_t name, const void* from,
                                              size_t size) {
  return operation_of(handle) == nullptr ? CUBLAS_STATUS_INVALID_VALUE
                                         : set_attribute(handle, find(kOfOperations, name), from, size);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t handle,
                                              cublasLtMatmulDescAttributes_t name, void* to, size_t size,
                                              size_t* written) {
  return get_attribute(operation_of(handle), find(kOfOperations, name), to, size, written);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t handle, size_t size) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (size < sizeof(cublasLtMatmulPreferenceOpaque_t)) return CUBLAS_STATUS_ALLOC_FAILED;
  new (handle) Preference{CUBLASLT_SEARCH_BEST_FIT,
                          CUBLASLT_REDUCTION_SCHEME_MASK,
                          {256, 256, 256, 256},
                          0,
                          0,
                          std::numeric_limits<uint64_t>::max(),
                          Magic::kPreference};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* out) {
  return create(out,
                [](auto* made, size_t size) { return cublasLtMatmulPreferenceInit_internal(made, size); });
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t handle) {
  return destroy(handle, preference_of(handle));
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void* from, size_t size) {
  return preference_of(handle) == nullptr ? CUBLAS_STATUS_INVALID_VALUE
                                          : set_attribute(handle, find(kOfPreferences, name), from, size);
}
cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t handle,
                                                    cublasLtMatmulPreferenceAttributes_t name, void* to,
                                                    size_t size, size_t* written) {
  return get_attribute(preference_of(handle), find(kOfPreferences, name), to, size, written);
}

}  // extern "C"
