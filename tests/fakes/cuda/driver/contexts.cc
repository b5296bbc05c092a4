#include "context.h"

#include <algorithm>

#include "capture.h"
#include "memory.h"
#include "process.h"
#include "queue.h"
#include "streams.h"

namespace fake_cuda {
namespace {

std::vector<Context*>& stack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

void begin(Device& device) {
  if (const CUresult error = error_of(device); error != CUDA_SUCCESS) refuse(error, "the error stays");
  start_process(device);
  for (const auto& [address, it] : driver().host_memory) {
    constexpr uint64_t kPage = 4096;
    if (!it.registered)
      write_log(device, {Once::kPin, 0, address, (it.bytes + kPage - 1) / kPage * kPage, it.place});
  }
  add_stream(device, CU_STREAM_DEFAULT, 0);
}

/// Objects of the device that nobody has destroyed. Their handles are wrong from now on.
template <class T>
void drop_objects(const Device& device, Kind kind, T destroy) {
  std::vector<const void*> all;
  for (const auto& [object, its] : driver().handles) {
    if (its == kind && static_cast<const Object*>(object)->device == &device) all.push_back(object);
  }
  for (const void* object : all) {
    remove_handle(object);
    destroy(const_cast<void*>(object));
  }
}

/// The context goes, with all that it has.
void end(Device& device) {
  device.context->retained = 0;
  stop_process(device);
  for (const auto& entry : device.streams) {
    leave_capture(*entry.second);
    remove_handle(entry.second.get());
  }
  device.streams.clear();
  device.ending_queues.clear();
  device.allocations.clear();
  device.direct_bytes = 0;
  device.peers.clear();
  for (const auto& pool : device.pools) pool->used = pool->reserved = 0;
  std::erase_if(device.pools, [](const auto& pool) { return pool->destroyed; });
  drop_objects(device, Kind::kEvent, [](void* object) {
    driver().free_events.push_back(static_cast<Event*>(object)->slot);
    delete static_cast<Event*>(object);
  });
  drop_objects(device, Kind::kFunction, [](void*) {});
  drop_objects(device, Kind::kModule, [](void* object) { delete static_cast<Module*>(object); });
  drop_objects(device, Kind::kGraph, [](void* object) { delete static_cast<Graph*>(object); });
  drop_objects(device, Kind::kGraphExec, [](void* object) { delete static_cast<GraphExec*>(object); });
  for (const auto& [object, kind] : driver().handles) {
    if (kind == Kind::kLibrary) static_cast<Library*>(const_cast<void*>(object))->modules.erase(&device);
  }
}

}  // namespace

Context* current_context() { return stack().empty() ? nullptr : stack().back(); }

}  // namespace fake_cuda

using namespace fake_cuda;

