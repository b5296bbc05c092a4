// Stream-ordered allocation.
#include <algorithm>

#include "capture.h"
#include "memory.h"
#include "process.h"
#include "queue.h"

namespace fake_cuda {

void settle_pools(Device& device) {
  for (const auto& pool : device.pools)
    pool->reserved = std::max(pool->used, std::min(pool->reserved, pool->threshold));
}

void make_default_pool(Device& device) {
  device.pools.push_back(std::make_unique<Pool>());
  device.default_pool = device.current_pool = device.pools.back().get();
  device.default_pool->is_default = true;
  add_handle(device.default_pool, Kind::kPool, &device);
}

namespace {

void require_pools() {
  require(driver().settings.pools, CUDA_ERROR_NOT_SUPPORTED, "the device has no memory pools");
}

RangeCommand range_command(uint64_t address, uint64_t bytes) {
  RangeCommand command;
  command.range = {address, bytes, 1};
  return command;
}

void allocate(Call& call, CUdeviceptr* out, size_t bytes, Pool* pool, CUstream handle) {
  call.say(std::to_string(bytes) + " bytes");
  require_pools();
  require(out != nullptr && bytes > 0, CUDA_ERROR_INVALID_VALUE);
  Stream& stream = stream_of(call, handle);
  if (pool == nullptr) pool = stream.device->current_pool;
  require(pool->device == stream.device, CUDA_ERROR_INVALID_VALUE, "the pool is of another device");
  refuse_implicit(stream);
  const uint64_t address = take_memory(*stream.device, bytes, pool);
  try {
    submit(call, stream, CommandBuffer(Do::kMap, range_command(address, bytes)),
           CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  } catch (const Refusal&) {
    forget_memory(*stream.device, address);
    throw;
  }
  map_for_peers(*stream.device, address, bytes, pool);
  *out = address;
}

uint64_t* counter_of(Pool& pool, CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return &pool.threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return &pool.reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return &pool.reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return &pool.used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return &pool.used_high;
    default:
      return nullptr;
  }
}

bool is_reuse(CUmemPool_attribute attribute) {
  return attribute == CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES ||
         attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC ||
         attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream stream) {
  return run_call("cuMemAllocAsync", kContext,
                  [&](Call& call) { allocate(call, out, bytes, nullptr, stream); });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return run_call("cuMemAllocFromPoolAsync", kContext,
                  [&](Call& call) { allocate(call, out, bytes, &pool_of(pool), stream); });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  return run_call("cuMemFreeAsync", kContext, [&](Call& call) {
    require_pools();
    if (address == 0) return;
    Stream& stream = stream_of(call, handle);
    Device* device = nullptr;
    uint64_t begin = 0;
    const Allocation* found = find_allocation(address, 0, &device, &begin);
    require(found != nullptr && begin == address, CUDA_ERROR_INVALID_VALUE, "no allocation begins there");
    require(found->pool != nullptr, CUDA_ERROR_INVALID_VALUE, "it is not of a pool");
    require(device == stream.device, CUDA_ERROR_INVALID_VALUE, "it is of another device");
    submit(call, stream, CommandBuffer(Do::kUnmap, range_command(address, found->bytes)),
           CU_GRAPH_NODE_TYPE_MEM_FREE);
    forget_memory(*device, address);
  });
}

CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* properties) {
  return run_call("cuMemPoolCreate", kDriver, [&](Call&) {
    require_pools();
    require(out != nullptr && properties != nullptr, CUDA_ERROR_INVALID_VALUE);
    require(properties->allocType == CU_MEM_ALLOCATION_TYPE_PINNED, CUDA_ERROR_INVALID_VALUE);
    require(properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED,
            "the stand-in has pools of devices only");
    require(properties->handleTypes == CU_MEM_HANDLE_TYPE_NONE, CUDA_ERROR_NOT_SUPPORTED,
            "the stand-in shares no pools with other processes");
    Device& device = device_of_ordinal(properties->location.id);
    auto pool = std::make_unique<Pool>();
    pool->max_bytes = properties->maxSize;
    add_handle(pool.get(), Kind::kPool, &device);
    *out = reinterpret_cast<CUmemoryPool>(pool.get());
    device.pools.push_back(std::move(pool));
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return run_call("cuMemPoolDestroy", kDriver, [&](Call&) {
    Pool& pool = pool_of(handle);
    require(!pool.is_default, CUDA_ERROR_INVALID_VALUE, "the default pool stays");
    Device& device = *pool.device;
    if (device.current_pool == &pool) device.current_pool = device.default_pool;
    remove_handle(&pool);
    pool.destroyed = true;
    // It ends with its last allocation.
    std::erase_if(device.pools, [&](const auto& other) { return other.get() == &pool && pool.used == 0; });
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t bytes) {
  return run_call("cuMemPoolTrimTo", kDriver, [&](Call&) {
    Pool& pool = pool_of(handle);
    pool.reserved = std::max<uint64_t>(pool.used, std::min<uint64_t>(pool.reserved, bytes));
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return run_call("cuMemPoolSetAttribute", kDriver, [&](Call&) {
    Pool& pool = pool_of(handle);
    require(value != nullptr, CUDA_ERROR_INVALID_VALUE);
    if (is_reuse(attribute)) {
      pool.reuse[attribute] = *static_cast<int*>(value);
      return;
    }
    const uint64_t number = *static_cast<cuuint64_t*>(value);
    switch (attribute) {
      case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool.threshold = number;
        return;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        require(number == 0, CUDA_ERROR_INVALID_VALUE, "high marks can only be set to 0");
        *counter_of(pool, attribute) = attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool.used : pool.reserved;
        return;
      default:
        refuse(CUDA_ERROR_INVALID_VALUE, "this attribute cannot be set");
    }
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void* value) {
  return run_call("cuMemPoolGetAttribute", kDriver, [&](Call&) {
    Pool& pool = pool_of(handle);
    require(value != nullptr, CUDA_ERROR_INVALID_VALUE);
    if (is_reuse(attribute)) {
      const auto found = pool.reuse.find(attribute);
      *static_cast<int*>(value) = found == pool.reuse.end() ? 1 : found->second;
      return;
    }
    const uint64_t* counter = counter_of(pool, attribute);
    require(counter != nullptr, CUDA_ERROR_INVALID_VALUE);
    *static_cast<cuuint64_t*>(value) = *counter;
  });
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc* access, size_t count) {
  return run_call("cuMemPoolSetAccess", kDriver, [&](Call&) {
    Pool& pool = pool_of(handle);
    require(count == 0 || access != nullptr, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < count; ++i) {
      require(access[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_INVALID_VALUE);
      Device& reader = device_of_ordinal(access[i].location.id);
      const bool gives = access[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      if (&reader == pool.device) {
        require(gives, CUDA_ERROR_INVALID_VALUE, "the device itself keeps its access");
        continue;
      }
      require(driver().settings.peer, CUDA_ERROR_INVALID_DEVICE, "the devices cannot access each other");
      if (!gives) {
        pool.readers.erase(&reader);
      } else if (pool.readers.insert(&reader).second && reader.context->is_active()) {
        for (const auto& [address, it] : pool.device->allocations) {
          if (it.pool == &pool) write_log(reader, {Once::kMap, 0, address, it.bytes, 0});
        }
      }
    }
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* out, CUmemoryPool handle, CUmemLocation* location) {
  return run_call("cuMemPoolGetAccess", kDriver, [&](Call&) {
    Pool& pool = pool_of(handle);
    require(out != nullptr && location != nullptr && location->type == CU_MEM_LOCATION_TYPE_DEVICE,
            CUDA_ERROR_INVALID_VALUE);
    Device& reader = device_of_ordinal(location->id);
    const bool has = &reader == pool.device || pool.readers.count(&reader) > 0;
    *out = has ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice device) {
  return run_call("cuDeviceGetDefaultMemPool", kDriver, [&](Call&) {
    require_pools();
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = reinterpret_cast<CUmemoryPool>(device_of_ordinal(device).default_pool);
  });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice device) {
  return run_call("cuDeviceGetMemPool", kDriver, [&](Call&) {
    require_pools();
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = reinterpret_cast<CUmemoryPool>(device_of_ordinal(device).current_pool);
  });
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle) {
  return run_call("cuDeviceSetMemPool", kDriver, [&](Call&) {
    require_pools();
    Pool& pool = pool_of(handle);
    require(pool.device == &device_of_ordinal(device), CUDA_ERROR_INVALID_VALUE,
            "the pool is of another device");
    pool.device->current_pool = &pool;
  });
}
