#include "attentions.h"

#include "convolutions.h"

// The operation is as old as cuDNN 9.13.1.
#if TENON_CUDA_HAS_CUDNN
#define TENON_CUDA_HAS_SDPA (CUDNN_VERSION >= 91301)
#else
#define TENON_CUDA_HAS_SDPA 0
#endif

namespace tenon::cuda {

#if TENON_CUDA_HAS_SDPA
namespace {

constexpr size_t kOldest = 91301;
constexpr int kAmpere = 80;
constexpr int32_t kFewQueries =
    16;  // a decoder has fewer, and more keys with each token: a plan for each takes too long

enum AttentionTensor : int64_t { kQueries = 1, kKeys, kValues, kResult, kScale };

/// Whether cuDNN is worth a question.
bool suits(const ep::ops::AttentionSizes& s, float cap, bool has_lengths) {
  const bool is_plain = s.mask_keys < 0 && s.is_causal == 0 && s.left < 0 && s.right < 0 && s.past == 0 &&
                        cap == 0 && !has_lengths;
  return is_plain && s.queries >= kFewQueries && s.keys > 0 && s.batch > 0 && s.kv_heads > 0 && s.size > 0 &&
         s.value_size > 0 && s.size % 8 == 0 && s.value_size % 8 == 0;
}

std::string key_of(const ep::ops::AttentionSizes& s, uint32_t dtype, float scale) {
  std::string out = ep::cat("attention/", ep::dtype_name(dtype), "/", s.batch, "x", s.heads, "x", s.kv_heads,
                            "/", s.queries, "x", s.keys, "/", s.size, "x", s.value_size, "/", scale);
  for (const auto* strides : {&s.q, &s.k, &s.v, &s.y})
    out += ep::cat("/", (*strides)[0], ",", (*strides)[1], ",", (*strides)[2]);
  return out;
}

OperationGraph attention_graph(const ep::ops::AttentionSizes& s, uint32_t dtype, float scale,
                               cudnnHandle_t handle) {
  const cudnnDataType_t type = dtype == TENON_FLOAT16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
  OperationGraph graph;
  const auto tensor = [&](int64_t uid, int64_t heads, int64_t length, int64_t size,
                          const int32_t(&strides)[3]) -> const CudnnDescriptor& {
    const int64_t dims[] = {s.batch, heads, length, size};
    const int64_t steps[] = {strides[0], strides[1], strides[2], 1};
    return graph.tensor(uid, type, dims, steps, false);
  };
  const CudnnDescriptor& q = tensor(kQueries, s.heads, s.queries, s.size, s.q);
  const CudnnDescriptor& k = tensor(kKeys, s.kv_heads, s.keys, s.size, s.k);
  const CudnnDescriptor& v = tensor(kValues, s.kv_heads, s.keys, s.value_size, s.v);
  const CudnnDescriptor& y = tensor(kResult, s.heads, s.queries, s.value_size, s.y);
  const CudnnDescriptor& factor = graph.number(kScale, scale, 4);
  CudnnDescriptor& attend = graph.add_operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
  attend.set(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, q);
  attend.set(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, k);
  attend.set(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, v);
  attend.set(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, y);
  attend.set(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, factor);
  attend.finalize();
  graph.finish(handle);
  return graph;
}

}  // namespace

NodeAttention::NodeAttention(const ep::NodeView& node) : dtype_(node.input(0).dtype()) {
  const Instance& instance = instance_of(node);
  if (instance.convolutions == Worker::kOwn || instance.device.limits().capability < kAmpere) return;
  if (!ep::TypeList<ep::Float16, ep::BFloat16>().contains(dtype_)) return;
  CudnnContext* const context = instance.device.convolutions().context();
  if (context == nullptr || context->version() < kOldest) return;
  context_ = context;
  instance_ = &instance;
}

AttentionGraphPtr NodeAttention::plan(const ep::ops::AttentionSizes& sizes, float scale, float cap,
                                      bool has_lengths) const {
  if (context_ == nullptr || !suits(sizes, cap, has_lengths)) return nullptr;
  const EngineRules rules = engine_rules(*instance_, dtype_);
  const std::string question = key_of(sizes, dtype_, scale) + rules.key();
  const std::string key =
      ep::cat(question, "/", instance_->memory_limit, instance_->measures() ? "/measured" : "");
  return context_->plan(key, [&](cudnnHandle_t handle) -> GraphPlanPtr {
    OperationGraph graph = attention_graph(sizes, dtype_, scale, handle);
    CudnnPlan plan = context_->best_plan(graph, question, rules, *instance_);
    return std::make_shared<const GraphPlan>(GraphPlan{*context_, std::move(graph), std::move(plan)});
  });
}

uint64_t NodeAttention::workspace_bytes(const AttentionGraphPtr& plan) {
  return plan == nullptr ? 0 : plan->plan.workspace_bytes;
}

void NodeAttention::record(Recorder& ctx, const AttentionGraphPtr& plan, const ep::TensorArg& q,
                           const ep::TensorArg& k, const ep::TensorArg& v, const ep::TensorArg& y) const {
  const CUdeviceptr all[] = {address_of(ctx, q), address_of(ctx, k), address_of(ctx, v), address_of(ctx, y),
                             0};
  std::vector<CUdeviceptr> addresses;
  for (const GraphTensor& tensor : plan->graph.tensors()) addresses.push_back(all[tensor.uid - kQueries]);
  const CUdeviceptr workspace = plan->plan.workspace_bytes == 0 ? 0 : address_of(ctx, WorkspaceArg{});
  ctx.launches().add(CudnnContext::call(plan, addresses, workspace));
}

#else

NodeAttention::NodeAttention(const ep::NodeView&) {}
AttentionGraphPtr NodeAttention::plan(const ep::ops::AttentionSizes&, float, float, bool) const {
  return nullptr;
}
uint64_t NodeAttention::workspace_bytes(const AttentionGraphPtr&) { return 0; }
void NodeAttention::record(Recorder&, const AttentionGraphPtr&, const ep::TensorArg&, const ep::TensorArg&,
                           const ep::TensorArg&, const ep::TensorArg&) const {
  ep::fail(TENON_INTERNAL, "attention by cuDNN, without cuDNN");
}

#endif

}  // namespace tenon::cuda
