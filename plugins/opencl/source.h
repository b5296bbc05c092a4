// Builds the OpenCL C of the kernels, once per device and element types. The host caches the binaries.
//
// An OpenCL program is built when the first node that needs it is compiled. Its binary is looked up in the host's
// cache first. If the binary is damaged or the driver refuses it, the program is built from source.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cl.h"
#include "tenon/ep.hpp"
#include "tenon/ep/device/launch.hpp"

namespace tenon::opencl {

struct Instance;
class Device;

using ep::Size3;

/// The OpenCL C of one file of kernels. Static data: programs are identified by `name` and their defines.
struct Source {
  std::string_view name;
  std::string_view text;
  std::string_view struct_name = {};  // name and size of a struct of its own that is an argument
  size_t struct_size = 0;
};

/// An OpenCL program, built. Thread-safe.
class ClProgram {
 public:
  ClProgram(const Instance& instance, const Source& source, const std::string& defines);

  cl_program get() const { return program_.get(); }
  /// Launches the kernel with no work, once per local size, for drivers that compile at the first launch. All
  /// arguments are zero, with which kernels do nothing.
  void warm(const Instance& instance, const std::string& kernel, const Size3& local);
  /// Stores the binary in the host's cache if it holds more than when it was stored last.
  void save(const Instance& instance);

 private:
  bool load(const Instance& instance);
  bool set_zero(cl_kernel kernel, cl_uint index) const;
  void build(const Instance& instance, const Source& source, const std::string& defines);

  std::string key_;
  const Source& source_;
  ClProgramHandle program_;
  std::mutex mutex_;
  std::set<std::string> warmed_;  // "<kernel> <local size>"
  bool unsaved_ = false;
};

/// The OpenCL programs of a device, by source and defines. Thread-safe.
class ClPrograms {
 public:
  std::shared_ptr<ClProgram> get(const Instance& instance, const Source& source, const std::string& defines);
  void save_all(const Instance& instance);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<ClProgram>> built_;
};

/// A kernel and its work-group size. Kernel objects keep one per node.
struct KernelRef {
  std::shared_ptr<ClProgram> built;
  std::string name;
  Size3 local{1, 1, 1};
};

/// Builds the OpenCL program if needed, and warms the kernel. `defines`: compiler options, as from defines_for().
KernelRef load_kernel(const ep::NodeView& node, const Source& source, const std::string& defines,
                      std::string name, Size3 local);

/// Like load_kernel(), but does not warm the kernel. For variants of which a node will use one.
KernelRef find_kernel(const ep::NodeView& node, const Source& source, const std::string& defines,
                      std::string name, Size3 local);
void warm(const ep::NodeView& node, const KernelRef& kernel);

/// The text put before every source.
std::string_view prelude();

}  // namespace tenon::opencl
