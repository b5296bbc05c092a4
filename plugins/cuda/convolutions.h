// Convolutions through cuDNN, where it is there and can do them.
//
// For a kernel with convolutions (kernels/conv.cc):
//   NodeConvolution library_(node);                                       in the constructor
//   state.plan = library_.plan(window, rank, images, ...);                in prepare: null if own kernels must do it
//   p.workspace(NodeConvolution::workspace_bytes(*state.plan), 256);      unless it is 0
//   library_.record(ctx, state.plan, x, filters, bias, addend, y);        in record
#pragma once

#include <memory>
#include <mutex>

#include "convolution_graph.h"
#include "finish.h"
#include "kernels/common/kernel.h"

namespace tenon::cuda {

class CudnnContext;     // cudnn_plans.h
class ConvolutionPlan;  // convolutions.cc: an engine of cuDNN for one convolution
using ConvolutionPlanPtr = std::shared_ptr<const ConvolutionPlan>;

/// cuDNN on an open device. The Device owns it, and ends it while its context is alive. Thread-safe.
class Convolutions {
 public:
  /// Opens nothing: that is for the first convolution.
  explicit Convolutions(const Device& device);
  ~Convolutions();
  Convolutions(const Convolutions&) = delete;
  Convolutions& operator=(const Convolutions&) = delete;

  /// Keeps what was measured in the host's cache, unless nothing is new: when an Instance ends.
  void save(const ep::InstanceSettings& instance);

  /// Null where the library is absent, was not known at build time, or refuses the device; the log has the reason then.
  CudnnContext* context();
  /// Made at the first call. Null if cuDNN cannot do the convolution; the log has the first reason.
  ConvolutionPlanPtr plan(const ConvolutionShape& shape, const Instance& instance);

 private:
  const Device& device_;
  std::mutex mutex_;
  bool is_tried_ = false;
  std::unique_ptr<CudnnContext> context_;
};

/// The convolutions of one node.
class NodeConvolution {
 public:
  NodeConvolution() = default;
  /// `node`: a Conv. Its clamp is that of the node's settings.
  explicit NodeConvolution(const ep::NodeView& node);

  /// Null where own kernels must do it. `has_addend`: a tensor of the shape of the result is added before the clamp.
  ConvolutionPlanPtr plan(const ep::Window& window, int32_t spatial_rank, int32_t images, int32_t channels,
                          int32_t filters, int32_t groups, bool has_bias, bool has_addend) const;
  /// Of the node's workspace, from its beginning.
  static uint64_t workspace_bytes(const ConvolutionPlan& plan);

  /// Lists the convolution.
  void record(Recorder& ctx, const ConvolutionPlanPtr& plan, const ep::TensorArg& x,
              const ep::TensorArg& filters, const ep::TensorArg& bias, const ep::TensorArg& addend,
              const ep::TensorArg& y) const;

 private:
  const Instance* instance_ = nullptr;  // null: own kernels do all
  uint32_t dtype_ = TENON_FLOAT32;
  ep::Clamp clamp_;
  Finish finish_;
};

}  // namespace tenon::cuda
