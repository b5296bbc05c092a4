// What every kernel uses: shaders, and launches. README.md has an example.
//
// Rules for shaders. They loop over the counts in their numbers, in steps of the whole launch, so that a launch may have
// fewer or more work-items than elements. Binding 0 has the numbers; the tensors follow in the order of launch().
#pragma once

#include <array>

#include "program.h"
#include "tenon/ep/device/walk.hpp"

namespace tenon::vulkan {

using namespace tenon::ep;  // kernels use the SDK's names throughout

inline constexpr TypeList<float, Float16> kRealTypes;                  // types for arithmetic
inline constexpr auto kAnyTypes = kRealTypes + kIntTypes + kBoolType;  // types that can be moved

/// A shader with its constants. Kernel objects keep one per node.
struct KernelRef {
  const Shader* shader = nullptr;
  std::vector<uint32_t> constants;  // from id 3 on
  Device* device = nullptr;

  /// For work-groups of size `local`. Builds the pipeline if no other node has.
  const Pipeline& pipeline(const Signature& signature, const Size3& local) const;
};

/// The size of a work-group for a launch over `items` work-items. Neighbours are along the first axis that is not short.
Size3 group_for(const Size3& items);

/// The shaders of a kernel, by the type in which they compute. Absent ones are null; the first is for all types if there
/// is no other.
struct KernelSource {
  std::string_view name;
  const Shader* real = nullptr;
  const Shader* int32 = nullptr;
  const Shader* uint32 = nullptr;
  const Shader* int64 = nullptr;
  const Shader* uint64 = nullptr;
  // Forms of `real` in which a work-group does a row (rows.h).
  const Shader* shared = nullptr;
  const Shader* subgroup = nullptr;

  const Shader& for_type(uint32_t dtype) const;
};

/// `constants`: the specialization constants from id 3 on.
KernelRef load_kernel(const NodeView& node, const Shader& shader, std::vector<uint32_t> constants = {});

/// The kernel of this name. Its constant 3 is the position of the name in `sources`; the settings follow in order: the
/// number of the element type, the bytes of elements to move, or the number.
KernelRef load_kernel(const NodeView& node, std::span<const KernelSource> sources, std::string_view name,
                      const Settings& settings);

/// Types that the device can compute with.
Support computes(const NodeView& node, uint32_t dtype);

/// For families whose kernels are not loaded by name.
inline constexpr std::array<KernelSource, 0> kNoSources{};

/// The backend of tenon/ep/device/ops/ for the kernels of one family.
template <const auto& kSources>
struct Backend {
  using Recorder = vulkan::Recorder;
  using Kernel = KernelRef;
  static Kernel load(const NodeView& node, std::string_view name, const Settings& settings) {
    return load_kernel(node, kSources, name, settings);
  }
  /// Pipelines are built when the first launch that needs them is listed, so there is nothing to warm.
  static Kernel find(const NodeView& node, std::string_view name, const Settings& settings) {
    return load(node, name, settings);
  }
  static Clamp clamp_of(const NodeView& node) { return vulkan::clamp_of(node); }
  static void warm_up(const NodeView&, const Kernel&) {}
};

/// A tensor of float32 that the kernel reads as texels of four. It begins at a texel: fits_texels() tells.
struct TexelArg {
  const tenon_tensor* tensor;
};
/// Memory that the kernel owns, such as packed weights. A null one is a missing tensor.
struct PieceArg {
  const Piece* piece = nullptr;
  bool writes = false;
};
/// The same as texels.
struct PieceTexelArg {
  const Piece* piece;
};
/// A part of the workspace as texels, from `byte_offset` on.
struct WorkspaceTexelArg {
  uint64_t byte_offset;
};

/// The argument to read the same memory as texels.
inline TexelArg as_texels(const TensorArg& arg) { return {arg.tensor}; }
inline PieceTexelArg as_texels(const PieceArg& arg) { return {arg.piece}; }
inline WorkspaceTexelArg as_texels(const WorkspaceArg& arg) { return {arg.byte_offset}; }

/// Whether the memory is float32 that begins at a texel of the device.
bool fits_texels(Recorder& ctx, const TensorArg& arg);
bool fits_texels(Recorder& ctx, const PieceArg& arg);
bool fits_texels(Recorder& ctx, const WorkspaceArg& arg);

namespace detail {

/// Collects the arguments of one launch in order.
class Arguments {
 public:
  explicit Arguments(Recorder& ctx) : ctx_(ctx) {}
  void add(const TensorArg& arg);
  void add(const TexelArg& arg);
  void add(const PieceArg& arg);
  void add(const PieceTexelArg& arg);
  void add(const WorkspaceArg& arg);
  void add(const WorkspaceTexelArg& arg);
  void add(const FlagArg&);
  template <class Number>
  void add(const Number& number) {
    static_assert(std::is_trivially_copyable_v<Number> && sizeof(Number) % 4 == 0 && alignof(Number) == 4,
                  "numbers of a launch are int32_t, uint32_t, float, and structs of them");
    const auto* words = reinterpret_cast<const char*>(&number);
    for (size_t i = 0; i < sizeof(Number); i += 4) {
      uint32_t word = 0;
      std::memcpy(&word, words + i, 4);
      draft_.numbers.push_back(word);
    }
  }
  void record(const KernelRef& kernel, const Size3& groups, const Size3& local);

 private:
  void bind(BufferRange range, uint32_t element_bytes, int64_t first, bool reads, bool writes);

  Recorder& ctx_;
  LaunchDraft draft_;
};

/// As many as there are items, or fewer if each work-item does several elements.
Size3 groups_of(const Recorder& ctx, const Size3& items, const Size3& local);

}  // namespace detail

/// Records one launch over `items` work-items. Arguments: in(), out(), the structs above, numbers and structs of numbers.
/// A tensor adds its first element to the numbers, before the arguments after it.
template <class... Args>
void launch(Recorder& ctx, const KernelRef& kernel, const Size3& items, const Args&... args) {
  if (items[0] == 0 || items[1] == 0 || items[2] == 0) return;
  detail::Arguments arguments(ctx);
  (arguments.add(args), ...);
  const Size3 local = group_for(items);
  arguments.record(kernel, detail::groups_of(ctx, items, local), local);
}

/// The same for a shader whose work-groups work together: `groups` of size `local`.
template <class... Args>
void launch_groups(Recorder& ctx, const KernelRef& kernel, const Size3& groups, const Size3& local,
                   const Args&... args) {
  if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return;
  detail::Arguments arguments(ctx);
  (arguments.add(args), ...);
  arguments.record(kernel, groups, local);
}

/// Memory computed once on the device from a constant input, at the first binding. `layout` says what is computed: nodes
/// with equal constants and layouts share it. `record(ctx, PieceArg)` records the launches that fill its `bytes`. At most
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

}  // namespace tenon::vulkan
