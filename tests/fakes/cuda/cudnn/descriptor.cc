#include "descriptor.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "attributes.h"

namespace fake_cudnn {
namespace {

struct Handles {
  std::mutex mutex;
  std::unordered_map<cudnnBackendDescriptor_t, std::shared_ptr<Descriptor>> alive;
};
Handles& handles() {
  static auto* const all = new Handles;  // programs may end while they use the library
  return *all;
}

/// The operations that an operation graph takes.
bool is_operation(cudnnBackendDescriptorType_t type) {
  return type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR;
}

/// NVIDIA's library reads what the handles point to without a look at it. Here, they have to be what the attribute takes.
cudnnStatus_t take_descriptors(const Attribute& attribute, int64_t count, const void* from, Value* to) {
  const auto* const given = static_cast<const cudnnBackendDescriptor_t*>(from);
  for (int64_t i = 0; i < count; ++i) {
    std::shared_ptr<Descriptor> child = descriptor_of(given[i]);
    if (child == nullptr) return failed(CUDNN_STATUS_BAD_PARAM, "an attribute that refers to no descriptor");
    const bool suits = attribute.name == CUDNN_ATTR_OPERATIONGRAPH_OPS ? is_operation(child->type)
                                                                       : child->type == attribute.child;
    if (!suits)
      return failed(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                    "an attribute that refers to a descriptor of another type");
    if (!child->is_finalized)
      return failed(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                    "an attribute that refers to a descriptor before it is finalized");
    to->descriptors.push_back(std::move(child));
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set(Descriptor& d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  int64_t count, const void* from) {
  const Attribute* const attribute = find_attribute(d.type, name);
  if (d.is_finalized)
    return failed(CUDNN_STATUS_BAD_PARAM, "an attribute is set after the descriptor was finalized");
  if (attribute == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM, "an attribute that the descriptor does not have");
  const bool is_text = name == CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION;  // of any type, as there
  if (!is_text && (type < 0 || type > 31 || (attribute->settable >> type & 1) == 0))
    return failed(attribute->otherwise, "an attribute of another type");
  if (count < attribute->least || count > attribute->most || from == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM, "an attribute with a wrong number of elements, or without any");
  Value value{type, count, {}, {}};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    if (const cudnnStatus_t status = take_descriptors(*attribute, count, from, &value);
        status != CUDNN_STATUS_SUCCESS)
      return status;
  } else {
    value.bytes.resize(static_cast<size_t>(count) * (is_text ? 1 : size_of(type)));
    std::memcpy(value.bytes.data(), from, value.bytes.size());
  }
  d.values[name] = std::move(value);
  return CUDNN_STATUS_SUCCESS;
}

/// What NVIDIA's library gives for attributes that were not set.
template <class T>
void add_default(Descriptor& d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, T value) {
  if (d.has(name)) return;
  Value& to = d.values[name];
  to = {type, 1, std::vector<std::byte>(sizeof(T)), {}};
  std::memcpy(to.bytes.data(), &value, sizeof(T));
}

void add_defaults(Descriptor& d) {
  switch (d.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      add_default<int64_t>(d, CUDNN_ATTR_TENSOR_VECTOR_COUNT, CUDNN_TYPE_INT64, 1);
      add_default<int64_t>(d, CUDNN_ATTR_TENSOR_VECTORIZED_DIMENSION, CUDNN_TYPE_INT64, -1);
      add_default<bool>(d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, false);
      return add_default<bool>(d, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, false);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return add_default<bool>(d, CUDNN_ATTR_OPERATIONGRAPH_IS_DYNAMIC_SHAPE_ENABLED, CUDNN_TYPE_BOOLEAN,
                               false);
    default:
      return;
  }
}

cudnnStatus_t get(const Descriptor& d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  int64_t requested, int64_t* count, void* to) {
  if (!d.is_finalized)
    return failed(CUDNN_STATUS_NOT_INITIALIZED, "an attribute is read before the descriptor is finalized");
  const Attribute* const attribute = find_attribute(d.type, name);
  if (attribute == nullptr)
    return failed(CUDNN_STATUS_BAD_PARAM, "an attribute that the descriptor does not have");
  // NVIDIA's library does not tell these.
  if (name == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)
    return failed(CUDNN_STATUS_NOT_SUPPORTED, "an attribute that is not read");
  const Types wanted = attribute->gettable != 0 ? attribute->gettable : attribute->settable;
  if (type < 0 || type > 31 || (wanted >> type & 1) == 0)
    return failed(attribute->otherwise, "an attribute of another type");
  bool computed = false;
  const cudnnStatus_t status = query(d, name, requested, count, to, &computed);
  if (computed) return status;
  const auto found = d.values.find(name);
  if (found == d.values.end() || found->second.type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    return failed(CUDNN_STATUS_NOT_SUPPORTED, "an attribute that is not read");
  const Value& value = found->second;
  if (attribute->most == 1 && requested != 1)
    return failed(CUDNN_STATUS_BAD_PARAM, "an attribute with a wrong number of elements");
  const int64_t written = to == nullptr ? value.count : std::min(requested, value.count);
  if (count != nullptr) *count = written;
  if (to != nullptr && written > 0)
    std::memcpy(to, value.bytes.data(),
                value.bytes.size() / static_cast<size_t>(value.count) * static_cast<size_t>(written));
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

double Descriptor::real(cudnnBackendAttributeName_t name, double otherwise) const {
  const auto found = values.find(name);
  if (found == values.end()) return otherwise;
  switch (found->second.type) {
    case CUDNN_TYPE_DOUBLE:
      return one<double>(name, otherwise);
    case CUDNN_TYPE_INT32:
      return one<int32_t>(name, 0);
    default:
      return one<float>(name, 0);
  }
}

const Descriptor* Descriptor::child(cudnnBackendAttributeName_t name) const {
  const auto found = values.find(name);
  return found == values.end() || found->second.descriptors.empty() ? nullptr
                                                                    : found->second.descriptors.front().get();
}

std::shared_ptr<Descriptor> descriptor_of(cudnnBackendDescriptor_t handle) {
  const std::lock_guard lock(handles().mutex);
  const auto found = handles().alive.find(handle);
  return found == handles().alive.end() ? nullptr : found->second;
}

size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    case CUDNN_TYPE_FRACTION:
      return sizeof(cudnnFraction_t);
    default:
      return 4;
  }
}

}  // namespace fake_cudnn

using namespace fake_cudnn;

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* out) {
  if (out == nullptr) return failed(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no place for the descriptor");
  if (type < CUDNN_BACKEND_POINTWISE_DESCRIPTOR || type > CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR)
    return failed(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED,
                  "no such type of descriptors");  // so there
  if (!is_known(type)) return failed(CUDNN_STATUS_NOT_SUPPORTED, "the stand-in has no such descriptors");
  auto made = std::make_shared<Descriptor>();
  made->type = type;
  *out = made.get();
  const std::lock_guard lock(handles().mutex);
  handles().alive[*out] = std::move(made);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t handle) {
  const std::lock_guard lock(handles().mutex);
  if (handles().alive.erase(handle) != 0) return CUDNN_STATUS_SUCCESS;
  return failed(handle == nullptr ? CUDNN_STATUS_BAD_PARAM_NULL_POINTER : CUDNN_STATUS_BAD_PARAM,
                "no descriptor");
}

cudnnStatus_t cudnnBackendInitialize(cudnnBackendDescriptor_t handle) {
  return descriptor_of(handle) != nullptr ? CUDNN_STATUS_SUCCESS
                                          : failed(CUDNN_STATUS_BAD_PARAM, "no descriptor");
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  const std::shared_ptr<Descriptor> descriptor = descriptor_of(handle);
  if (descriptor == nullptr)
    return failed(handle == nullptr ? CUDNN_STATUS_BAD_PARAM_NULL_POINTER : CUDNN_STATUS_BAD_PARAM,
                  "no descriptor");
  if (descriptor->is_finalized)
    return failed(CUDNN_STATUS_BAD_PARAM, "the descriptor has been finalized before");
  const cudnnStatus_t status = finalize(*descriptor);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  add_defaults(*descriptor);
  descriptor->is_finalized = true;
  return status;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t handle, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* from) {
  const std::shared_ptr<Descriptor> descriptor = descriptor_of(handle);
  if (descriptor == nullptr)
    return failed(handle == nullptr ? CUDNN_STATUS_BAD_PARAM_NULL_POINTER : CUDNN_STATUS_BAD_PARAM,
                  "no descriptor");
  return set(*descriptor, name, type, count, from);
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const handle,
                                       cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                       int64_t requested, int64_t* count, void* to) {
  const std::shared_ptr<Descriptor> descriptor = descriptor_of(handle);
  if (descriptor == nullptr)
    return failed(handle == nullptr ? CUDNN_STATUS_BAD_PARAM_NULL_POINTER : CUDNN_STATUS_BAD_PARAM,
                  "no descriptor");
  return get(*descriptor, name, type, requested, count, to);
}

}  // extern "C"
