// The functions of oneDNN, which is loaded at the first call of one of them: sessions that do not use the
// library do not load it. dnnl_data.h includes this before the library's C++ header, so that the inline
// functions of that header call these too.
#pragma once

#include <oneapi/dnnl/dnnl.h>

// clang-format off
#define ONEDNN_FUNCTIONS(X)                                                                                             \
  X(dnnl_batch_normalization_forward_desc_init) X(dnnl_binary_desc_init) X(dnnl_concat_primitive_desc_create)           \
  X(dnnl_dilated_convolution_forward_desc_init) X(dnnl_dilated_deconvolution_forward_desc_init)                         \
  X(dnnl_eltwise_forward_desc_init) X(dnnl_engine_create) X(dnnl_engine_destroy) X(dnnl_get_effective_cpu_isa)          \
  X(dnnl_layer_normalization_forward_desc_init) X(dnnl_logsoftmax_forward_desc_init) X(dnnl_lrn_forward_desc_init)      \
  X(dnnl_matmul_desc_init) X(dnnl_memory_create) X(dnnl_memory_desc_get_size) X(dnnl_memory_desc_init_by_strides)       \
  X(dnnl_memory_desc_init_by_tag) X(dnnl_memory_desc_init_submemory) X(dnnl_memory_desc_permute_axes)                   \
  X(dnnl_memory_desc_reshape) X(dnnl_memory_destroy) X(dnnl_memory_set_data_handle) X(dnnl_pooling_v2_forward_desc_init)\
  X(dnnl_post_ops_append_binary) X(dnnl_post_ops_append_eltwise) X(dnnl_post_ops_append_sum) X(dnnl_post_ops_create)    \
  X(dnnl_post_ops_destroy) X(dnnl_prelu_forward_desc_init) X(dnnl_primitive_attr_create) X(dnnl_primitive_attr_destroy) \
  X(dnnl_primitive_attr_set_output_scales) X(dnnl_primitive_attr_set_post_ops)                                          \
  X(dnnl_primitive_attr_set_scratchpad_mode) X(dnnl_primitive_create) X(dnnl_primitive_desc_destroy)                    \
  X(dnnl_primitive_desc_iterator_create) X(dnnl_primitive_desc_iterator_destroy) X(dnnl_primitive_desc_iterator_fetch)  \
  X(dnnl_primitive_desc_iterator_next) X(dnnl_primitive_desc_query) X(dnnl_primitive_desc_query_md)                     \
  X(dnnl_primitive_destroy) X(dnnl_primitive_execute) X(dnnl_reduction_desc_init) X(dnnl_reorder_primitive_desc_create) \
  X(dnnl_resampling_forward_desc_init) X(dnnl_softmax_forward_desc_init) X(dnnl_stream_create) X(dnnl_stream_destroy)
// clang-format on

namespace tenon::onednn {

struct Library {
#define ONEDNN_POINTER(name) decltype(&::name) name = nullptr;
  ONEDNN_FUNCTIONS(ONEDNN_POINTER)
#undef ONEDNN_POINTER
};

/// Loads the library at the first call and keeps it for the life of the process. Throws UNAVAILABLE on
/// failure; the next call tries again. Thread-safe.
const Library& library();

template <auto member>
struct LibraryCall;
template <class Result, class... Arguments, Result (*Library::*member)(Arguments...)>
struct LibraryCall<member> {
  Result operator()(Arguments... arguments) const { return (library().*member)(arguments...); }
};

}  // namespace tenon::onednn

// They are objects, declared before the functions of the same names: this prevents argument-dependent lookup
// from finding those functions.
#define ONEDNN_CALL(name) \
  [[maybe_unused]] inline constexpr ::tenon::onednn::LibraryCall<&::tenon::onednn::Library::name> name{};
namespace dnnl {
ONEDNN_FUNCTIONS(ONEDNN_CALL)
}
namespace tenon::onednn {
ONEDNN_FUNCTIONS(ONEDNN_CALL)
}
#undef ONEDNN_CALL
