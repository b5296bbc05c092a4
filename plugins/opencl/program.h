// A node from claim to run: claimed, compiled, prepared for a shape, bound to fixed addresses.
//
// A kernel's `record` is called once per binding and lists its launches. A Run enqueues them: it sets no arguments, and takes
// a lock only for nodes that read indices.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "flag.h"
#include "tenon/ep/device/shared_object.hpp"

namespace tenon::opencl {

class Launches;

inline void release_buffer(cl_mem buffer) { const MemHandle last(buffer); }
/// A buffer with constant content, which other nodes and sessions may use too.
using SharedBuffer = ep::SharedObject<std::remove_pointer_t<cl_mem>, release_buffer>;

/// A compiled node. Its kernel object is made once; constants are copied at the first binding.
class CompiledNode {
 public:
  CompiledNode(Instance& instance, const tenon_compile_args& args);
  CompiledNode(const CompiledNode&) = delete;
  CompiledNode& operator=(const CompiledNode&) = delete;

  Instance& instance() const { return instance_; }
  const ep::KernelNode& node() const { return node_; }
  const std::string& place() const { return node_.place(); }
  ep::PreparedNodePtr prepare(tenon_prepare_args& args) const;
  /// The device's copy of a constant input, or the constant itself if both share memory.
  cl_mem constant(const tenon_tensor& constant) const;
  /// Another form of a constant input, made at the first call. `layout` names the form, `list` lists the launches that
  /// fill a buffer of `bytes`. At most one per node.
  cl_mem packed(const tenon_tensor& constant, std::string_view layout, uint64_t bytes,
                const std::function<void(Launches&, cl_mem)>& list) const;

 private:
  Instance& instance_;
  ep::KernelNode node_;
  ep::ConstantIds constant_ids_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<const tenon_tensor*, std::unique_ptr<SharedBuffer>> constants_;
  mutable std::mutex packing_;
  mutable std::unique_ptr<SharedBuffer> packed_;
};

/// The place of a tensor's bytes on the device.
struct BufferRange {
  cl_mem buffer = nullptr;
  uint64_t byte_offset = 0;
};

struct Command {
  KernelHandle kernel;
  Size3 global{1, 1, 1}, local{1, 1, 1};
};

/// The launches of one node for fixed addresses.
class Launches {
 public:
  explicit Launches(const tenon_bind_args& args);
  /// Starts with no launches.
  explicit Launches(const CompiledNode& node) : node_(node) {}

  const CompiledNode& node() const { return node_; }
  /// Finds a tensor of the binding. Wraps host memory, which the host keeps in place until `unbind`.
  BufferRange find(const tenon_tensor& tensor);
  void add(Command command) { commands_.push_back(std::move(command)); }
  /// `timings`: of the queue, or null.
  void enqueue(cl_command_queue queue, Timings* timings = nullptr, uint64_t work_id = 0) const;
  /// Enqueues the launches on the stream of `args`, which may record them. Without a stream, waits for them; then it
  /// throws OUT_OF_RANGE for an index that is out of range.
  void run(const tenon_run_args& args) const;
  /// The buffer for reports of indices out of range. Made at the first call.
  cl_mem flag_buffer();
  /// Null if the node reads no indices.
  const std::shared_ptr<IndexFlag>& flag() const { return flag_; }

 private:
  struct Wrapped {
    const void* data;
    uint64_t bytes;
    MemHandle buffer;
  };

  /// For traces.
  std::string name_of(const Command& command) const;

  const CompiledNode& node_;
  std::vector<Wrapped> wrapped_;
  std::vector<Command> commands_;
  std::shared_ptr<IndexFlag> flag_;
};

/// What a kernel's `record` gets: the tensors of the node, and the list of its launches.
class Recorder : public ep::Context {
 public:
  Recorder(const tenon_run_args& args, Launches& launches)
      : Context(launches.node().node().context(args)), launches_(launches) {}
  Launches& launches() const { return launches_; }

 private:
  Launches& launches_;
};

}  // namespace tenon::opencl
