#include "convolutions.h"

#include <algorithm>

namespace tenon::cuda {

#if TENON_CUDA_HAS_CUDNN
class ConvolutionPlan : public GraphPlan {
 public:
  ConvolutionPlan(GraphPlan plan_of_graph, const ConvolutionShape& convolution, bool is_whole)
      : GraphPlan(std::move(plan_of_graph)), shape(convolution), fused(is_whole) {}

  const ConvolutionShape shape;
  const bool fused;  // with the epilogue
};

Convolutions::Convolutions(const Device& device) : device_(device) {}
Convolutions::~Convolutions() = default;

void Convolutions::save(const ep::InstanceSettings& instance) {
  const std::lock_guard lock(mutex_);
  if (context_ != nullptr) context_->answers().save(instance);
}

CudnnContext* Convolutions::context() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_tried_, true)) return context_.get();
  std::string why = why_no_cudnn();
  if (const CudnnApi* api = cudnn()) {
    try {
      context_ = std::make_unique<CudnnContext>(device_, *api);
    } catch (const ep::Error& error) {
      why = error.text;
      is_tried_ = error.code != TENON_RESOURCE_EXHAUSTED;  // there may be memory the next time
    }
  }
  if (context_ == nullptr) device_.log_once(TENON_LOG_WARNING, "no_cudnn", "cuDNN is not used: " + why);
  return context_.get();
}

ConvolutionPlanPtr Convolutions::plan(const ConvolutionShape& shape, const Instance& instance) {
  CudnnContext& cudnn = *context();
  const EngineRules rules = engine_rules(instance, shape.dtype);
  const auto make = [&](bool fused, cudnnHandle_t handle) {
    OperationGraph graph = convolution_graph(shape, fused, handle);
    const std::string question = ep::cat(shape.key(), rules.key(), fused ? "" : "/alone");
    CudnnPlan plan = cudnn.best_plan(graph, question, rules, instance);
    return std::make_shared<const ConvolutionPlan>(GraphPlan{cudnn, std::move(graph), std::move(plan)}, shape,
                                                   fused);
  };
  const std::string key =
      ep::cat(shape.key(), rules.key(), "/", instance.memory_limit, instance.measures() ? "/measured" : "");
  return std::static_pointer_cast<const ConvolutionPlan>(
      cudnn.plan(key, [&](cudnnHandle_t handle) -> GraphPlanPtr {
        if (can_fuse(shape)) {
          try {
            return make(true, handle);
          } catch (const ep::Error& error) {
            if (error.flags != 0 || error.code == TENON_RESOURCE_EXHAUSTED) throw;
          }
        }
        return make(false, handle);
      }));
}

NodeConvolution::NodeConvolution(const ep::NodeView& node)
    : dtype_(node.input(0).dtype()), clamp_(clamp_of(node)) {
  const Instance& instance = instance_of(node);
  if (instance.convolutions == Worker::kOwn) return;
  if (!ep::TypeList<float, ep::Float16, ep::BFloat16>().contains(dtype_)) return;
  const bool is_there = instance.device.convolutions().context() != nullptr;
  ep::require(is_there || instance.convolutions != Worker::kLibrary, TENON_FAILED_PRECONDITION,
              "convolutions = \"cudnn\", but cuDNN cannot be used (the log says why); leave it at \"auto\"");
  if (!is_there) return;
  instance_ = &instance;
  finish_ = Finish(node, dtype_);
}

ConvolutionPlanPtr NodeConvolution::plan(const ep::Window& window, int32_t spatial_rank, int32_t images,
                                         int32_t channels, int32_t filters, int32_t groups, bool has_bias,
                                         bool has_addend) const {
  if (instance_ == nullptr || images == 0 || channels == 0 || filters == 0) return nullptr;
  const auto is_positive = [](int32_t size) { return size > 0; };
  if (!std::all_of(window.in, window.in + 3, is_positive) ||
      !std::all_of(window.out, window.out + 3, is_positive))
    return nullptr;
  return instance_->device.convolutions().plan(
      {dtype_, spatial_rank, window, images, channels, filters, groups, has_bias, has_addend, clamp_},
      *instance_);
}

uint64_t NodeConvolution::workspace_bytes(const ConvolutionPlan& plan) { return plan.plan.workspace_bytes; }

void NodeConvolution::record(Recorder& ctx, const ConvolutionPlanPtr& plan, const ep::TensorArg& x,
                             const ep::TensorArg& filters, const ep::TensorArg& bias,
                             const ep::TensorArg& addend, const ep::TensorArg& y) const {
  const CUdeviceptr all[] = {address_of(ctx, x), address_of(ctx, filters), address_of(ctx, addend),
                             address_of(ctx, bias), address_of(ctx, y)};
  std::vector<CUdeviceptr> addresses;
  for (const GraphTensor& tensor : plan->graph.tensors()) addresses.push_back(all[tensor.uid - kImages]);
  const CUdeviceptr workspace = plan->plan.workspace_bytes == 0 ? 0 : address_of(ctx, WorkspaceArg{});
  ctx.launches().add(CudnnContext::call(plan, addresses, workspace));
  const ConvolutionShape& shape = plan->shape;
  if (plan->fused || !shape.has_epilogue()) return;
  const ep::Window& w = shape.window;
  const int32_t points = w.out[0] * w.out[1] * w.out[2];
  FinishArgs rest;
  rest.batches =
      ep::make_walk(ep::Dims{shape.images}, {{0}, {0}, {ep::product_of(shape.filters, points)}, {0}}, true);
  rest.rows = shape.filters;
  rest.columns = rest.y_row = points;
  rest.bias_row = 1;
  rest.lowest = shape.clamp.low;
  rest.highest = shape.clamp.high;
  finish_.record(ctx, rest, bias, addend, y);
}

#else

class CudnnContext {};
class ConvolutionPlan {};

Convolutions::Convolutions(const Device& device) : device_(device) {}
Convolutions::~Convolutions() = default;
void Convolutions::save(const ep::InstanceSettings&) {}
CudnnContext* Convolutions::context() {
  device_.log_once(TENON_LOG_WARNING, "no_cudnn", "cuDNN is not used: " + why_no_cudnn());
  return nullptr;
}
ConvolutionPlanPtr Convolutions::plan(const ConvolutionShape&, const Instance&) { return nullptr; }

NodeConvolution::NodeConvolution(const ep::NodeView& node)
    : dtype_(node.input(0).dtype()), clamp_(clamp_of(node)) {
  const Instance& instance = instance_of(node);
  if (instance.convolutions == Worker::kOwn) return;
  instance.device.convolutions().context();
  ep::require(instance.convolutions != Worker::kLibrary, TENON_FAILED_PRECONDITION,
              "convolutions = \"cudnn\", but ", why_no_cudnn(), ", or leave it at \"auto\"");
}
ConvolutionPlanPtr NodeConvolution::plan(const ep::Window&, int32_t, int32_t, int32_t, int32_t, int32_t, bool,
                                         bool) const {
  return nullptr;
}
uint64_t NodeConvolution::workspace_bytes(const ConvolutionPlan&) { return 0; }
void NodeConvolution::record(Recorder&, const ConvolutionPlanPtr&, const ep::TensorArg&, const ep::TensorArg&,
                             const ep::TensorArg&, const ep::TensorArg&, const ep::TensorArg&) const {
  ep::fail(TENON_INTERNAL, "a convolution of cuDNN, without cuDNN");
}

#endif

}  // namespace tenon::cuda
