// Attributes that the library computes.
#include <algorithm>
#include <cstring>

#include "descriptor.h"
#include "engines.h"

namespace fake_cudnn {
namespace {

/// A list of numbers: as many as are asked for, or how many there are.
template <class T>
cudnnStatus_t write_list(const std::vector<T>& from, int64_t requested, int64_t* count, void* to) {
  const auto all = static_cast<int64_t>(from.size());
  // Without a place, or without a request, it is how many there are.
  if (count != nullptr) *count = to == nullptr || requested == 0 ? all : std::min(requested, all);
  if (to != nullptr) std::copy_n(from.begin(), std::min(requested, all), static_cast<T*>(to));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t write_number(int64_t value, int64_t requested, int64_t* count, void* to) {
  if (requested != 1 || to == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM, "an attribute with a wrong number of elements");
  if (count != nullptr) *count = 1;
  std::memcpy(to, &value, sizeof(value));
  return CUDNN_STATUS_SUCCESS;
}

/// Makes the program's descriptor one of that engine. Descriptors that are finalized already, or of another type, are left out.
bool fill(cudnnBackendDescriptor_t handle, cudnnBackendDescriptorType_t type, const Descriptor& from,
          const std::shared_ptr<const Engine>& engine) {
  const std::shared_ptr<Descriptor> to = descriptor_of(handle);
  if (to == nullptr || to->type != type || to->is_finalized) return false;
  to->graph = from.graph;
  to->engine = engine;
  to->capability = from.capability;
  if (type == CUDNN_BACKEND_ENGINE_DESCRIPTOR) {
    Value& index = to->values[CUDNN_ATTR_ENGINE_GLOBAL_INDEX];
    index = {CUDNN_TYPE_INT64, 1, std::vector<std::byte>(sizeof(int64_t)), {}};
    std::memcpy(index.bytes.data(), &engine->index, sizeof(int64_t));
  }
  to->is_finalized = true;
  return true;
}

cudnnStatus_t write_results(const Descriptor& d, int64_t requested, int64_t* count, void* to) {
  const auto all = static_cast<int64_t>(d.results.size());
  if (to == nullptr) {
    if (count != nullptr) *count = all;
    return CUDNN_STATUS_SUCCESS;
  }
  int64_t filled = 0;
  for (int64_t i = 0; i < std::min(requested, all); ++i) {
    filled += fill(static_cast<cudnnBackendDescriptor_t*>(to)[i], CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, d,
                   d.results[static_cast<size_t>(i)]);
  }
  if (count != nullptr) *count = filled;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t write_engine(const Descriptor& d, cudnnBackendDescriptorType_t type, int64_t requested,
                           int64_t* count, void* to) {
  if (requested != 1 || to == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM, "an attribute with a wrong number of elements");
  if (!fill(*static_cast<cudnnBackendDescriptor_t*>(to), type, d, d.engine))
    return failed(CUDNN_STATUS_BAD_PARAM, "a descriptor that cannot be filled");
  if (count != nullptr) *count = 1;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t query(const Descriptor& d, cudnnBackendAttributeName_t name, int64_t requested, int64_t* count,
                    void* to, bool* computed) {
  *computed = true;
  switch (name) {
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
      return write_number(engine_count(*d.graph), requested, count, to);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      return write_list(d.engine->notes, requested, count, to);
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
      return write_list(d.engine->behaviour, requested, count, to);
    case CUDNN_ATTR_ENGINE_KNOB_INFO:
    case CUDNN_ATTR_ENGINE_LAYOUT_INFO:
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
      return write_list(std::vector<cudnnBackendDescriptor_t>(), 0, count,
                        nullptr);  // engines have no knobs here
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      return write_results(d, requested, count, to);
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      return write_engine(d, CUDNN_BACKEND_ENGINE_DESCRIPTOR, requested, count, to);
    case CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG:
      return write_engine(d, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, requested, count, to);
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      return write_number(d.engine->workspace, requested, count, to);
    default:
      *computed = false;
      return CUDNN_STATUS_SUCCESS;
  }
}

}  // namespace fake_cudnn
