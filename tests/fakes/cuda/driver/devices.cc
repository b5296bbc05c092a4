// The driver as a whole, and its devices.
#include <pthread.h>

#include <algorithm>
#include <cstdio>

#include "at_exit.h"
#include "attributes.h"
#include "call.h"
#include "memory.h"
#include "process.h"

namespace fake_cuda {
namespace {

CUresult initialise() {
  Driver& own = driver();
  const std::lock_guard lock(own.mutex);
  if (own.forked) return CUDA_ERROR_NOT_INITIALIZED;
  if (own.initialised) return CUDA_SUCCESS;
  own.settings = settings_of_environment();
  own.log.open(own.settings.log);
  if (!own.settings.error.empty()) {
    own.log.report(own.settings.error);
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (own.settings.devices == 0) return CUDA_ERROR_NO_DEVICE;
  try {
    make_shared_memory();
  } catch (const Refusal& refusal) {
    own.log.report(refusal.why);
    return refusal.code;
  }
  for (const auto& device : own.devices) {
    device->context = std::make_unique<Context>();
    add_handle(device->context.get(), Kind::kContext, device.get());
    make_default_pool(*device);
  }
  // CUDA cannot be used in a child of a process that has initialised it.
  pthread_atfork([] { driver().mutex.lock(); }, [] { driver().mutex.unlock(); },
                 [] {
                   driver().forked = true;
                   driver().mutex.unlock();
                 });
  own.initialised = true;
  return CUDA_SUCCESS;
}

std::string bus_id(const Device& device) {
  char text[32];
  std::snprintf(text, sizeof(text), "0000:%02X:00.0", device.index + 1);
  return text;
}

void put_text(const std::string& text, char* out, int bytes) {
  require(out != nullptr && bytes > 0, CUDA_ERROR_INVALID_VALUE);
  std::snprintf(out, static_cast<size_t>(bytes), "%s", text.c_str());
}

template <class Body>
CUresult about_device(const char* name, CUdevice device, const void* out, Body&& body) {
  return run_call(name, kDriver, [&](Call&) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    body(device_of_ordinal(device));
  });
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const CUresult code = initialise();
  return code != CUDA_SUCCESS ? code : run_call("cuInit", kDriver, [](Call&) {});
}

CUresult cuDriverGetVersion(int* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // May be asked before cuInit.
  const std::lock_guard lock(driver().mutex);
  *out = driver().initialised ? driver().settings.driver_version : settings_of_environment().driver_version;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* out) {
  return run_call("cuDeviceGetCount", kDriver, [&](Call&) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = static_cast<int>(driver().devices.size());
  });
}

CUresult cuDeviceGet(CUdevice* out, int ordinal) {
  return about_device("cuDeviceGet", ordinal, out, [&](const Device&) { *out = ordinal; });
}

CUresult cuDeviceGetName(char* out, int bytes, CUdevice device) {
  return about_device("cuDeviceGetName", device, out,
                      [&](const Device&) { put_text("Tenon Stand-in GPU", out, bytes); });
}

CUresult cuDeviceGetUuid(CUuuid* out, CUdevice device) {
  return about_device("cuDeviceGetUuid", device, out, [&](const Device& it) {
    std::fill(std::begin(out->bytes), std::end(out->bytes), static_cast<char>(0x5A));
    out->bytes[15] = static_cast<char>(it.index);
  });
}

CUresult cuDeviceTotalMem(size_t* out, CUdevice device) {
  return about_device("cuDeviceTotalMem", device, out,
                      [&](const Device&) { *out = driver().settings.memory; });
}

CUresult cuDeviceGetAttribute(int* out, CUdevice_attribute attribute, CUdevice device) {
  return about_device("cuDeviceGetAttribute", device, out, [&](const Device& it) {
    require(attribute >= 1 && attribute < CU_DEVICE_ATTRIBUTE_MAX, CUDA_ERROR_INVALID_VALUE);
    *out = device_attribute(it, attribute);
  });
}

CUresult cuDeviceGetPCIBusId(char* out, int bytes, CUdevice device) {
  return about_device("cuDeviceGetPCIBusId", device, out,
                      [&](const Device& it) { put_text(bus_id(it), out, bytes); });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* out, const char* id) {
  return run_call("cuDeviceGetByPCIBusId", kDriver, [&](Call&) {
    require(out != nullptr && id != nullptr, CUDA_ERROR_INVALID_VALUE);
    for (const auto& device : driver().devices) {
      if (bus_id(*device) != id) continue;
      *out = static_cast<CUdevice>(device->index);
      return;
    }
    refuse(CUDA_ERROR_INVALID_DEVICE);
  });
}

CUresult cuDeviceCanAccessPeer(int* out, CUdevice device, CUdevice peer) {
  return about_device("cuDeviceCanAccessPeer", device, out, [&](const Device& it) {
    *out = driver().settings.peer && &device_of_ordinal(peer) != &it ? 1 : 0;
  });
}

CUresult cuDeviceGetP2PAttribute(int* out, CUdevice_P2PAttribute attribute, CUdevice device, CUdevice peer) {
  return about_device("cuDeviceGetP2PAttribute", device, out, [&](const Device& it) {
    require(&device_of_ordinal(peer) != &it, CUDA_ERROR_INVALID_DEVICE);
    require(attribute >= CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK &&
                attribute <= CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED,
            CUDA_ERROR_INVALID_VALUE);
    *out = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED && driver().settings.peer ? 1 : 0;
  });
}
