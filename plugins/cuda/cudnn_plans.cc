#include "cudnn_plans.h"

#if TENON_CUDA_HAS_CUDNN
#include <algorithm>
#include <numeric>
#include <thread>

#include "measure.h"

namespace tenon::cuda {
namespace {

constexpr size_t kMostEngines = 4;                      // that are measured
constexpr uint64_t kMostWorkspace = uint64_t{1} << 30;  // bytes
constexpr uint64_t kMostOfScratch = uint64_t{2} << 30;  // bytes; beyond, nothing is measured
constexpr uint64_t kShareOfLimit = 4;                   // of a memory limit may be workspace
constexpr size_t kMostPlans = 512;                      // that are kept for shapes that come again
constexpr int64_t kTensorAlignment = 16;                // domains promise more
constexpr cudnnBackendHeurMode_t kModes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK};
constexpr uint32_t kEnginesPerMode = 1000;  // numbers of engines: mode * this + position

uint64_t bytes_of(cudnnDataType_t dtype) {
  switch (dtype) {
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_INT64:
    case CUDNN_DATA_DOUBLE:
      return 8;
    default:
      return 4;
  }
}

/// Whether an engine keeps the rules.
bool keeps(const CudnnDescriptor& config, const EngineRules& rules) {
  CudnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  config.read(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &handle);
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  const int64_t count = engine.read(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                    CUDNN_NUMERICAL_NOTE_TYPE_COUNT, notes);
  return std::all_of(notes, notes + std::min<int64_t>(count, CUDNN_NUMERICAL_NOTE_TYPE_COUNT),
                     [&](cudnnBackendNumericalNote_t note) {
                       switch (note) {
                         case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
                           return rules.tensor_cores;
                         case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
                           return rules.down_converts;
                         case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
                           return false;  // sums in fewer bits than float32
                         case CUDNN_NUMERICAL_NOTE_FFT:
                         case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
                         case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
                           return rules.transforms;
                         case CUDNN_NUMERICAL_NOTE_WINOGRAD:
                         case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
                           return !rules.strict;
                         case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
                           return !rules.deterministic;
                         default:
                           return true;
                       }
                     });
}

}  // namespace

EngineRules engine_rules(const Instance& instance, uint32_t dtype) {
  const bool is_exact = instance.precision == TENON_PRECISION_EXACT;
  const bool is_narrow =
      instance.precision == TENON_PRECISION_BF16 || instance.precision == TENON_PRECISION_FP16;
  return {dtype != TENON_FLOAT32 || !is_exact, is_narrow, !is_exact && !instance.strict, instance.strict,
          instance.deterministic};
}

std::string EngineRules::key() const {
  return ep::cat(tensor_cores ? "" : "/exact", down_converts ? "/narrow" : "",
                 transforms ? "/transforms" : "", strict ? "/strict" : "", deterministic ? "/same" : "");
}

const CudnnDescriptor& OperationGraph::tensor(int64_t uid, cudnnDataType_t dtype,
                                              std::span<const int64_t> dims, std::span<const int64_t> strides,
                                              bool is_virtual) {
  CudnnDescriptor& out = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  out.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, uid);
  out.set(CUDNN_ATTR_TENSOR_DATA_TYPE, dtype);
  out.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  out.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  out.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kTensorAlignment);
  if (is_virtual) out.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  out.finalize();
  if (!is_virtual) {
    uint64_t elements = 1;
    for (size_t d = 0; d < dims.size(); ++d) elements += static_cast<uint64_t>((dims[d] - 1) * strides[d]);
    tensors_.push_back({.uid = uid, .bytes = elements * bytes_of(dtype)});
  }
  return out;
}

const CudnnDescriptor& OperationGraph::number(int64_t uid, float value, size_t rank) {
  const std::vector<int64_t> ones(rank, 1);
  CudnnDescriptor& out = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  out.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, uid);
  out.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  out.set(CUDNN_ATTR_TENSOR_DIMENSIONS, ones);
  out.set(CUDNN_ATTR_TENSOR_STRIDES, ones);
  out.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kTensorAlignment);
  out.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  out.finalize();
  tensors_.push_back({.uid = uid, .is_number = true, .number = value});
  return out;
}

CudnnDescriptor& OperationGraph::add(cudnnBackendDescriptorType_t type) {
  parts_.push_back(std::make_unique<CudnnDescriptor>(type));
  return *parts_.back();
}

CudnnDescriptor& OperationGraph::add_operation(cudnnBackendDescriptorType_t type) {
  CudnnDescriptor& out = add(type);
  operations_.push_back(&out);
  return out;
}

void OperationGraph::finish(cudnnHandle_t handle) {
  graph_ = CudnnDescriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  std::vector<cudnnBackendDescriptor_t> handles;
  for (const CudnnDescriptor* operation : operations_) handles.push_back(operation->get());
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             static_cast<int64_t>(handles.size()), handles.data());
  graph_.finalize();
}

