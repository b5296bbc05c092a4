// Descriptors of a cuDNN that was opened by its path.
#pragma once

#include <cudnn_graph.h>

#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <utility>
#include <vector>

#include "ask.h"

namespace ask {

using Dims = std::vector<int64_t>;

/// The functions of a cuDNN, and short ways to make descriptors. A descriptor that cannot be finalized is null; `status` says why.
struct Cudnn {
  explicit Cudnn(const char* path) : library(path) {}

  Library library;
  decltype(&cudnnBackendCreateDescriptor) create =
      library.function<decltype(cudnnBackendCreateDescriptor)>("cudnnBackendCreateDescriptor");
  decltype(&cudnnBackendDestroyDescriptor) destroy =
      library.function<decltype(cudnnBackendDestroyDescriptor)>("cudnnBackendDestroyDescriptor");
  decltype(&cudnnBackendSetAttribute) set =
      library.function<decltype(cudnnBackendSetAttribute)>("cudnnBackendSetAttribute");
  decltype(&cudnnBackendGetAttribute) get =
      library.function<decltype(cudnnBackendGetAttribute)>("cudnnBackendGetAttribute");
  decltype(&cudnnBackendFinalize) finalize =
      library.function<decltype(cudnnBackendFinalize)>("cudnnBackendFinalize");
  int status = 0;

  using Handle = cudnnBackendDescriptor_t;
  using Name = cudnnBackendAttributeName_t;

  Handle make(cudnnBackendDescriptorType_t type) {
    Handle out = nullptr;
    status = create(type, &out);
    return out;
  }
  void put(Handle to, Name name, cudnnBackendAttributeType_t type, int64_t count, const void* from) {
    if (const int answer = set(to, name, type, count, from); answer != 0 && status == 0) status = answer;
  }
  void put(Handle to, Name name, const Dims& values) {
    put(to, name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  void put(Handle to, Name name, Handle value) { put(to, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value); }
  void put(Handle to, Name name, cudnnDataType_t value) { put(to, name, CUDNN_TYPE_DATA_TYPE, 1, &value); }
  void put(Handle to, Name name, bool value) { put(to, name, CUDNN_TYPE_BOOLEAN, 1, &value); }
  void put(Handle to, Name name, double value) { put(to, name, CUDNN_TYPE_DOUBLE, 1, &value); }
  Handle finished(Handle descriptor) {
    if (status == 0) status = finalize(descriptor);
    return status == 0 ? descriptor : nullptr;
  }

  Handle tensor(int64_t uid, cudnnDataType_t type, const Dims& dims, const Dims& strides,
                bool is_virtual = false, int64_t alignment = 16) {
    const Handle out = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    put(out, CUDNN_ATTR_TENSOR_UNIQUE_ID, Dims{uid});
    put(out, CUDNN_ATTR_TENSOR_DATA_TYPE, type);
    put(out, CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
    put(out, CUDNN_ATTR_TENSOR_STRIDES, strides);
    put(out, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Dims{alignment});
    if (is_virtual) put(out, CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
    return finished(out);
  }

  struct Window {
    Dims pre, post, stride, dilation;
    cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  };
  Handle convolution(const Window& window, cudnnDataType_t compute = CUDNN_DATA_FLOAT) {
    const Handle out = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    put(out, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, compute);
    put(out, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &window.mode);
    put(out, CUDNN_ATTR_CONVOLUTION_DILATIONS, window.dilation);
    put(out, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, window.stride);
    put(out, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, window.post);
    put(out, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, window.pre);
    put(out, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, Dims{static_cast<int64_t>(window.stride.size())});
    return finished(out);
  }
  Handle convolve(Handle convolution, Handle x, Handle w, Handle y) {
    const Handle out = make(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    put(out, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution);
    put(out, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
    put(out, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
    put(out, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
    return finished(out);
  }

  using Reals = std::vector<std::pair<Name, double>>;
  Handle pointwise(cudnnPointwiseMode_t mode, const Reals& settings = {},
                   cudnnDataType_t compute = CUDNN_DATA_FLOAT) {
    const Handle out = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    put(out, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    put(out, CUDNN_ATTR_POINTWISE_MATH_PREC, compute);
    for (const auto& [name, value] : settings) put(out, name, value);
    return finished(out);
  }
  Handle apply(Handle pointwise, Handle x, Handle b, Handle y) {
    const Handle out = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    put(out, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise);
    put(out, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b != nullptr) put(out, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    put(out, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    return finished(out);
  }
  Handle multiply(Handle a, Handle b, Handle c) {
    const cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    const Handle m = make(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    put(m, CUDNN_ATTR_MATMUL_COMP_TYPE, compute);
    finished(m);
    const Handle out = make(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    put(out, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
    put(out, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
    put(out, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
    put(out, CUDNN_ATTR_OPERATION_MATMUL_DESC, m);
    return finished(out);
  }
  Handle reduce(cudnnReduceTensorOp_t mode, Handle x, Handle y) {
    const Handle r = make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    put(r, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode);
    put(r, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    if (finished(r) == nullptr) return nullptr;
    const Handle out = make(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    put(out, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    put(out, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    put(out, CUDNN_ATTR_OPERATION_REDUCTION_DESC, r);
    return finished(out);
  }
  Handle graph(const std::vector<Handle>& operations, cudnnHandle_t handle = nullptr) {
    const Handle out = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    put(out, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
        static_cast<int64_t>(operations.size()), operations.data());
    if (handle != nullptr) put(out, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
    return finished(out);
  }
};

/// The strides of a packed tensor, rows innermost, or channels.
inline Dims packed(const Dims& dims) {
  Dims out(dims.size());
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    out[d] = stride;
    stride *= dims[d];
  }
  return out;
}
inline Dims channels_last(const Dims& dims) {
  Dims out(dims.size());
  int64_t stride = out[1] = 1;
  stride = dims[1];
  for (size_t d = dims.size(); d-- > 2;) {
    out[d] = stride;
    stride *= dims[d];
  }
  out[0] = stride;
  return out;
}

}  // namespace ask
