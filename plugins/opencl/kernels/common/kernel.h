// What every kernel of this provider needs: element types as OpenCL names them, and launches.
//
//   struct Relu {
//     explicit Relu(const NodeView& n) : kernel_(load_kernel(n, kSource, defines_for(n.input(0)), "Relu", kLine)) {}
//     void prepare(PrepareContext& p) const { ... }
//     void run(const Context& ctx) const {          // once per binding: records, computes nothing
//       launch(ctx, kernel_, {n}, in(ctx.input(0)), out(ctx.output(0)), cl_int(n));
//     }
//   };
//   TENON_KERNEL(Relu, .op_type = "Relu", .since = 6)
//
// Rules for the OpenCL C: index what lies beyond the arguments' counts is done nothing with, so that a launch
// may be rounded up, and one with all arguments zero does nothing (drivers are warmed up that way).
#pragma once

#include "kernels/common/walk.h"
#include "memory.h"
#include "program.h"

namespace tenon::opencl {

using namespace tenon::ep;  // NOLINT: what SDK and kernels share is all that kernels are about

// Sizes of work-groups. Few, since some drivers compile each kernel once per size.
inline constexpr Size3 kLine{64, 1, 1};   // elements of the innermost dimension
inline constexpr Size3 kSquare{8, 8, 1};  // two axes that are walked alike

inline constexpr TypeList<float, double, Float16> kRealTypes;          // what can be computed with
inline constexpr auto kAnyTypes = kRealTypes + kIntTypes + kBoolType;  // what can be moved

/// "float", "uchar", ...: the type an element of this type is stored as.
std::string_view cl_type(uint32_t dtype);

/// Options that define T as the element type, C as the type to compute in, and LOAD, STORE between them:
/// float16 is stored as such and computed in float. Another name than T makes another set: C_R, LOAD_R, STORE_R.
std::string defines_for(uint32_t dtype, std::string_view name = "T");
/// Options that define M as an unsigned integer of the element's size, for kernels that only move.
std::string defines_to_move(uint32_t dtype);

/// Shape inference of the host must have found the outputs; needed by every `prepare` that relies on it.
DimsView output_dims(const PrepareContext& p, int i);

/// A tensor as an argument: IN or OUT of the prelude. A missing one is a null pointer.
struct TensorArg {
  const tenon_tensor* tensor;
  int64_t first = 0;  // the element that the kernel sees as its first
};
inline TensorArg in(TensorView tensor, int64_t first = 0) { return {tensor.raw(), first}; }
inline TensorArg out(OutputTensor tensor, int64_t first = 0) { return {TensorView(tensor).raw(), first}; }

/// A buffer of the kernel's own (packed weights), from its start on.
struct BufferArg {
  cl_mem buffer;
};
/// A part of the workspace that `prepare` asked for, `byte_offset` from its start.
struct WorkspaceArg {
  uint64_t byte_offset = 0;
  uint32_t element_bytes = 4;
};

/// `__global int* flag` of the OpenCL C: where place_of() reports an index out of range.
struct FlagArg {};

namespace detail {

Recording& recording_of(const Context& ctx);

/// Sets the arguments of one launch in order.
class Arguments {
 public:
  Arguments(Recording& recording, const tenon_tensor* workspace, const KernelRef& ref);
  void add(const TensorArg& arg);
  void add(const BufferArg& arg) { add_buffer(arg.buffer, 0); }
  void add(const WorkspaceArg& arg);
  void add(const FlagArg&);
  template <class Scalar>
  void add(const Scalar& scalar) {
    static_assert(std::is_trivially_copyable_v<Scalar> && sizeof(Scalar) >= 4);
    check(clSetKernelArg(kernel_.get(), next_++, sizeof(scalar), &scalar), "clSetKernelArg");
  }
  /// Rounds `global` up to whole groups.
  void record(Size3 global);

 private:
  void add_buffer(cl_mem buffer, uint64_t element_offset);

  Recording& recording_;
  const tenon_tensor* workspace_;
  const KernelRef& ref_;
  KernelHandle kernel_;
  cl_uint next_ = 0;
};

}  // namespace detail

/// Records one launch over `global` work-items. Arguments: in(), out(), BufferArg, WorkspaceArg, FlagArg, and numbers or
/// structs of exactly the type that the OpenCL C declares (cl_int, cl_float, Walk).
template <class... Args>
void launch(const Context& ctx, const KernelRef& kernel, Size3 global, const Args&... args) {
  if (global[0] == 0 || global[1] == 0 || global[2] == 0) return;  // nothing to do, and perhaps no workspace
  detail::Arguments arguments(detail::recording_of(ctx), ctx.args().workspace, kernel);
  (arguments.add(args), ...);
  arguments.record(global);
}

/// What is made of a constant input on the device once, at the first binding: `record(ctx, BufferArg)` launches
/// what fills the buffer of `bytes`. One per node.
template <class Record>
BufferArg packed_constant(const Context& ctx, uint64_t bytes, Record&& record) {
  const CompiledNode& node = detail::recording_of(ctx).program();
  return {node.packed(bytes, [&](Recording& recording, cl_mem buffer) {
    RecordArgs args{static_cast<const tenon_run_args&>(ctx.args())};
    args.recording = &recording;
    record(node.node().context(args), BufferArg{buffer});
  })};
}

/// Constant indices are looked at before any Run. `sizes`: of the axes that they go to, in turn. Throws.
void require_indices(const TensorView& indices, std::span<const int64_t> sizes);

/// The launch that goes through a walk.
inline Size3 global_of(const Walk& walk) {
  return {static_cast<size_t>(walk.inner), static_cast<size_t>(walk.outer), 1};
}

}  // namespace tenon::opencl