/// The engines for a graph, by number. Those of a mode are asked for when they are needed.
class CudnnContext::Engines {
 public:
  Engines(const OperationGraph& graph, const EngineRules& rules, cudnnHandle_t handle,
          uint64_t most_workspace)
      : graph_(graph), rules_(rules), handle_(handle), most_workspace_(most_workspace) {}

  size_t count(uint32_t mode) { return of(mode).size(); }
  /// A plan with this engine; nothing if there is none. Then reason() tells why.
  std::optional<CudnnPlan> plan(uint32_t number) {
    std::vector<CudnnDescriptor>& engines = of(number / kEnginesPerMode);
    const size_t position = number % kEnginesPerMode;
    if (position >= engines.size()) return std::nullopt;
    try {
      if (!keeps(engines[position], rules_)) {
        reason_ = "its engines compute less exactly than precision.default allows, or are not deterministic";
        return std::nullopt;
      }
      CudnnPlan out;
      out.plan = CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      out.plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle_);
      out.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engines[position]);
      out.plan.finalize();
      int64_t bytes = 0;
      out.plan.read(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
      out.workspace_bytes = static_cast<uint64_t>(bytes);
      if (out.workspace_bytes > most_workspace_) {
        reason_ = ep::cat("its engine needs ", bytes, " bytes of workspace");
        return std::nullopt;
      }
      out.config = std::move(engines[position]);
      return out;
    } catch (const ep::Error& error) {
      reason_ = error.text;  // engines may refuse a graph for which they were proposed
      return std::nullopt;
    }
  }
  const std::string& reason() const { return reason_; }

 private:
  std::vector<CudnnDescriptor>& of(uint32_t mode) {
    std::optional<std::vector<CudnnDescriptor>>& known = modes_[mode];
    if (!known) known = ask(kModes[mode]);
    return *known;
  }

  std::vector<CudnnDescriptor> ask(cudnnBackendHeurMode_t mode) {
    std::vector<CudnnDescriptor> out;
    try {
      CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
      heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_.get());
      heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
      heuristics.finalize();
      int64_t count =
          heuristics.read(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
      std::vector<cudnnBackendDescriptor_t> handles;
      for (int64_t i = 0; i < std::min<int64_t>(count, kEnginesPerMode); ++i)
        handles.push_back(out.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
      if (handles.empty()) return out;
      count = heuristics.read(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                              static_cast<int64_t>(handles.size()), handles.data());
      out.resize(std::min(out.size(), static_cast<size_t>(count)));
    } catch (const ep::Error& error) {
      reason_ = error.text;
      out.clear();
    }
    return out;
  }

  const OperationGraph& graph_;
  const EngineRules& rules_;
  cudnnHandle_t handle_;
  uint64_t most_workspace_;
  std::optional<std::vector<CudnnDescriptor>> modes_[std::size(kModes)];
  std::string reason_ = "it proposes no engine";
};

CudnnContext::CudnnContext(const Device& device, const CudnnApi& api)
    : device_(device), api_(api), answers_(ep::cat("cudnn/", device.build_key(), "/", api.version)) {
  const Current current(device.context());
  check(api.cudnnCreate(&build_handle_), "cudnnCreate");
  const cudnnStatus_t status = api.cudnnCreate(&run_handle_);
  if (status != CUDNN_STATUS_SUCCESS) api.cudnnDestroy(build_handle_);
  check(status, "cudnnCreate");
}

CudnnContext::~CudnnContext() {
  if (is_forked()) return;
  plans_.clear();  // before the handles that they were made with
  api_.cudnnDestroy(run_handle_);
  api_.cudnnDestroy(build_handle_);
}

std::optional<GraphPlanPtr> CudnnContext::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto known = plans_.find(key);
  return known == plans_.end() ? std::nullopt : std::optional(known->second);
}

GraphPlanPtr CudnnContext::plan(const std::string& key,
                                const std::function<GraphPlanPtr(cudnnHandle_t)>& make) {
  if (const auto known = find(key)) return *known;
  const std::lock_guard building(building_);
  if (const auto known = find(key)) return *known;
  const Current current(device_.context());
  GraphPlanPtr made;
  try {
    made = make(build_handle_);
  } catch (const ep::Error& error) {
    if (error.flags != 0) throw;
    device_.log_once(TENON_LOG_INFO, "cudnn_declines",
                     ep::cat("own kernels do ", key, ", because cuDNN does not: ", error.text));
    if (error.code == TENON_RESOURCE_EXHAUSTED) return nullptr;  // there may be memory the next time
  }
  const std::lock_guard lock(mutex_);
  if (plans_.size() >= kMostPlans) plans_.clear();  // those in use live on
  plans_[key] = made;
  return made;
}

