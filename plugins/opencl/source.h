// OpenCL C of the kernels, built once per device and element types, with binaries kept by the host.
//
// A program is built when the first node that needs it is compiled. Its binary is asked of the host's cache
// first; one that is damaged, or that the driver refuses, is as good as none.
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

namespace tenon::opencl {

struct Instance;
class Device;

using Size3 = std::array<size_t, 3>;

/// The OpenCL C of one file of kernels, and static data: programs are known by `name` and their defines.
struct Source {
  std::string_view name;
  std::string_view text;
  std::string_view struct_name = {};  // of a struct of its own that is an argument, and its size
  size_t struct_size = 0;
};

/// A built program. Thread-safe.
class BuiltProgram {
 public:
  BuiltProgram(const Instance& instance, const Source& source, const std::string& defines);

  cl_program get() const { return program_.get(); }
  /// Launches the kernel with no work, once per local size, so that drivers that compile at the first launch
  /// do it now. Kernels do nothing when all their numbers are zero.
  void warm(const Instance& instance, const std::string& kernel, const Size3& local);
  /// Gives the binary to the host's cache when it holds more than at the last time.
  void save(const Instance& instance);

 private:
  bool load(const Instance& instance);
  bool set_zero(cl_kernel kernel, cl_uint index) const;
  void build(const Instance& instance, const Source& source, const std::string& defines);

  std::string key_;
  const Source& source_;
  ProgramHandle program_;
  std::mutex mutex_;
  std::set<std::string> warmed_;  // "<kernel> <local size>"
  bool unsaved_ = false;
};

/// The programs of a device, by source and defines. Thread-safe.
class Programs {
 public:
  std::shared_ptr<BuiltProgram> get(const Instance& instance, const Source& source,
                                    const std::string& defines);
  void save_all(const Instance& instance);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<BuiltProgram>> built_;
};

/// A kernel and the size of its work-groups: what a Tenon kernel keeps per node.
struct KernelRef {
  std::shared_ptr<BuiltProgram> program;
  std::string name;
  Size3 local{1, 1, 1};
};

/// Builds what is not built yet. `defines` are compiler options, such as defines_for() in kernels/common makes.
KernelRef load_kernel(const ep::NodeView& node, const Source& source, const std::string& defines,
                      std::string name, Size3 local);

/// As load_kernel(), but the kernel is not warmed: for the variants of which a node will use one.
KernelRef find_kernel(const ep::NodeView& node, const Source& source, const std::string& defines,
                      std::string name, Size3 local);
void warm(const ep::NodeView& node, const KernelRef& kernel);

/// Put before every source.
std::string_view prelude();

}  // namespace tenon::opencl
