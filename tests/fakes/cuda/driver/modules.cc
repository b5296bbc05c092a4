#include "modules.h"

#include <unistd.h>

#include <algorithm>

#include "process.h"
#include "queue.h"
#include "tests/fakes/cuda/nvrtc/image.h"

namespace fake_cuda {
namespace {

constexpr int kToolkit = 13000;  // of the stand-in for NVRTC

Function* find_function(Module& module, std::string_view name) {
  for (const auto& function : module.functions) {
    if (name == function->info.name) return function.get();
  }
  return nullptr;
}

/// Cubins run on their own architecture and on those of the same major version behind it; PTX on all that are not older.
bool runs_on(const Image& image, int capability) {
  if (image.is_ptx) return image.architecture <= capability;
  return image.architecture / 10 == capability / 10 && image.architecture <= capability;
}

Module& module_for(Library& library, Device& device) {
  Module*& module = library.modules[&device];
  if (module == nullptr) module = &load_module(device, library.image.data());
  return *module;
}

Library& library_of(CUlibrary handle) { return object_of<Library>(handle, Kind::kLibrary); }
Kernel& kernel_of(const void* handle) { return object_of<Kernel>(handle, Kind::kKernel); }

}  // namespace

Module& load_module(Device& device, const void* bytes) {
  require(bytes != nullptr, CUDA_ERROR_INVALID_VALUE);
  const size_t size = image_size(bytes);
  require(size > 0, CUDA_ERROR_INVALID_IMAGE, "it is nothing that the stand-in for NVRTC made");
  Image image;
  const std::string error = read_image({static_cast<const char*>(bytes), size}, &image);
  if (!error.empty()) refuse(CUDA_ERROR_INVALID_IMAGE, error);
  if (!runs_on(image, device.capability))
    refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, "it is for sm_" + std::to_string(image.architecture) +
                                             ", the device is sm_" + std::to_string(device.capability));
  require(!image.is_ptx || driver().settings.driver_version >= kToolkit, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
          "it is of a newer toolkit than the driver");
  // Kernels that do not tell what they access would make races invisible.
  require(image.finds_races || !driver().settings.races, CUDA_ERROR_INVALID_IMAGE,
          "it was compiled without TENON_FAKE_CUDA_RACES=1");
  auto module = std::make_unique<Module>();
  std::vector<KernelInfo> kernels;
  require(read_kernels(image.object, &kernels, &module->static_shared_bytes), CUDA_ERROR_INVALID_IMAGE,
          "it has no kernels");
  const std::string name = image.key + "." + hash_of(image.object) + ".so";
  if (const std::string why = store_file(driver().settings.cache, name, image.object); !why.empty())
    refuse(CUDA_ERROR_OPERATING_SYSTEM, why);
  module->id = static_cast<uint32_t>(driver().next_id++);
  module->architecture = image.architecture;
  for (size_t i = 0; i < kernels.size(); ++i) {
    auto function = std::make_unique<Function>();
    function->module = module.get();
    function->index = static_cast<uint32_t>(i);
    function->info = kernels[i];
    function->max_dynamic_shared = shared_limit(device, false);
    add_handle(function.get(), Kind::kFunction, &device);
    module->functions.push_back(std::move(function));
  }
  const std::string path = driver().settings.cache + "/" + name;
  module->path_place = driver().arena.take(path.size() + 1);
  require(module->path_place != 0, CUDA_ERROR_OUT_OF_MEMORY);
  std::memcpy(driver().shared->arena.data() + module->path_place, path.c_str(), path.size() + 1);
  write_log(device, {Once::kLoadModule, module->id, 0, 0, module->path_place});
  add_handle(module.get(), Kind::kModule, &device);
  return *module.release();
}

void unload_module(Call& call, Module& module) {
  Device& device = *module.device;
  wait_for_device(call, device);
  write_log(device, {Once::kUnloadModule, module.id, 0, 0, 0});
  for (const auto& function : module.functions) remove_handle(function.get());
  remove_handle(&module);
  delete &module;
}

Function& function_of(Module& module, std::string_view name) {
  Function* found = find_function(module, name);
  if (found == nullptr) refuse(CUDA_ERROR_NOT_FOUND, "no kernel '" + std::string(name) + "'");
  return *found;
}

Function& function_of(Call& call, CUfunction handle) {
  const auto found = driver().handles.find(handle);
  if (found == driver().handles.end() || found->second != Kind::kKernel)
    return object_of<Function>(handle, Kind::kFunction);
  Kernel& kernel = kernel_of(handle);
  return function_of(module_for(*kernel.library, call.device()), kernel.name);
}

