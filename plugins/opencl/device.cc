#include "device.h"

#include <algorithm>

#include "tenon/ep/device/launch.hpp"

namespace tenon::opencl {
namespace {

Limits limits_of(cl_device_id device) {
  Limits out;
  out.type = number<cl_device_type>(device, CL_DEVICE_TYPE);
  out.unified_memory = number<cl_bool>(device, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
  out.half = has_extension(device, "cl_khr_fp16");
  out.float64 =
      has_extension(device, "cl_khr_fp64") || number<cl_uint>(device, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  out.alignment = std::max<uint32_t>(64, number<cl_uint>(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 1024) / 8);
  out.max_allocation = number<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  out.max_group = std::max<size_t>(1, number<size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, 1));
  out.compute_units = std::max<uint32_t>(1, number<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS, 1));
  return out;
}

ContextHandle make_context(const DeviceDescription& description) {
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(description.platform), 0};
  cl_int code = CL_SUCCESS;
  ContextHandle out(clCreateContext(properties, 1, &description.device, nullptr, nullptr, &code));
  check(code, "clCreateContext");
  return out;
}

}  // namespace

void Provider::devices(const ep::DeviceSink& sink) const {
  for (const DeviceDescription& device : list_devices()) {
    std::vector<tenon_str> features;
    for (const std::string& feature : device.features) features.push_back(ep::to_str(feature));
    sink.add({.kind = device.kind,
              .stable_id = device.stable_id,
              .name = device.name,
              .vendor = device.vendor,
              .memory_bytes = device.memory_bytes,
              .flags = device.is_emulated ? static_cast<uint32_t>(TENON_DEVICE_SOFTWARE_EMULATED) : 0u,
              .serialize = TENON_SERIALIZE_BINDING,
              .features = features,
              .driver_version = device.driver_version,
              .pci = device.pci,
              .uuid = device.uuid});
  }
}

Device::Device(const Provider&, std::string_view stable_id) : Device(find_device(stable_id)) {}

Device::Device(const DeviceDescription& description)
    : description_(description),
      limits_(limits_of(description.device)),
      context_(make_context(description)),
      queue_(make_queue()),
      build_key_(ep::cat(description.name, "/", text(description.device, CL_DEVICE_VERSION), "/",
                         description.driver_version)) {}

QueueHandle Device::make_queue(bool measured) const {
  cl_int code = CL_SUCCESS;
  QueueHandle out(clCreateCommandQueue(context(), id(), measured ? CL_QUEUE_PROFILING_ENABLE : 0, &code));
  check(code, "clCreateCommandQueue");
  return out;
}

MemHandle Device::make_buffer(uint64_t bytes, cl_mem_flags flags, void* host) const {
  ep::require(limits_.max_allocation == 0 || bytes <= limits_.max_allocation, TENON_RESOURCE_EXHAUSTED,
              "a buffer of ", bytes, " bytes exceeds the device's limit of ", limits_.max_allocation);
  cl_int code = CL_SUCCESS;
  MemHandle out(clCreateBuffer(context(), flags, bytes, host, &code));
  check(code, "clCreateBuffer");
  return out;
}

Instance::Instance(Device& opened, const tenon_instance_params& params)
    : ep::InstanceSettings(params),
      device(opened),
      uses_host_memory(opened.limits().is_cpu() && opened.limits().unified_memory),
      constants_in_place(opened.limits().unified_memory),
      float16(opened.limits().half),
      warm(options.flag("warm", true)),
      queue(opened.make_queue()) {
  if (const std::string wanted = options.text("float16", "auto"); wanted != "auto") float16 = wanted == "on";
  const std::string memory = options.text("memory", "auto");
  if (memory == "device") uses_host_memory = constants_in_place = false;
  if (memory == "host") {
    ep::require(opened.limits().unified_memory, TENON_INVALID_ARGUMENT,
                "memory = \"host\" needs a device that shares the host's memory; leave it at \"auto\"");
    uses_host_memory = true;
  }
}

Instance::~Instance() {
  if (is_forked()) return;
  // The binaries now include kernels compiled during this session. If the cache fails, only time is lost.
  try {
    device.cl_programs().save_all(*this);
  } catch (...) {
  }
}

bool Instance::stores(uint32_t dtype) const {
  if (dtype == TENON_FLOAT16) return float16;
  if (dtype == TENON_FLOAT64) return device.limits().float64;
  return dtype != TENON_BFLOAT16 && ep::kDeviceTypes.contains(dtype);
}

}  // namespace tenon::opencl
