// A node from claim to run: claimed, compiled, prepared for a shape, bound to fixed addresses.
//
// A kernel's `record` is called once per binding and lists its launches. A Run writes them into a command list.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "flag.h"
#include "loops.h"
#include "stream.h"
#include "tenon/ep/device/shared_object.hpp"

namespace tenon::vulkan {

class Launches;

inline void release_piece(OwnedPiece* piece) { delete piece; }
/// Memory with constant content, which other nodes and sessions may use too.
using SharedPiece = ep::SharedObject<OwnedPiece, release_piece>;

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
  /// How many elements a work-item of its launches should do. A device that computes on the processor takes about as long
  /// to start a work-item as for a simple element.
  int64_t elements_per_item(const ShapeOf& shape) const;
  /// The device's copy of a constant input.
  const Piece& constant(const tenon_tensor& constant) const;
  /// Another form of a constant input, made at the first call. `layout` names the form, `list` lists the launches that
  /// fill memory of `bytes`. At most one per node.
  const Piece& packed(const tenon_tensor& constant, std::string_view layout, uint64_t bytes,
                      const std::function<void(Launches&, const Piece&)>& list) const;

 private:
  Instance& instance_;
  ep::KernelNode node_;
  LoopSteps loop_steps_;  // of one element; empty if loops may be of any length
  ep::ConstantIds constant_ids_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<const tenon_tensor*, std::unique_ptr<SharedPiece>> constants_;
  mutable std::mutex packing_;
  mutable std::unique_ptr<SharedPiece> packed_;
};

/// A launch before its descriptors are made.
struct LaunchDraft {
  struct Binding {
    BufferRange range;
    bool is_texels = false, reads = true, writes = false;
  };
  const Pipeline* pipeline = nullptr;
  Size3 groups{1, 1, 1};
  std::vector<Binding> bindings;  // from binding 1 on
  std::vector<uint32_t> numbers;  // binding 0
};

/// The launches of one node for fixed addresses.
class Launches {
 public:
  explicit Launches(const tenon_bind_args& args);
  /// Starts with no launches.
  explicit Launches(const CompiledNode& node, int64_t elements_per_item = 1)
      : node_(node), elements_per_item_(elements_per_item) {}
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  const CompiledNode& node() const { return node_; }
  Device& device() const { return node_.instance().device; }
  /// The memory of a tensor of the binding; a null buffer if it has no elements or is missing.
  BufferRange find(const tenon_tensor& tensor) const;
  /// See CompiledNode.
  int64_t elements_per_item() const { return elements_per_item_; }
  void add(LaunchDraft draft) { drafts_.push_back(std::move(draft)); }
  /// Makes the launches of what was added.
  void finish();
  std::span<const Launch> launches() const { return launches_; }
  /// Enqueues the launches on the stream of `args`, which may record them. Without a stream, waits for them; then it
  /// throws OUT_OF_RANGE for an index that is out of range.
  void run(const tenon_run_args& args) const;
  /// For reports of indices out of range. Made at the first call.
  const Piece& flag_piece();
  /// Null if the node reads no indices.
  const std::shared_ptr<IndexFlag>& flag() const { return flag_; }

 private:
  const CompiledNode& node_;
  int64_t elements_per_item_ = 1;
  std::vector<LaunchDraft> drafts_;
  OwnedPiece numbers_;  // of all launches
  std::vector<DescriptorSet> sets_;
  std::vector<BufferViewHandle> views_;
  std::vector<std::vector<Access>> accesses_;
  std::vector<Launch> launches_;
  std::shared_ptr<IndexFlag> flag_;
  mutable std::unique_ptr<Alone> alone_;  // made by the first Run without a stream
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

}  // namespace tenon::vulkan
