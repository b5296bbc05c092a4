#include "kernels/common/kernel.h"

#include <algorithm>
#include <bit>

namespace tenon::cuda {
namespace {

constexpr size_t kThreads = 128;             // of a block
constexpr size_t kBlocksPerProcessor = 512;  // of a launch; loops do the rest

/// The lowest and the highest number of an integer type.
std::string limits(uint32_t dtype) {
  if (kRealTypes.contains(dtype)) return "";
  if (dtype == TENON_BOOL) return "-DLOWEST=0 -DHIGHEST=1";
  const std::string bits = std::to_string(dtype_bits(dtype) - 1);
  if (kUnsignedIntTypes.contains(dtype)) return "-DLOWEST=0 -DHIGHEST=((C)~(C)0)";
  return cat("-DLOWEST=((C)(1ull<<", bits, ")) -DHIGHEST=((C)((1ull<<", bits, ")-1))");
}

}  // namespace

std::string_view cuda_type(uint32_t dtype) {
  switch (dtype) {
    case TENON_FLOAT32:
      return "float";
    case TENON_FLOAT64:
      return "double";
    case TENON_FLOAT16:
      return "half";
    case TENON_BFLOAT16:
      return "bfloat";
    case TENON_INT8:
      return "int8";
    case TENON_BOOL:
    case TENON_UINT8:
      return "uint8";
    case TENON_INT16:
      return "int16";
    case TENON_UINT16:
      return "uint16";
    case TENON_INT32:
      return "int32";
    case TENON_UINT32:
      return "uint32";
    case TENON_INT64:
      return "int64";
    case TENON_UINT64:
      return "uint64";
    default:
      fail(TENON_UNIMPLEMENTED, "element type ", dtype_name(dtype), " is not supported here");
  }
}

std::string defines_for(uint32_t dtype, std::string_view name) {
  const std::string_view type = cuda_type(dtype);
  const bool is_short = dtype == TENON_FLOAT16 || dtype == TENON_BFLOAT16;
  return cat("-D", name, "=", type, " -DC", name == "T" ? "" : cat("_", name), "=", is_short ? "float" : type,
             " ");
}

std::string defines_to_move(uint32_t dtype) {
  switch (dtype_bits(dtype)) {
    case 8:
      return "-DM=uint8 ";
    case 16:
      return "-DM=uint16 ";
    case 32:
      return "-DM=uint32 ";
    case 64:
      return "-DM=uint64 ";
    default:
      fail(TENON_UNIMPLEMENTED, "element type ", dtype_name(dtype), " is not supported here");
  }
}

std::string defines_of(const Settings& settings) {
  std::string out;
  for (const Setting& setting : settings) {
    const auto value = static_cast<uint32_t>(setting.value);
    switch (setting.kind) {
      case Setting::Kind::kCompute:
        out += defines_for(value, setting.name);
        if (setting.name == "T")
          out += cat("-DIS_REAL=", kRealTypes.contains(value) ? 1 : 0, " ", limits(value), " ");
        break;
      case Setting::Kind::kMove:
        out += defines_to_move(value);
        break;
      case Setting::Kind::kNumber:
        out += cat("-D", setting.name, "=", setting.value, " ");
        break;
    }
  }
  return out;
}

CUdeviceptr address_of(Recorder& ctx, const TensorArg& arg) {
  if (arg.tensor == nullptr) return 0;
  const CUdeviceptr begin = ctx.launches().find(*arg.tensor);
  return begin == 0 ? 0 : begin + static_cast<uint64_t>(arg.first) * dtype_bits(arg.tensor->dtype) / 8;
}

CUdeviceptr address_of(Recorder&, const PieceArg& arg) {
  return arg.piece == nullptr ? 0 : arg.piece->pointer;
}

CUdeviceptr address_of(Recorder& ctx, const WorkspaceArg& arg) {
  require(ctx.args().workspace != nullptr, TENON_INTERNAL,
          "a kernel uses a workspace that it did not ask for");
  return ctx.launches().find(*ctx.args().workspace) + arg.byte_offset;
}

CUdeviceptr address_of(Recorder& ctx, const FlagArg&) { return ctx.launches().flag_piece().pointer; }

Size3 block_for(const Size3& items) {
  Size3 out{kThreads, 1, 1};
  if (items[0] >= kThreads || (items[1] == 1 && items[2] == 1)) {
    out[0] = std::clamp<size_t>(std::bit_ceil(items[0]), 32, kThreads);
    return out;
  }
  // Axes with as few idle threads as powers of two allow: of 33 items, two times 32 waste no more than 64.
  out[0] = items[0] >= 32 && items[0] % 64 != 0 && items[0] % 64 <= 32 ? 32 : std::bit_ceil(items[0]);
  out[1] = std::min(std::bit_ceil(items[1]), kThreads / out[0]);
  out[2] = std::min({std::bit_ceil(items[2]), kThreads / out[0] / out[1], size_t{64}});
  return out;
}

namespace detail {

Size3 blocks_of(const Recorder& ctx, const Size3& items, const Size3& threads) {
  Size3 out{};
  size_t most = kBlocksPerProcessor * ctx.launches().device().limits().processors;
  for (size_t d = 0; d < 3; ++d) {
    out[d] = std::clamp<size_t>((items[d] + threads[d] - 1) / threads[d], 1, most);
    most = std::max<size_t>(most / out[d], 1);
  }
  return out;
}

void Arguments::record(const KernelRef& kernel, const Size3& blocks, const Size3& threads) {
  const Limits& limits = ctx_.launches().device().limits();
  require(kernel.function != nullptr, TENON_INTERNAL, "a kernel is launched that was not loaded");
  launch_.function = kernel.function;
  launch_.name = kernel.name;
  for (size_t d = 0; d < 3; ++d) {
    launch_.grid[d] = static_cast<uint32_t>(
        std::min<size_t>(blocks[d], d == 0 ? limits.max_blocks_x : limits.max_blocks_yz));
    launch_.block[d] = static_cast<uint32_t>(threads[d]);
  }
  for (const size_t at : offsets_) launch_.pointers.push_back(launch_.arguments.data() + at);
  ctx_.launches().add(std::move(launch_));
}

}  // namespace detail
}  // namespace tenon::cuda
