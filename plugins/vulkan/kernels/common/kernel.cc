#include "kernels/common/kernel.h"

#include <algorithm>
#include <bit>
#include <thread>

namespace tenon::vulkan {
namespace {

constexpr size_t kItemsPerGroup = 64;

/// For each thread of the processor, so that all have work until the end.
constexpr size_t kGroupsPerThread = 4;

}  // namespace

Size3 group_for(const Size3& items) {
  Size3 out{kItemsPerGroup, 1, 1};
  if (items[0] >= 32 || (items[1] == 1 && items[2] == 1)) return out;
  out[0] = items[0] >= 4 ? 8 : 1;
  out[1] = std::min(std::bit_ceil(items[1]), kItemsPerGroup / out[0]);
  out[2] = kItemsPerGroup / out[0] / out[1];
  return out;
}

const Pipeline& KernelRef::pipeline(const Signature& signature, const Size3& local) const {
  std::vector<uint32_t> all;
  for (const size_t size : local) all.push_back(static_cast<uint32_t>(size));
  all.insert(all.end(), constants.begin(), constants.end());
  return device->pipelines().get(*shader, signature, all);
}

const Shader& KernelSource::for_type(uint32_t dtype) const {
  if (int32 == nullptr) return *real;
  switch (dtype) {
    case TENON_FLOAT32:
    case TENON_FLOAT16:
      return *real;
    case TENON_UINT32:
      return *uint32;
    case TENON_INT64:
      return *int64;
    case TENON_UINT64:
      return *uint64;
    default:
      return *int32;
  }
}

KernelRef load_kernel(const NodeView& node, const Shader& shader, std::vector<uint32_t> constants) {
  return {&shader, std::move(constants), &instance_of(node).device};
}

KernelRef load_kernel(const NodeView& node, std::span<const KernelSource> sources, std::string_view name,
                      const Settings& settings) {
  const auto source =
      std::find_if(sources.begin(), sources.end(), [&](const KernelSource& one) { return one.name == name; });
  require(source != sources.end(), TENON_INTERNAL, "there is no kernel '", name, "'");
  std::vector<uint32_t> constants{static_cast<uint32_t>(source - sources.begin())};
  uint32_t compute = TENON_FLOAT32;
  bool is_first = true;
  for (const Setting& setting : settings) {
    const auto value = static_cast<uint32_t>(setting.value);
    if (setting.kind == Setting::Kind::kCompute && std::exchange(is_first, false)) compute = value;
    constants.push_back(setting.kind == Setting::Kind::kMove ? dtype_bits(value) / 8 : value);
  }
  return load_kernel(node, source->for_type(compute), std::move(constants));
}

Support computes(const NodeView& node, uint32_t dtype) {
  const bool is_long = dtype == TENON_INT64 || dtype == TENON_UINT64;
  if (!is_long || instance_of(node).device.limits().int64) return Support::yes();
  return Support::no(TENON_REJECT_TYPE,
                     cat(node.op(), ": this device does not compute with ", dtype_name(dtype)));
}

namespace {

bool fit(Recorder& ctx, const BufferRange& range) {
  const Limits& limits = ctx.launches().device().limits();
  return range.buffer != VK_NULL_HANDLE && range.offset % limits.binding_alignment == 0 &&
         range.bytes >= 16 && range.bytes / 16 <= limits.max_texels;
}

/// Whole texels.
BufferRange texels(BufferRange range) {
  range.bytes = range.bytes / 16 * 16;
  return range;
}
BufferRange range_of(const Piece& piece) { return {piece.buffer(), piece.offset, piece.bytes}; }
BufferRange workspace_of(Recorder& ctx, uint64_t byte_offset) {
  BufferRange range = ctx.launches().find(*ctx.args().workspace);
  range.offset += byte_offset;
  range.bytes -= byte_offset;
  return range;
}

}  // namespace

bool fits_texels(Recorder& ctx, const TensorArg& arg) {
  return arg.tensor->dtype == TENON_FLOAT32 && arg.first == 0 && fit(ctx, ctx.launches().find(*arg.tensor));
}
bool fits_texels(Recorder& ctx, const PieceArg& arg) { return fit(ctx, range_of(*arg.piece)); }
bool fits_texels(Recorder& ctx, const WorkspaceArg& arg) {
  return arg.element_bytes == 4 && fit(ctx, workspace_of(ctx, arg.byte_offset));
}

namespace detail {

void Arguments::bind(BufferRange range, uint32_t element_bytes, int64_t first, bool reads, bool writes) {
  if (range.buffer == VK_NULL_HANDLE) {
    draft_.bindings.push_back({ctx_.launches().device().nothing(), false, false, false});
    draft_.numbers.push_back(0);
    return;
  }
  const uint64_t alignment = ctx_.launches().device().limits().binding_alignment;
  const uint64_t begin = range.offset / alignment * alignment, end = (range.offset + range.bytes + 3) / 4 * 4;
  require(end - begin <= ctx_.launches().device().limits().max_range, TENON_UNIMPLEMENTED, "a tensor of ",
          range.bytes, " bytes is larger than what a kernel of this device sees; run the node elsewhere");
  draft_.bindings.push_back({{range.buffer, begin, end - begin}, false, reads, writes});
  draft_.numbers.push_back(
      static_cast<uint32_t>(narrow(static_cast<int64_t>((range.offset - begin) / element_bytes) + first)));
}

void Arguments::add(const TensorArg& arg) {
  const uint32_t bytes = std::max<uint32_t>(1, dtype_bits(arg.tensor->dtype) / 8);
  bind(ctx_.launches().find(*arg.tensor), bytes, arg.first, arg.reads, arg.writes);
}

void Arguments::add(const TexelArg& arg) {
  draft_.bindings.push_back({texels(ctx_.launches().find(*arg.tensor)), true, true, false});
}

void Arguments::add(const PieceArg& arg) {
  bind(arg.piece == nullptr ? BufferRange{} : range_of(*arg.piece), 4, 0, true, arg.writes);
}

void Arguments::add(const PieceTexelArg& arg) {
  draft_.bindings.push_back({texels(range_of(*arg.piece)), true, true, false});
}

void Arguments::add(const WorkspaceArg& arg) {
  const BufferRange range = ctx_.launches().find(*ctx_.args().workspace);
  bind(range, arg.element_bytes, static_cast<int64_t>(arg.byte_offset / arg.element_bytes), true, true);
}

void Arguments::add(const WorkspaceTexelArg& arg) {
  draft_.bindings.push_back({texels(workspace_of(ctx_, arg.byte_offset)), true, true, false});
}

void Arguments::add(const FlagArg&) {
  const Piece& piece = ctx_.launches().flag_piece();
  bind(range_of(piece), 4, 0, true, true);
}

void Arguments::record(const KernelRef& kernel, const Size3& groups, const Size3& local) {
  Signature signature("n");
  for (const LaunchDraft::Binding& binding : draft_.bindings) signature += binding.is_texels ? 't' : 's';
  draft_.pipeline = &kernel.pipeline(signature, local);
  for (size_t d = 0; d < 3; ++d) draft_.groups[d] = groups[d];
  ctx_.launches().add(std::move(draft_));
}

Size3 groups_of(const Recorder& ctx, const Size3& items, const Size3& local) {
  Size3 out{};
  size_t total = 1;
  for (size_t d = 0; d < 3; ++d) {
    out[d] = (items[d] + local[d] - 1) / local[d];
    total *= out[d];
  }
  auto elements = static_cast<size_t>(ctx.launches().elements_per_item());
  if (elements > 1)
    elements =
        std::min(elements, total / (kGroupsPerThread * std::max(1u, std::thread::hardware_concurrency())));
  for (size_t d = 0; d < 3; ++d) {
    const size_t here = std::clamp<size_t>(elements, 1, out[d]);
    elements /= here;
    out[d] = std::min<size_t>((out[d] + here - 1) / here, ctx.launches().device().limits().max_groups[d]);
  }
  return out;
}

}  // namespace detail
}  // namespace tenon::vulkan
