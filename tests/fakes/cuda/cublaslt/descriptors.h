// What the descriptors of cuBLASLt hold. Their types are opaque to programs, but their sizes are known to them.
#pragma once

#include <cublasLt.h>

#include <cstdint>

namespace fake_cublaslt {

/// Tells a descriptor that was made from other memory, and from one that has been destroyed.
enum class Magic : uint64_t {
  kNone = 0,
  kLayout = 0x4c61796f75744c74,
  kOperation = 0x4f70657261744c74,
  kPreference = 0x5072656665724c74
};

struct Layout {
  int32_t type, order;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch;
  uint32_t batch_mode;
  int64_t batch_stride, plane_offset;
  Magic magic;
};
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));

struct Operation {
  int32_t compute, scale, pointer_mode, transpose_a, transpose_b, transpose_c, fill;
  uint32_t epilogue;
  const void* bias;
  int64_t bias_stride;
  void* aux;
  int64_t aux_leading, aux_stride, alpha_stride;
  int32_t processors, reserved, aux_type, bias_type;
  const void *a_scale, *b_scale, *c_scale, *d_scale;
  void* d_amax;
  const void* aux_scale;
  void* aux_amax;
  int32_t scale_modes[5], d_out_mode;
  void* d_out_scale;
  void* emulation;
  int8_t fast_accumulation;
  Magic magic;
};
static_assert(sizeof(Operation) <= sizeof(cublasLtMatmulDescOpaque_t));

struct Preference {
  uint32_t search, reductions;
  uint32_t alignment[4];  // of a, b, c and d
  float waves;
  uint64_t workspace, implementations;
  Magic magic;
};
static_assert(sizeof(Preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t));

/// What a program's handle points to, null if that is none.
inline const Layout* layout_of(cublasLtMatrixLayout_t handle) {
  const auto* const out = reinterpret_cast<const Layout*>(handle);
  return out != nullptr && out->magic == Magic::kLayout ? out : nullptr;
}
inline const Operation* operation_of(cublasLtMatmulDesc_t handle) {
  const auto* const out = reinterpret_cast<const Operation*>(handle);
  return out != nullptr && out->magic == Magic::kOperation ? out : nullptr;
}
inline const Preference* preference_of(cublasLtMatmulPreference_t handle) {
  const auto* const out = reinterpret_cast<const Preference*>(handle);
  return out != nullptr && out->magic == Magic::kPreference ? out : nullptr;
}

/// An attribute: where it lies in a descriptor.
struct Attribute {
  int name;
  size_t offset, size;
};

template <size_t kCount>
const Attribute* find(const Attribute (&table)[kCount], int name) {
  for (const Attribute& attribute : table) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

/// The rules of all functions that set and get attributes: a size that is not the attribute's is an error.
cublasStatus_t set_attribute(void* descriptor, const Attribute* attribute, const void* from, size_t size);
cublasStatus_t get_attribute(const void* descriptor, const Attribute* attribute, void* to, size_t size,
                             size_t* written);

}  // namespace fake_cublaslt
