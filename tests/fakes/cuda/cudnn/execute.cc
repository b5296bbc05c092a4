// cudnnBackendExecute: its arguments are checked here, and the graph is computed in the device's process.
#include <algorithm>
#include <cstring>

#include "descriptor.h"
#include "engines.h"
#include "graph.h"
#include "handle.h"

namespace fake_cudnn {
namespace {

constexpr uintptr_t kWorkspaceAlignment = 16;

/// A tensor's memory.
struct Memory {
  const void* address = nullptr;
  int64_t bytes = 0;

  bool overlaps(const Memory& other) const {
    const auto begin = [](const Memory& m) { return reinterpret_cast<uintptr_t>(m.address); };
    return begin(*this) < begin(other) + static_cast<uintptr_t>(other.bytes) &&
           begin(other) < begin(*this) + static_cast<uintptr_t>(bytes);
  }
};

bool is_aligned(const void* address, uintptr_t alignment) {
  return reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

class Execution {
 public:
  Execution(const Descriptor& plan, const Descriptor& pack)
      : graph_(*plan.graph),
        engine_(*plan.engine),
        ids_(pack.all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)),
        pointers_(pack.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)),
        workspace_(pack.one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr)),
        memory_(graph_.tensors.size()) {}

  cudnnStatus_t run(CUstream stream) {
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      if (const cudnnStatus_t status = take(i); status != CUDNN_STATUS_SUCCESS) return status;
    }
    if (engine_.workspace != 0) {
      if (workspace_ == nullptr)
        return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the plan needs a workspace");
      if (!is_aligned(workspace_, kWorkspaceAlignment))
        return failed(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "the workspace is not aligned to 16 bytes");
      header_.workspace_range = work_.writes(workspace_, engine_.workspace);
      header_.workspace_bytes = engine_.workspace;
    }
    if (!is_apart())
      return failed(CUDNN_STATUS_BAD_PARAM, "a result lies over another tensor or the workspace");
    header_.tensors = static_cast<int32_t>(graph_.tensors.size());
    header_.nodes = static_cast<int32_t>(graph_.nodes.size());
    header_.rounding = engine_.rounding;
    std::vector<std::byte> arguments;
    const auto add = [&](const void* from, size_t bytes) {
      const auto* const begin = static_cast<const std::byte*>(from);
      arguments.insert(arguments.end(), begin, begin + bytes);
    };
    add(&header_, sizeof(header_));
    add(graph_.tensors.data(), graph_.tensors.size() * sizeof(Tensor));
    add(graph_.nodes.data(), graph_.nodes.size() * sizeof(Node));
    if (work_.enqueue(stream, arguments.data(), arguments.size()) != CUDA_SUCCESS)
      return failed(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER, "the driver does not take the work");
    return CUDNN_STATUS_SUCCESS;
  }

 private:
  cudnnStatus_t take(size_t index) {
    Tensor& tensor = graph_.tensors[index];
    if (tensor.is_virtual) return CUDNN_STATUS_SUCCESS;
    const auto found = std::find(ids_.begin(), ids_.end(), tensor.uid);
    if (found == ids_.end())
      return failed(CUDNN_STATUS_BAD_PARAM, "the variant pack lacks tensor " + std::to_string(tensor.uid));
    const void* const address = pointers_[static_cast<size_t>(found - ids_.begin())];
    if (address == nullptr)
      return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
                    "tensor " + std::to_string(tensor.uid) + " has no memory");
    if (tensor.is_value) {
      tensor.value = fake_cuda::load(address, tensor.type, 0);
      return CUDNN_STATUS_SUCCESS;
    }
    if (!is_aligned(address, static_cast<uintptr_t>(tensor.alignment)))
      return failed(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
                    "tensor " + std::to_string(tensor.uid) + " is not aligned to " +
                        std::to_string(tensor.alignment) + " bytes");
    const int64_t bytes = tensor.elements() == 0 ? 0 : (tensor.last() + 1) * fake_cuda::bytes_of(tensor.type);
    memory_[index] = {address, bytes};
    tensor.range = graph_.producers[index] >= 0 ? work_.writes(address, bytes) : work_.reads(address, bytes);
    return CUDNN_STATUS_SUCCESS;
  }

  /// A result may lie in an operand of a pointwise operation, element by element.
  bool is_in_place(size_t result, size_t operand) const {
    const Tensor &y = graph_.tensors[result], &x = graph_.tensors[operand];
    if (memory_[result].address != memory_[operand].address || x.type != y.type || !x.has_dims_of(y) ||
        !std::equal(x.strides, x.strides + x.rank, y.strides))
      return false;
    return std::none_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const Node& node) {
      const auto reads = static_cast<int32_t>(operand);
      return node.kind != Kind::kPointwise && (node.x == reads || node.b == reads);
    });
  }

  bool is_apart() const {
    const Memory workspace{workspace_, header_.workspace_bytes};
    for (size_t i = 0; i < memory_.size(); ++i) {
      if (memory_[i].address == nullptr) continue;
      if (memory_[i].overlaps(workspace)) return false;
      for (size_t j = 0; j < memory_.size() && graph_.producers[i] >= 0; ++j) {
        if (j != i && memory_[j].address != nullptr && memory_[i].overlaps(memory_[j]) && !is_in_place(i, j))
          return false;
      }
    }
    return true;
  }

  Graph graph_;  // a copy, with addresses
  const Engine& engine_;
  const std::span<const int64_t> ids_;
  const std::span<void* const> pointers_;
  void* const workspace_;
  std::vector<Memory> memory_;
  Header header_;
  fake_cuda::DeviceWork work_{tenon_fake_cudnn_execute, "tenon_fake_cudnn_execute", "cudnnBackendExecute"};
};

bool is_ready(const std::shared_ptr<Descriptor>& descriptor, cudnnBackendDescriptorType_t type) {
  return descriptor != nullptr && descriptor->type == type && descriptor->is_finalized;
}

}  // namespace
}  // namespace fake_cudnn

using namespace fake_cudnn;

extern "C" cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan_handle,
                                             cudnnBackendDescriptor_t pack_handle) {
  if (!is_usable(handle)) return failed(CUDNN_STATUS_BAD_PARAM, "a handle of another context, or none");
  const std::shared_ptr<Descriptor> plan = descriptor_of(plan_handle), pack = descriptor_of(pack_handle);
  if (!is_ready(plan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) ||
      !is_ready(pack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR))
    return failed(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a plan or a variant pack that is not finalized");
  return Execution(*plan, *pack).run(handle->stream);
}