uint32_t shared_limit(const Device& device, bool at_most) {
  if (!at_most) return 48 << 10;
  switch (device.capability) {
    case 75:
      return 64 << 10;
    case 80:
    case 87:
      return 163 << 10;
    case 86:
    case 89:
    case 120:
    case 121:
      return 99 << 10;
    default:
      return 227 << 10;
  }
}

}  // namespace fake_cuda

using namespace fake_cuda;

CUresult cuModuleLoadData(CUmodule* out, const void* image) {
  return run_call("cuModuleLoadData", kContext | kUnsafe, [&](Call& call) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = reinterpret_cast<CUmodule>(&load_module(call.device(), image));
  });
}

CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned count, CUjit_option* options,
                            void** values) {
  return run_call("cuModuleLoadDataEx", kContext | kUnsafe, [&](Call& call) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    require(count == 0 || (options != nullptr && values != nullptr), CUDA_ERROR_INVALID_VALUE);
    for (unsigned i = 0; i < count; ++i) {
      // There is nothing to log: images have been compiled.
      if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES || options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
        values[i] = nullptr;
    }
    *out = reinterpret_cast<CUmodule>(&load_module(call.device(), image));
  });
}

CUresult cuModuleUnload(CUmodule handle) {
  return run_call("cuModuleUnload", kContext | kUnsafe,
                  [&](Call& call) { unload_module(call, module_of(handle)); });
}

CUresult cuModuleGetFunction(CUfunction* out, CUmodule handle, const char* name) {
  return run_call("cuModuleGetFunction", kContext, [&](Call& call) {
    require(out != nullptr && name != nullptr, CUDA_ERROR_INVALID_VALUE);
    call.say(name);
    *out = reinterpret_cast<CUfunction>(&function_of(module_of(handle), name));
  });
}

CUresult cuModuleGetFunctionCount(unsigned* out, CUmodule handle) {
  return run_call("cuModuleGetFunctionCount", kContext, [&](Call&) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = static_cast<unsigned>(module_of(handle).functions.size());
  });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* out) {
  return run_call("cuModuleGetLoadingMode", kDriver, [&](Call&) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = CU_MODULE_LAZY_LOADING;
  });
}

CUresult cuLibraryLoadData(CUlibrary* out, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  return run_call("cuLibraryLoadData", kContext | kUnsafe, [&](Call& call) {
    require(out != nullptr && code != nullptr, CUDA_ERROR_INVALID_VALUE);
    const size_t size = image_size(code);
    require(size > 0, CUDA_ERROR_INVALID_IMAGE, "it is nothing that the stand-in for NVRTC made");
    auto library = std::make_unique<Library>();
    library->image.assign(static_cast<const char*>(code), size);
    module_for(*library, call.device());
    add_handle(library.get(), Kind::kLibrary, nullptr);
    *out = reinterpret_cast<CUlibrary>(library.release());
  });
}

CUresult cuLibraryUnload(CUlibrary handle) {
  return run_call("cuLibraryUnload", kContext | kUnsafe, [&](Call& call) {
    Library& library = library_of(handle);
    for (const auto& entry : library.modules) unload_module(call, *entry.second);
    for (const auto& entry : library.kernels) remove_handle(entry.second.get());
    remove_handle(&library);
    delete &library;
  });
}

CUresult cuLibraryGetKernel(CUkernel* out, CUlibrary handle, const char* name) {
  return run_call("cuLibraryGetKernel", kContext, [&](Call& call) {
    require(out != nullptr && name != nullptr, CUDA_ERROR_INVALID_VALUE);
    Library& library = library_of(handle);
    function_of(module_for(library, call.device()), name);
    std::unique_ptr<Kernel>& kernel = library.kernels[name];
    if (kernel == nullptr) {
      kernel = std::make_unique<Kernel>();
      kernel->library = &library;
      kernel->name = name;
      add_handle(kernel.get(), Kind::kKernel, nullptr);
    }
    *out = reinterpret_cast<CUkernel>(kernel.get());
  });
}

CUresult cuLibraryGetModule(CUmodule* out, CUlibrary handle) {
  return run_call("cuLibraryGetModule", kContext, [&](Call& call) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = reinterpret_cast<CUmodule>(&module_for(library_of(handle), call.device()));
  });
}

CUresult cuKernelGetFunction(CUfunction* out, CUkernel handle) {
  return run_call("cuKernelGetFunction", kContext, [&](Call& call) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    kernel_of(handle);
    *out = reinterpret_cast<CUfunction>(&function_of(call, reinterpret_cast<CUfunction>(handle)));
  });
}
