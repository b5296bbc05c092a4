// Compiles the CUDA C++ of the kernels with NVRTC, once per device and defines. The host caches the results.
//
// A program is compiled when the first node that needs it is compiled. The host's cache is asked first, by all that decides about
// the result: text, defines, architecture, and the versions of NVRTC and the driver. If what it has is damaged or the driver
// refuses it, the program is compiled again.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "api.h"
#include "tenon/ep.hpp"
#include "tenon/ep/device/launch.hpp"

namespace tenon::cuda {

struct Instance;
class Device;

using ep::Size3;

/// The CUDA C++ of some kernels, without the prelude. `name`: for errors and traces of the compiler.
struct Source {
  std::string_view name;
  std::string_view text;
};

/// A program, compiled and loaded. Thread-safe. It lives as long as the device.
class Module {
 public:
  Module(const Instance& instance, const Source& source, const std::string& defines);
  /// The kernel with this name; looked up once. Throws INTERNAL if there is none.
  CUfunction function(const std::string& name);

 private:
  const CUcontext context_;
  const std::string name_;  // of the source
  const ModuleHandle module_;
  std::mutex mutex_;
  std::map<std::string, CUfunction, std::less<>> functions_;
};

/// Tells a program from all others: the name of its source, its text and its defines.
std::string program_key(const Source& source, const std::string& defines);

/// The programs of a device, by program_key(). Thread-safe: different programs are compiled at once.
class Modules {
 public:
  std::shared_ptr<Module> get(const Instance& instance, const Source& source, const std::string& defines,
                              const std::string& key);
  /// Unloads all. The device's context is current.
  void clear();

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<Module> module;
  };
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Slot>, std::less<>> slots_;
};

/// A kernel. Kernel objects keep one per node. It is valid as long as the device is open.
struct KernelRef {
  CUfunction function = nullptr;
  std::string name;  // for traces and errors: the function's
  std::string key;   // tells it from all others: the program's and the function

  explicit operator bool() const { return function != nullptr; }
};

/// Compiles the program if needed. `defines`: compiler options, as from defines_for().
KernelRef load_kernel(const ep::NodeView& node, const Source& source, const std::string& defines,
                      const std::string& name);
/// The same when launches are listed, for variants that follow from a shape.
KernelRef find_kernel(const Instance& instance, const Source& source, const std::string& defines,
                      const std::string& name);

}  // namespace tenon::cuda
