// How cuDNN does a graph of operations: the engine is chosen by its heuristics and by measured time.
#pragma once

#include "cudnn_api.h"

#if TENON_CUDA_HAS_CUDNN
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api.h"
#include "instance.h"
#include "program.h"
#include "tenon/ep/device/answers.hpp"

namespace tenon::cuda {

/// What an engine may do.
struct EngineRules {
  bool tensor_cores = true;    // for float32 they are TF32
  bool down_converts = false;  // inputs to fewer bits
  bool transforms = false;  // FFT, and Winograd's with large tiles: small results lose digits to large ones
  bool strict = false;      // no Winograd with small tiles either
  bool deterministic = false;

  /// Tells rules apart: engines that break those of one session are none for another.
  std::string key() const;
};
/// For operations on `dtype`: float32 is computed exactly unless the session allows less.
EngineRules engine_rules(const Instance& instance, uint32_t dtype);

/// A tensor of a graph that has memory, or is a number.
struct GraphTensor {
  int64_t uid = 0;
  uint64_t bytes = 0;
  bool is_number = false;
  float number = 0;
};

/// An operation graph with all that it refers to.
class OperationGraph {
 public:
  OperationGraph() = default;
  OperationGraph(OperationGraph&&) = default;
  OperationGraph& operator=(OperationGraph&&) = default;

  /// A tensor with strides; without memory if `is_virtual`. `dtype`: cuDNN's.
  const CudnnDescriptor& tensor(int64_t uid, cudnnDataType_t dtype, std::span<const int64_t> dims,
                                std::span<const int64_t> strides, bool is_virtual);
  /// A number that multiplies or is added, with `rank` dims.
  const CudnnDescriptor& number(int64_t uid, float value, size_t rank);
  /// An empty descriptor; finalize() it before others refer to it.
  CudnnDescriptor& add(cudnnBackendDescriptorType_t type);
  /// The next operation of the graph.
  CudnnDescriptor& add_operation(cudnnBackendDescriptorType_t type);
  void finish(cudnnHandle_t handle);

  const CudnnDescriptor& get() const { return graph_; }
  const std::vector<GraphTensor>& tensors() const { return tensors_; }

 private:
  std::vector<std::unique_ptr<CudnnDescriptor>> parts_;
  std::vector<const CudnnDescriptor*> operations_;
  std::vector<GraphTensor> tensors_;
  CudnnDescriptor graph_;
};

/// An engine with its settings for one graph.
struct CudnnPlan {
  CudnnDescriptor config, plan;
  uint64_t workspace_bytes = 0;
};

class CudnnContext;

/// A graph with its plan.
struct GraphPlan {
  CudnnContext& context;
  OperationGraph graph;
  CudnnPlan plan;
};
using GraphPlanPtr = std::shared_ptr<const GraphPlan>;

/// cuDNN for a device. Thread-safe.
class CudnnContext {
 public:
  /// Throws if the library refuses the device.
  CudnnContext(const Device& device, const CudnnApi& api);
  ~CudnnContext();
  CudnnContext(const CudnnContext&) = delete;
  CudnnContext& operator=(const CudnnContext&) = delete;

  size_t version() const { return api_.version; }
  ep::MeasuredAnswers& answers() { return answers_; }

  /// Calls `make(handle)` at the first call with a key, one call at a time. Null if that throws, unless the device is to blame: then
  /// cuDNN does not do the graph, and the log has the first reason; only a lack of memory is not remembered. `key` also names the
  /// graph there.
  GraphPlanPtr plan(const std::string& key, const std::function<GraphPlanPtr(cudnnHandle_t)>& make);
  /// The best plan for a graph, within `make`. Throws UNIMPLEMENTED with the reason if there is none. `question`: names the graph
  /// in measured answers.
  CudnnPlan best_plan(const OperationGraph& graph, const std::string& question, const EngineRules& rules,
                      const Instance& instance);
  /// The graph as work for a stream. `addresses`: of its tensors, in its order; numbers have none.
  static LibraryCall call(const GraphPlanPtr& plan, std::span<const CUdeviceptr> addresses,
                          CUdeviceptr workspace);

 private:
  class Engines;

  static CudnnDescriptor pack(const OperationGraph& graph, std::span<const CUdeviceptr> addresses,
                              CUdeviceptr workspace);
  void execute(const CudnnDescriptor& plan, const CudnnDescriptor& pack, CUstream stream);
  int64_t measure(const OperationGraph& graph, const CudnnPlan& plan, Device& device);
  std::optional<GraphPlanPtr> find(const std::string& key);

  const Device& device_;
  const CudnnApi& api_;
  ep::MeasuredAnswers answers_;
  std::mutex building_;
  cudnnHandle_t build_handle_ = nullptr;
  // A Run takes no mutex (R41). Neither handles nor plans may be used by two threads at once.
  std::atomic_flag is_running_ = ATOMIC_FLAG_INIT;
  cudnnHandle_t run_handle_ = nullptr;
  std::mutex mutex_;  // for what follows
  std::map<std::string, GraphPlanPtr, std::less<>> plans_;
};

}  // namespace tenon::cuda
#endif