CudnnPlan CudnnContext::best_plan(const OperationGraph& graph, const std::string& question,
                                  const EngineRules& rules, const Instance& instance) {
  uint64_t most = kMostWorkspace;
  if (instance.memory_limit != 0) most = std::min(most, instance.memory_limit / kShareOfLimit);
  Engines engines(graph, rules, build_handle_, most);
  std::vector<uint32_t> numbers(std::size(kModes) * kEnginesPerMode);
  std::iota(numbers.begin(), numbers.end(), 0u);
  const bool measures = instance.measures();
  if (measures) answers_.load(instance);
  const std::optional<uint32_t> known = measures ? answers_.find(question, numbers) : std::nullopt;
  if (known) {
    if (std::optional<CudnnPlan> plan = engines.plan(*known)) return std::move(*plan);
  }
  std::vector<uint32_t> ways;
  std::vector<CudnnPlan> plans;
  for (uint32_t mode = 0; mode < std::size(kModes) && plans.empty(); ++mode) {
    const size_t count = engines.count(mode);
    for (uint32_t i = 0; i < count && plans.size() < (measures ? kMostEngines : 1); ++i) {
      std::optional<CudnnPlan> plan = engines.plan(mode * kEnginesPerMode + i);
      if (!plan) continue;
      ways.push_back(mode * kEnginesPerMode + i);
      plans.push_back(std::move(*plan));
    }
  }
  ep::require(!plans.empty(), TENON_UNIMPLEMENTED, engines.reason());
  if (plans.size() == 1) return std::move(plans.front());
  const auto plan_of = [&](uint32_t way) -> CudnnPlan& {
    return plans[static_cast<size_t>(std::find(ways.begin(), ways.end(), way) - ways.begin())];
  };
  try {
    const auto measure_way = [&](uint32_t way) { return measure(graph, plan_of(way), instance.device); };
    return std::move(plan_of(answers_.fastest(question, ways, measure_way)));
  } catch (const ep::Error& error) {
    if (error.code != TENON_RESOURCE_EXHAUSTED) throw;
    return std::move(plans.front());  // a node that fits runs; the next one measures
  }
}

int64_t CudnnContext::measure(const OperationGraph& graph, const CudnnPlan& plan, Device& device) {
  uint64_t bytes = plan.workspace_bytes;
  for (const GraphTensor& tensor : graph.tensors()) bytes += tensor.bytes;
  ep::require(bytes <= kMostOfScratch, TENON_RESOURCE_EXHAUSTED, "no measurement takes ", bytes, " bytes");
  std::vector<OwnedPiece> pieces;
  std::vector<CUdeviceptr> addresses;
  for (const GraphTensor& tensor : graph.tensors()) {
    if (!tensor.is_number) pieces.emplace_back(device.device_memory(), tensor.bytes);
    addresses.push_back(tensor.is_number ? 0 : pieces.back().get().pointer);
  }
  const OwnedPiece workspace(device.device_memory(), plan.workspace_bytes);
  device.do_now([&](CUstream stream) {
    for (const OwnedPiece& piece : pieces)
      check(driver().cuMemsetD8Async(piece.get().pointer, 0, piece.get().bytes, stream), "cuMemsetD8Async");
  });
  const CudnnDescriptor given = pack(graph, addresses, workspace.get().pointer);
  try {
    return time_of(device, [&](CUstream stream) { execute(plan.plan, given, stream); });
  } catch (const ep::Error& error) {
    if (error.code != TENON_UNIMPLEMENTED && error.code != TENON_INTERNAL) throw;
    return ep::MeasuredAnswers::kFailed;
  }
}

void CudnnContext::execute(const CudnnDescriptor& plan, const CudnnDescriptor& pack, CUstream stream) {
  while (is_running_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  cudnnStatus_t status = api_.cudnnSetStream(run_handle_, stream);
  if (status == CUDNN_STATUS_SUCCESS) status = api_.cudnnBackendExecute(run_handle_, plan.get(), pack.get());
  is_running_.clear(std::memory_order_release);
  check(status, "cudnnBackendExecute");
}

CudnnDescriptor CudnnContext::pack(const OperationGraph& graph, std::span<const CUdeviceptr> addresses,
                                   CUdeviceptr workspace) {
  std::vector<int64_t> uids;
  std::vector<void*> pointers;
  for (size_t i = 0; i < graph.tensors().size(); ++i) {
    const GraphTensor& tensor = graph.tensors()[i];
    uids.push_back(tensor.uid);
    pointers.push_back(tensor.is_number ? const_cast<float*>(&tensor.number) : pointer_of(addresses[i]));
  }
  void* const memory = pointer_of(workspace);
  CudnnDescriptor out(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  out.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(pointers.size()),
          pointers.data());
  out.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, uids);
  out.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &memory);
  out.finalize();
  return out;
}

LibraryCall CudnnContext::call(const GraphPlanPtr& plan, std::span<const CUdeviceptr> addresses,
                               CUdeviceptr workspace) {
  struct Call {
    GraphPlanPtr plan;
    CudnnDescriptor pack;
  };
  auto call = std::make_shared<const Call>(Call{plan, pack(plan->graph, addresses, workspace)});
  return {"cudnnBackendExecute", [call = std::move(call)](CUstream stream) {
            call->plan->context.execute(call->plan->plan.plan, call->pack, stream);
          }};
}

}  // namespace tenon::cuda
#endif
