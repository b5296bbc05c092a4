// Attention through cuDNN, where it is there and can do it: in 16 bits, without masks, and for more queries than a decoder has.
//
// For kernels/attention.cc:
//   NodeAttention library_(node);                                         in the constructor
//   state.library = library_.plan(sizes, ...);                            in prepare: null if own kernels must do it
//   p.workspace(NodeAttention::workspace_bytes(state.library), 256);      unless it is 0
//   library_.record(ctx, state.library, q, k, v, y);                      in record
#pragma once

#include <memory>

#include "kernels/common/kernel.h"
#include "tenon/ep/device/ops/attention.hpp"

namespace tenon::cuda {

class CudnnContext;
struct GraphPlan;  // cudnn_plans.h
using AttentionGraphPtr = std::shared_ptr<const GraphPlan>;

/// The attention of one node.
class NodeAttention {
 public:
  NodeAttention() = default;
  /// `node`: an Attention. As with convolutions, the option `convolutions` says whether cuDNN is used.
  explicit NodeAttention(const ep::NodeView& node);

  /// Null where own kernels must do it. `scale`: of the scores. `cap`: 0 for none. `has_lengths`: sequences have their own.
  AttentionGraphPtr plan(const ep::ops::AttentionSizes& sizes, float scale, float cap,
                         bool has_lengths) const;
  /// Of the node's workspace, from its beginning. 0 for a null pointer.
  static uint64_t workspace_bytes(const AttentionGraphPtr& plan);

  /// Lists the attention.
  void record(Recorder& ctx, const AttentionGraphPtr& plan, const ep::TensorArg& q, const ep::TensorArg& k,
              const ep::TensorArg& v, const ep::TensorArg& y) const;

 private:
  CudnnContext* context_ = nullptr;  // null: own kernels do all
  const Instance* instance_ = nullptr;
  uint32_t dtype_ = TENON_FLOAT16;
};

}  // namespace tenon::cuda
