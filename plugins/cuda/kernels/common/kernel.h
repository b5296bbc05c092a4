// What every kernel uses: CUDA's names of element types, and launches. README.md has an example.
//
// Rules for the texts. A kernel loops over the counts in its arguments with EACH, EACH_Y and EACH_Z, so that a launch may have
// fewer or more threads than elements. Offsets are int64. Pointers include the offset of the tensor.
#pragma once

#include <cstring>

#include "program.h"
#include "tenon/ep/device/launch.hpp"
#include "tenon/ep/device/walk.hpp"

namespace tenon::cuda {

using namespace tenon::ep;  // kernels use the SDK's names throughout

inline constexpr TypeList<float, double, Float16, BFloat16> kRealTypes;  // types for arithmetic
inline constexpr auto kAnyTypes = kRealTypes + kIntTypes + kBoolType;    // types that can be moved

/// The type of the prelude in which elements are stored, such as "float", "half" or "uint8".
std::string_view cuda_type(uint32_t dtype);

/// Options that define T as the element type and C as the type for arithmetic: float for half and bfloat. Values convert by
/// assignment. With another name than T, C gets a suffix: C_R.
std::string defines_for(uint32_t dtype, std::string_view name = "T");
/// Options that define M as an unsigned integer of the element's size, for kernels that only move elements.
std::string defines_to_move(uint32_t dtype);
/// The options of the compiler for settings. Those of T also define IS_REAL, and LOWEST and HIGHEST for integers.
std::string defines_of(const Settings& settings);

/// The backend of tenon/ep/device/ops/ for the kernels of one source.
template <const Source& kSource>
struct Backend {
  using Recorder = cuda::Recorder;
  using Kernel = KernelRef;
  static Kernel load(const NodeView& node, std::string_view name, const Settings& settings) {
    return load_kernel(node, kSource, defines_of(settings), std::string(name));
  }
  static Kernel find(const NodeView& node, std::string_view name, const Settings& settings) {
    return load(node, name, settings);
  }
  static Clamp clamp_of(const NodeView& node) { return cuda::clamp_of(node); }
  /// Kernels are compiled for the device, so there is nothing to warm.
  static void warm_up(const NodeView&, const Kernel&) {}
};

/// Memory that the kernel owns, such as packed weights. A null one is a null pointer.
struct PieceArg {
  const Piece* piece = nullptr;
  bool writes = false;
};

/// Where an argument's memory is; 0 if it is missing or has no elements.
CUdeviceptr address_of(Recorder& ctx, const TensorArg& arg);
CUdeviceptr address_of(Recorder& ctx, const PieceArg& arg);
CUdeviceptr address_of(Recorder& ctx, const WorkspaceArg& arg);
CUdeviceptr address_of(Recorder& ctx, const FlagArg& arg);

/// The threads of a block for a launch over `items` threads. Neighbours are along the first axis that is not short.
Size3 block_for(const Size3& items);

namespace detail {

/// Collects the arguments of one launch in order.
class Arguments {
 public:
  explicit Arguments(Recorder& ctx) : ctx_(ctx) {}
  void add(const TensorArg& arg) { add_bytes(address_of(ctx_, arg)); }
  void add(const PieceArg& arg) { add_bytes(address_of(ctx_, arg)); }
  void add(const WorkspaceArg& arg) { add_bytes(address_of(ctx_, arg)); }
  void add(const FlagArg& arg) { add_bytes(address_of(ctx_, arg)); }
  template <class Number>
  void add(const Number& number) {
    static_assert(sizeof(Number) >= 4, "numbers of a launch are exactly of the types in the text");
    add_bytes(number);
  }
  /// Lists the launch. `blocks` beyond what a launch may have are left to the loops of the kernel.
  void record(const KernelRef& kernel, const Size3& blocks, const Size3& threads);

 private:
  template <class Value>
  void add_bytes(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    const size_t at = (launch_.arguments.size() + alignof(Value) - 1) / alignof(Value) * alignof(Value);
    launch_.arguments.resize(at + sizeof(Value));
    std::memcpy(launch_.arguments.data() + at, &value, sizeof(Value));
    offsets_.push_back(at);
  }

  Recorder& ctx_;
  KernelLaunch launch_;
  std::vector<size_t> offsets_;
};

inline bool is_empty(const Size3& size) { return size[0] == 0 || size[1] == 0 || size[2] == 0; }

/// A thread per item, in blocks of `threads`; fewer where a launch would be much larger than the device.
Size3 blocks_of(const Recorder& ctx, const Size3& items, const Size3& threads);

}  // namespace detail

/// Lists one launch with a thread per item. Arguments: in(), out(), PieceArg, WorkspaceArg, FlagArg, and numbers or structs of
/// exactly the type in the text (int32_t, int64_t, float, Walk, Window). Nothing is launched if one of the items is 0.
template <class... Args>
void launch(Recorder& ctx, const KernelRef& kernel, const Size3& items, const Args&... args) {
  if (detail::is_empty(items)) return;  // the workspace may be missing
  detail::Arguments arguments(ctx);
  (arguments.add(args), ...);
  const Size3 threads = block_for(items);
  arguments.record(kernel, detail::blocks_of(ctx, items, threads), threads);
}

/// The same for a kernel whose threads work together: `blocks` of `threads`. A kernel may get fewer than `blocks` along an axis with more than the device can launch, and loops over them.
template <class... Args>
void launch_blocks(Recorder& ctx, const KernelRef& kernel, const Size3& blocks, const Size3& threads,
                   const Args&... args) {
  if (detail::is_empty(blocks)) return;
  detail::Arguments arguments(ctx);
  (arguments.add(args), ...);
  arguments.record(kernel, blocks, threads);
}

/// Memory computed once on the device from a constant input, at the first binding. `layout` says what is computed: nodes
/// with equal constants and layouts share it. `record(ctx, PieceArg)` lists the launches that fill its `bytes`. At most
/// one per node.
template <class Record>
PieceArg packed_constant(Recorder& ctx, TensorView constant, std::string_view layout, uint64_t bytes,
                         Record&& record) {
  const CompiledNode& node = ctx.launches().node();
  return {&node.packed(*constant.raw(), layout, bytes, [&](Launches& launches, const Piece& piece) {
    Recorder recorder(ctx.args(), launches);
    record(recorder, PieceArg{&piece, true});
  })};
}

}  // namespace tenon::cuda
