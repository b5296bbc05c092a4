// What is known of an address.
#include "memory.h"
#include "process.h"

namespace fake_cuda {
namespace {

template <class T>
void put(void* out, T value) {
  *static_cast<T*>(out) = value;
}

/// What the driver knows of an address, host or device.
struct Known {
  Device* device = nullptr;  // null: pinned memory of the host
  uint64_t begin = 0, bytes = 0;
  const Allocation* allocation = nullptr;
  const HostMemory* host = nullptr;
};

bool find(CUdeviceptr address, Known* out) {
  out->allocation = find_allocation(address, 1, &out->device, &out->begin);
  if (out->allocation != nullptr) {
    out->bytes = out->allocation->bytes;
    return true;
  }
  out->host = find_host_memory(reinterpret_cast<const void*>(address), 1, &out->begin);
  if (out->host != nullptr) out->bytes = out->host->bytes;
  return out->host != nullptr;
}

/// False: there is no such attribute of this address.
bool attribute_of(const Call& call, const Known& it, CUpointer_attribute attribute, CUdeviceptr address,
                  void* out) {
  Device& device = it.device != nullptr ? *it.device : call.device();
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      put(out, reinterpret_cast<CUcontext>(device.context.get()));
      return true;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      put<unsigned>(out, it.device != nullptr ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
      return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      if (it.host != nullptr && it.host->registered) return false;
      put<CUdeviceptr>(out, address);
      return true;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (it.host == nullptr) return false;
      put(out, reinterpret_cast<void*>(address));
      return true;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      put<int>(out, static_cast<int>(device.index));
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      put<CUdeviceptr>(out, it.begin);
      return true;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      put<size_t>(out, it.bytes);
      return true;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      put<unsigned long long>(out, it.begin >> 8);
      return true;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      put<bool>(out, false);
      return true;
    case CU_POINTER_ATTRIBUTE_MAPPED:
      put<bool>(out, it.host == nullptr || !it.host->registered);
      return true;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: {
      const Pool* pool = it.allocation == nullptr ? nullptr : it.allocation->pool;
      put(out, reinterpret_cast<CUmemoryPool>(const_cast<Pool*>(pool)));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

CUresult cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  return run_call("cuPointerGetAttribute", kContext, [&](Call& call) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    Known known;
    require(find(address, &known) && attribute_of(call, known, attribute, address, out),
            CUDA_ERROR_INVALID_VALUE, "not known of this address");
  });
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** out,
                                CUdeviceptr address) {
  return run_call("cuPointerGetAttributes", kContext, [&](Call& call) {
    require(attributes != nullptr && out != nullptr, CUDA_ERROR_INVALID_VALUE);
    Known known;
    const bool found = find(address, &known);
    for (unsigned i = 0; i < count; ++i) {
      // Attributes of memory that CUDA does not know are zero, as its documents say.
      if (found && attribute_of(call, known, attributes[i], address, out[i])) continue;
      switch (attributes[i]) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
          put<unsigned>(out[i], 0);
          break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
          put<int>(out[i], -2);
          break;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        case CU_POINTER_ATTRIBUTE_MAPPED:
          put<bool>(out[i], false);
          break;
        default:
          put<void*>(out[i], nullptr);
          break;
      }
    }
  });
}
