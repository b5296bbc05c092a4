// A node from claim to run: claimed, compiled, prepared for a shape, bound to fixed addresses.
//
// A kernel's `record` is called once per binding and lists its launches. A Run enqueues them; a recording captures them.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "flag.h"
#include "tenon/ep/device/shared_object.hpp"

namespace tenon::cuda {

class Launches;
class Timestamps;

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
  /// The device's copy of a constant input.
  const Piece& constant(const tenon_tensor& constant) const;
  /// Another form of a constant input, made at the first call. `layout` names the form, `list` lists the launches that
  /// fill memory of `bytes`. At most one per node.
  const Piece& packed(const tenon_tensor& constant, std::string_view layout, uint64_t bytes,
                      const std::function<void(Launches&, const Piece&)>& list) const;

 private:
  Instance& instance_;
  ep::KernelNode node_;
  ep::ConstantIds constant_ids_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<const tenon_tensor*, std::unique_ptr<SharedPiece>> constants_;
  mutable std::mutex packing_;
  mutable std::unique_ptr<SharedPiece> packed_;
};

/// One kernel with its arguments, listed once and enqueued in every Run.
struct KernelLaunch {
  KernelLaunch() = default;
  KernelLaunch(KernelLaunch&&) = default;
  KernelLaunch& operator=(KernelLaunch&&) = default;
  KernelLaunch(const KernelLaunch&) = delete;
  KernelLaunch& operator=(const KernelLaunch&) = delete;

  CUfunction function = nullptr;
  std::string name;
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  std::vector<char> arguments;  // their bytes
  std::vector<void*> pointers;  // to each of them. A move keeps them valid, a copy does not
};

/// Work of a library. `enqueue` gives it to the stream, which may be capturing: it neither waits nor allocates memory of the
/// device. It is called once per Run or once for a recording, by one thread at a time.
struct LibraryCall {
  std::string name;
  std::function<void(CUstream)> enqueue;
};

/// The launches of one node for fixed addresses.
class Launches {
 public:
  explicit Launches(const tenon_bind_args& args);
  /// Starts with no launches.
  explicit Launches(const CompiledNode& node) : node_(node) {}
  /// The same, where the constant `given` is in `piece`, whatever the node keeps of it.
  Launches(const CompiledNode& node, const tenon_tensor& given, const Piece& piece)
      : node_(node), given_(&given), given_piece_(piece) {}
  Launches(const Launches&) = delete;
  Launches& operator=(const Launches&) = delete;

  const CompiledNode& node() const { return node_; }
  Device& device() const { return node_.instance().device; }
  /// Where a tensor of the binding is; 0 if it has no elements or is missing.
  CUdeviceptr find(const tenon_tensor& tensor) const;
  void add(KernelLaunch launch) { steps_.emplace_back(std::move(launch)); }
  void add(LibraryCall call) { steps_.emplace_back(std::move(call)); }
  /// Gives the launches to the stream. `times`: measures each of them; may be null.
  void enqueue(CUstream stream, Timestamps* times = nullptr, uint64_t work_id = 0) const;
  /// Enqueues the launches on the stream of `args`, which may record them. Without a stream, waits for them; then it
  /// throws OUT_OF_RANGE for an index that is out of range.
  void run(const tenon_run_args& args) const;
  /// For reports of indices out of range. Made at the first call.
  const Piece& flag_piece();
  /// Null if the node reads no indices.
  const std::shared_ptr<IndexFlag>& flag() const { return flag_; }

 private:
  using Step = std::variant<KernelLaunch, LibraryCall>;
  /// For traces.
  std::string name_of(const Step& step) const;

  const CompiledNode& node_;
  const tenon_tensor* given_ = nullptr;
  Piece given_piece_;
  std::vector<Step> steps_;
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

}  // namespace tenon::cuda
