#include "convolution_graph.h"

#include <cmath>
#include <vector>

namespace tenon::cuda {

std::string ConvolutionShape::key() const {
  std::string out =
      ep::cat("conv/", ep::dtype_name(dtype), "/", images, "x", channels, "x", filters, "/", groups);
  const auto list = [&](const char* name, const int32_t(&values)[3]) {
    out += name;
    for (int d = 3 - spatial_rank; d < 3; ++d) out += ep::cat(d == 3 - spatial_rank ? "" : "x", values[d]);
  };
  list("/in", window.in);
  list("/out", window.out);
  list("/k", window.size);
  list("/s", window.stride);
  list("/d", window.dilation);
  list("/p", window.pad);
  if (has_bias) out += "/bias";
  if (has_addend) out += "/addend";
  if (clamp) out += ep::cat("/", clamp.low, "..", clamp.high);
  return out;
}

#if TENON_CUDA_HAS_CUDNN
namespace {

using Dims = std::vector<int64_t>;

cudnnDataType_t data_type(uint32_t dtype) {
  return dtype == TENON_FLOAT16    ? CUDNN_DATA_HALF
         : dtype == TENON_BFLOAT16 ? CUDNN_DATA_BFLOAT16
                                   : CUDNN_DATA_FLOAT;
}

Dims dense(const Dims& dims) {
  Dims out(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) out[d - 1] = out[d] * dims[d];
  return out;
}

/// Adds the operations of one graph, each on the result of the one before.
class Maker {
 public:
  Maker(const ConvolutionShape& shape, bool fused) : shape_(shape), fused_(fused) {
    steps_ = 1;
    if (fused) steps_ += (shape.has_addend ? 1 : 0) + (shape.has_bias ? 1 : 0) + (shape.clamp ? 1 : 0);
  }

  OperationGraph make(cudnnHandle_t handle) {
    const CudnnDescriptor* result = &convolve();
    if (fused_ && shape_.has_addend) result = &combine(*result, tensor(kAddend, result_dims()));
    if (fused_ && shape_.has_bias) {
      Dims dims(result_dims().size(), 1);
      dims[1] = shape_.filters;
      result = &combine(*result, tensor(kBias, dims));
    }
    if (fused_ && shape_.clamp) clamp(*result);
    graph_.finish(handle);
    return std::move(graph_);
  }

 private:
  /// Two or three axes: a line is an image of one row.
  int first_axis() const { return shape_.spatial_rank == 3 ? 0 : 1; }
  template <class Number>
  Dims axes(Number of) const {
    Dims out;
    for (int d = first_axis(); d < 3; ++d) out.push_back(of(d));
    return out;
  }
  Dims with_axes(int64_t first, int64_t second, const int32_t (&of)[3]) const {
    Dims out{first, second};
    for (int d = first_axis(); d < 3; ++d) out.push_back(of[d]);
    return out;
  }
  Dims result_dims() const { return with_axes(shape_.images, shape_.filters, shape_.window.out); }

  const CudnnDescriptor& tensor(int64_t uid, const Dims& dims) {
    return graph_.tensor(uid, data_type(shape_.dtype), dims, dense(dims), false);
  }
  /// What the next operation writes: the result, or a tensor without memory.
  const CudnnDescriptor& next_result() {
    if (--steps_ == 0) return tensor(kResult, result_dims());
    return graph_.tensor(kResult + steps_, CUDNN_DATA_FLOAT, result_dims(), dense(result_dims()), true);
  }

  const CudnnDescriptor& convolve() {
    const ep::Window& w = shape_.window;
    const CudnnDescriptor& x = tensor(kImages, with_axes(shape_.images, shape_.channels, w.in));
    const CudnnDescriptor& filters =
        tensor(kFilters, with_axes(shape_.filters, shape_.channels / shape_.groups, w.size));
    CudnnDescriptor& how = graph_.add(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    how.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    how.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
    how.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t{3 - first_axis()});
    how.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, axes([&](int d) { return w.dilation[d]; }));
    how.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, axes([&](int d) { return w.stride[d]; }));
    how.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, axes([&](int d) { return w.pad[d]; }));
    // As much behind as the last window reaches.
    how.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, axes([&](int d) {
              const int64_t reach =
                  int64_t{w.out[d] - 1} * w.stride[d] + int64_t{w.size[d] - 1} * w.dilation[d] + 1;
              return std::max<int64_t>(0, reach - w.pad[d] - w.in[d]);
            }));
    how.finalize();
    const CudnnDescriptor& y = next_result();
    CudnnDescriptor& out = graph_.add_operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, how);
    out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
    out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, filters);
    out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
    out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f);
    out.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0f);
    out.finalize();
    return y;
  }

  CudnnDescriptor& pointwise(cudnnPointwiseMode_t mode) {
    CudnnDescriptor& how = graph_.add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    how.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
    return how;
  }
  const CudnnDescriptor& combine(const CudnnDescriptor& result, const CudnnDescriptor& other) {
    CudnnDescriptor& how = pointwise(CUDNN_POINTWISE_ADD);
    how.finalize();
    const CudnnDescriptor& y = next_result();
    CudnnDescriptor& out = graph_.add_operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    out.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    out.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, result);
    out.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, other);
    out.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    out.finalize();
    return y;
  }
  void clamp(const CudnnDescriptor& result) {
    CudnnDescriptor& how = pointwise(CUDNN_POINTWISE_RELU_FWD);
    if (std::isfinite(shape_.clamp.high))
      how.set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, static_cast<double>(shape_.clamp.high));
    how.finalize();
    const CudnnDescriptor& y = next_result();
    CudnnDescriptor& out = graph_.add_operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    out.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
    out.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, result);
    out.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    out.finalize();
  }

  const ConvolutionShape& shape_;
  bool fused_;
  int64_t steps_;  // operations that are still to come
  OperationGraph graph_;
};

}  // namespace

bool can_fuse(const ConvolutionShape& shape) {
  return shape.has_bias && (!shape.clamp || shape.clamp.low == 0);
}

OperationGraph convolution_graph(const ConvolutionShape& shape, bool fused, cudnnHandle_t handle) {
  return Maker(shape, fused).make(handle);
}
#endif

}  // namespace tenon::cuda
