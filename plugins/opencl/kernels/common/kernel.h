// What every kernel uses: OpenCL names of element types, and launches. README.md has an example.
//
// Rules for the OpenCL C. A work-item whose index exceeds the counts in the arguments does nothing, so that
// launches can be rounded up. A launch with all arguments zero does nothing, so that drivers can be warmed up
// with it.
#pragma once

#include "program.h"
#include "tenon/ep/device/launch.hpp"

namespace tenon::opencl {

using namespace tenon::ep;  // kernels use the SDK's names throughout

// Sizes of work-groups. There are few, since some drivers compile each kernel once per size.
inline constexpr Size3 kLine{64, 1, 1};   // along the innermost dimension
inline constexpr Size3 kSquare{8, 8, 1};  // two axes accessed alike

inline constexpr TypeList<float, double, Float16> kRealTypes;          // types for arithmetic
inline constexpr auto kAnyTypes = kRealTypes + kIntTypes + kBoolType;  // types that can be moved

/// The OpenCL type in which elements are stored, such as "float" or "uchar".
std::string_view cl_type(uint32_t dtype);

/// Options that define T as the element type, C as the type for arithmetic, and LOAD and STORE to convert
/// between them. float16 is computed in float. With another name than T, the macros get a suffix: C_R,
/// LOAD_R, STORE_R.
std::string defines_for(uint32_t dtype, std::string_view name = "T");
/// Options that define M as an unsigned integer of the element's size, for kernels that only move elements.
std::string defines_to_move(uint32_t dtype);

/// A buffer that the kernel owns, such as packed weights.
struct BufferArg {
  cl_mem buffer;
};
/// The options of the compiler for settings, as from defines_for() and defines_to_move().
std::string defines_of(const Settings& settings);

/// The backend of tenon/ep/device/ops/ for the kernels of one source.
template <const Source& kSource>
struct Backend {
  using Recorder = opencl::Recorder;
  using Kernel = KernelRef;
  static Kernel load(const NodeView& node, std::string_view name, const Settings& settings) {
    return load_kernel(node, kSource, defines_of(settings), std::string(name), kLine);
  }
  static Kernel find(const NodeView& node, std::string_view name, const Settings& settings) {
    return find_kernel(node, kSource, defines_of(settings), std::string(name), kLine);
  }
  static Clamp clamp_of(const NodeView& node) { return opencl::clamp_of(node); }
  static void warm_up(const NodeView& node, const Kernel& kernel) { warm(node, kernel); }
};

namespace detail {

/// Sets the arguments of one launch in order.
class Arguments {
 public:
  Arguments(Launches& launches, const tenon_tensor* workspace, const KernelRef& ref);
  void add(const TensorArg& arg);
  void add(const BufferArg& arg) { add_buffer(arg.buffer, 0); }
  void add(const WorkspaceArg& arg);
  void add(const FlagArg&);
  template <class Scalar>
  void add(const Scalar& scalar) {
    static_assert(std::is_trivially_copyable_v<Scalar> && sizeof(Scalar) >= 4);
    check(clSetKernelArg(kernel_.get(), next_++, sizeof(scalar), &scalar), "clSetKernelArg");
  }
  /// Rounds `global` up to whole work-groups.
  void record(Size3 global);

 private:
  void add_buffer(cl_mem buffer, uint64_t element_offset);

  Launches& launches_;
  const tenon_tensor* workspace_;
  const KernelRef& ref_;
  KernelHandle kernel_;
  cl_uint next_ = 0;
};

}  // namespace detail

/// Records one launch over `global` work-items. Arguments: in(), out(), BufferArg, WorkspaceArg, FlagArg, and
/// numbers or structs of exactly the type in the OpenCL C (cl_int, cl_float, Walk).
template <class... Args>
void launch(Recorder& ctx, const KernelRef& kernel, Size3 global, const Args&... args) {
  if (global[0] == 0 || global[1] == 0 || global[2] == 0) return;  // the workspace may be missing
  detail::Arguments arguments(ctx.launches(), ctx.args().workspace, kernel);
  (arguments.add(args), ...);
  arguments.record(global);
}

/// A buffer computed once on the device from a constant input, at the first binding. `layout` says what is computed: nodes
/// with equal constants and layouts share the buffer. `record(ctx, BufferArg)` records the launches that fill its `bytes`.
/// At most one per node.
template <class Record>
BufferArg packed_constant(Recorder& ctx, TensorView constant, std::string_view layout, uint64_t bytes,
                          Record&& record) {
  const CompiledNode& node = ctx.launches().node();
  return {node.packed(*constant.raw(), layout, bytes, [&](Launches& launches, cl_mem buffer) {
    Recorder recorder(ctx.args(), launches);
    record(recorder, BufferArg{buffer});
  })};
}

}  // namespace tenon::opencl