CUresult cuDevicePrimaryCtxRetain(CUcontext* out, CUdevice ordinal) {
  return run_call("cuDevicePrimaryCtxRetain", kDriver, [&](Call& call) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    Device& device = device_of_ordinal(ordinal);
    call.say("device " + std::to_string(device.index));
    if (device.context->retained == 0) {
      begin(device);
    } else if (const CUresult error = error_of(device); error != CUDA_SUCCESS) {
      refuse(error, "the error stays");
    }
    ++device.context->retained;
    *out = reinterpret_cast<CUcontext>(device.context.get());
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice ordinal) {
  return run_call("cuDevicePrimaryCtxRelease", kDriver, [&](Call& call) {
    Device& device = device_of_ordinal(ordinal);
    call.say("device " + std::to_string(device.index));
    require(device.context->is_active(), CUDA_ERROR_INVALID_CONTEXT, "it is not retained");
    if (--device.context->retained == 0) {
      device.context->retained = 1;
      if (error_of(device) == CUDA_SUCCESS) wait_for_device(call, device);
      end(device);
    }
  });
}

CUresult cuDevicePrimaryCtxReset(CUdevice ordinal) {
  return run_call("cuDevicePrimaryCtxReset", kDriver, [&](Call&) {
    Device& device = device_of_ordinal(ordinal);
    if (const CUresult error = error_of(device); error != CUDA_SUCCESS) refuse(error, "the error stays");
    if (device.context->is_active()) end(device);
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned* flags, int* active) {
  return run_call("cuDevicePrimaryCtxGetState", kDriver, [&](Call&) {
    const Device& device = device_of_ordinal(ordinal);
    require(flags != nullptr && active != nullptr, CUDA_ERROR_INVALID_VALUE);
    *flags = device.context->flags;
    *active = device.context->is_active() ? 1 : 0;
  });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags) {
  return run_call("cuDevicePrimaryCtxSetFlags", kDriver,
                  [&](Call&) { device_of_ordinal(ordinal).context->flags = flags; });
}

CUresult cuCtxPushCurrent(CUcontext handle) {
  return run_call("cuCtxPushCurrent", kDriver, [&](Call&) { stack().push_back(&context_of(handle)); });
}

CUresult cuCtxPopCurrent(CUcontext* out) {
  return run_call("cuCtxPopCurrent", kDriver, [&](Call&) {
    require(!stack().empty(), CUDA_ERROR_INVALID_CONTEXT, "no context is current in this thread");
    if (out != nullptr) *out = reinterpret_cast<CUcontext>(stack().back());
    stack().pop_back();
  });
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  return run_call("cuCtxSetCurrent", kDriver, [&](Call&) {
    Context* context = handle == nullptr ? nullptr : &context_of(handle);
    if (!stack().empty()) stack().pop_back();
    if (context != nullptr) stack().push_back(context);
  });
}

CUresult cuCtxGetCurrent(CUcontext* out) {
  return run_call("cuCtxGetCurrent", kDriver, [&](Call&) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = reinterpret_cast<CUcontext>(current_context());
  });
}

CUresult cuCtxGetDevice(CUdevice* out) {
  return run_call("cuCtxGetDevice", kContext, [&](Call& call) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = static_cast<CUdevice>(call.device().index);
  });
}

CUresult cuCtxGetFlags(unsigned* out) {
  return run_call("cuCtxGetFlags", kContext, [&](Call& call) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = call.device().context->flags;
  });
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* out) {
  return run_call("cuCtxGetApiVersion", kDriver, [&](Call&) {
    require(out != nullptr && (handle != nullptr || current_context() != nullptr),
            CUDA_ERROR_INVALID_CONTEXT);
    if (handle != nullptr) context_of(handle);
    *out = 3020;
  });
}

CUresult cuCtxSynchronize() {
  return run_call("cuCtxSynchronize", kContext | kUnsafe, [&](Call& call) {
    for (const auto& entry : call.device().streams)
      refuse_captured(*entry.second, "a stream is being captured");
    wait_for_device(call, call.device());
  });
}

CUresult cuCtxGetLimit(size_t* out, CUlimit limit) {
  return run_call("cuCtxGetLimit", kContext, [&](Call&) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    require(limit == CU_LIMIT_STACK_SIZE || limit == CU_LIMIT_MALLOC_HEAP_SIZE ||
                limit == CU_LIMIT_PRINTF_FIFO_SIZE,
            CUDA_ERROR_UNSUPPORTED_LIMIT);
    *out = limit == CU_LIMIT_STACK_SIZE ? 1024 : 8 << 20;
  });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t) {
  return run_call("cuCtxSetLimit", kContext, [&](Call&) {
    require(limit == CU_LIMIT_STACK_SIZE, CUDA_ERROR_UNSUPPORTED_LIMIT,
            "only the stack's, which has no effect");
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
  return run_call("cuCtxEnablePeerAccess", kContext, [&](Call& call) {
    require(flags == 0, CUDA_ERROR_INVALID_VALUE);
    Device &device = call.device(), &peer = *context_of(handle).device;
    require(peer.context->is_active(), CUDA_ERROR_INVALID_CONTEXT);
    require(&peer != &device && driver().settings.peer, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    require(device.peers.insert(&peer).second, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    map_all_for(device, peer);
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
  return run_call("cuCtxDisablePeerAccess", kContext | kUnsafe, [&](Call& call) {
    Device &device = call.device(), &peer = *context_of(handle).device;
    require(device.peers.count(&peer) > 0, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    wait_for_device(call, device);
    device.peers.erase(&peer);
    for (const auto& [address, it] : peer.allocations) {
      if (it.pool == nullptr) write_log(device, {Once::kUnmap, 0, address, it.bytes, 0});
    }
  });
}
