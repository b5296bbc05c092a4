#include "launch.h"

#include <algorithm>

#include "attributes.h"
#include "capture.h"
#include "memory.h"
#include "modules.h"
#include "process.h"
#include "queue.h"

namespace fake_cuda {
namespace {

constexpr uint64_t kSmall = 256;  // allocations of nothing but a place are not looked at

std::string text_of(const Dims& dims) {
  return std::to_string(dims.x) + "," + std::to_string(dims.y) + "," + std::to_string(dims.z);
}

void check_dims(const Function& function, const Dims& grid, const Dims& block, unsigned shared) {
  const Device& device = *function.device;
  const auto limit = [&](CUdevice_attribute attribute) {
    return static_cast<unsigned>(device_attribute(device, attribute));
  };
  const auto inside = [&](unsigned value, CUdevice_attribute attribute) {
    return value > 0 && value <= limit(attribute);
  };
  require(inside(grid.x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) &&
              inside(grid.y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y) &&
              inside(grid.z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z),
          CUDA_ERROR_INVALID_VALUE, "the grid is empty or too large");
  require(inside(block.x, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) &&
              inside(block.y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y) &&
              inside(block.z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z),
          CUDA_ERROR_INVALID_VALUE, "the block is empty or too large");
  const uint64_t threads = static_cast<uint64_t>(block.x) * block.y * block.z;
  require(threads <= limit(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK), CUDA_ERROR_INVALID_VALUE,
          "the block has too many threads");
  require(function.info.max_threads == 0 || threads <= function.info.max_threads, CUDA_ERROR_INVALID_VALUE,
          "the block has more threads than __launch_bounds__ says");
  require(shared <= function.max_dynamic_shared, CUDA_ERROR_INVALID_VALUE,
          "more dynamic shared memory than CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES");
}

/// The arguments as they lie in a buffer.
std::vector<unsigned char> arguments_of(const KernelInfo& kernel, void** parameters, void** extra) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < kernel.parameter_count; ++i)
    bytes = std::max<size_t>(bytes, kernel.parameters[i].offset + kernel.parameters[i].bytes);
  std::vector<unsigned char> out(bytes);
  if (extra == nullptr) {
    require(kernel.parameter_count == 0 || parameters != nullptr, CUDA_ERROR_INVALID_VALUE, "no arguments");
    for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
      require(parameters[i] != nullptr, CUDA_ERROR_INVALID_VALUE, "the address of an argument is null");
      std::memcpy(out.data() + kernel.parameters[i].offset, parameters[i], kernel.parameters[i].bytes);
    }
    return out;
  }
  require(parameters == nullptr, CUDA_ERROR_INVALID_VALUE, "arguments in both ways");
  const void* buffer = nullptr;
  size_t size = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[1];
    } else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      size = *static_cast<const size_t*>(extra[1]);
    } else {
      refuse(CUDA_ERROR_INVALID_VALUE, "unknown kind of arguments");
    }
  }
  require(buffer != nullptr && size >= bytes, CUDA_ERROR_INVALID_VALUE,
          "the buffer of arguments is too short");
  std::memcpy(out.data(), buffer, bytes);
  return out;
}

/// Structures may have pointers in them, of which nobody knows whether the kernel writes there.
void note_uses(const Function& function, const std::vector<unsigned char>& arguments) {
  const std::string who = std::string("kernel '") + function.info.name + "'";
  for (const bool writes : {true, false}) {
    for (uint32_t i = 0; i < function.info.parameter_count; ++i) {
      const auto& parameter = function.info.parameters[i];
      if ((parameter.kind != kConstPointer) != writes) continue;
      for (size_t at = 0; at + sizeof(uint64_t) <= parameter.bytes; at += sizeof(uint64_t)) {
        uint64_t address = 0;
        std::memcpy(&address, arguments.data() + parameter.offset + at, sizeof(address));
        note_use(who, address, writes);
      }
    }
  }
}

void launch(Call& call, CUfunction handle, const Dims& grid, const Dims& block, unsigned shared,
            CUstream stream_handle, void** parameters, void** extra) {
  const Function& function = function_of(call, handle);
  Stream& stream = stream_of(call, stream_handle);
  const std::string name = function.info.name;
  call.say(name + " grid " + text_of(grid) + " block " + text_of(block) + " shared " +
           std::to_string(shared) + " stream " + std::to_string(stream.id));
  require(function.device == stream.device, CUDA_ERROR_INVALID_HANDLE,
          "kernel and stream are of different devices");
  check_dims(function, grid, block, shared);
  const std::vector<unsigned char> arguments = arguments_of(function.info, parameters, extra);
  if (driver().settings.strict) note_uses(function, arguments);
  KernelCommand command;
  command.module = function.module->id;
  command.kernel = function.index;
  command.grid = grid;
  command.block = block;
  command.shared_bytes = shared;
  command.argument_bytes = static_cast<uint32_t>(arguments.size());
  command.skipped = driver().settings.blank.count(name) > 0 ? 1 : 0;
  command.delay_us = driver().settings.delay_us;
  CommandBuffer buffer(Do::kKernel, command);
  buffer.append(arguments.data(), arguments.size());
  if (stream.capture == nullptr && !count_launch(*stream.device)) return;
  submit(call, stream, std::move(buffer), CU_GRAPH_NODE_TYPE_KERNEL, name);
}

}  // namespace

bool count_launch(Device& device) {
  Driver& own = driver();
  const uint64_t number = ++own.launches_made;
  if (own.settings.fail_launch && number == *own.settings.fail_launch)
    refuse(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "TENON_FAKE_CUDA_FAIL_LAUNCH");
  if (!own.settings.lost_after || number < *own.settings.lost_after) return true;
  if (device.error == CUDA_SUCCESS) lose(device, CUDA_ERROR_ILLEGAL_ADDRESS, "TENON_FAKE_CUDA_LOST_AFTER");
  return false;
}

void note_use(const std::string& who, uint64_t address, bool writes) {
  Allocation* found = find_allocation(address, 0);
  if (found == nullptr) return;
  if (writes) {
    found->written = true;
  } else if (!found->written && found->bytes > kSmall) {
    driver().misuse.insert(who + " reads an allocation that nothing has been written to");
  }
}

}  // namespace fake_cuda

using namespace fake_cuda;

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void** parameters, void** extra) {
  return run_call("cuLaunchKernel", kContext, [&](Call& call) {
    launch(call, function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, stream, parameters,
           extra);
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  return run_call("cuLaunchKernelEx", kContext, [&](Call& call) {
    require(config != nullptr && (config->numAttrs == 0 || config->attrs != nullptr),
            CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      const CUlaunchAttributeID attribute = config->attrs[i].id;
      require(attribute == CU_LAUNCH_ATTRIBUTE_IGNORE || attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY,
              CUDA_ERROR_NOT_SUPPORTED, "the stand-in has no launches with this attribute");
    }
    launch(call, function, {config->gridDimX, config->gridDimY, config->gridDimZ},
           {config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes, config->hStream,
           parameters, extra);
  });
}
