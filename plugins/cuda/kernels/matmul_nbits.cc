// MatMulNBits: products with weights of 2, 4 or 8 bits. A few rows are multiplied with the packed weights as they are stored; for more
// rows, the weights of some columns at a time are unpacked, and it is a matrix product.
#include "tenon/ep/device/ops/matmul_nbits.hpp"

#include "kernels/common/gemm.h"
#include "kernels/common/lines_text.h"
#include "kernels/common/texts.h"

namespace tenon::cuda {
namespace {

constexpr std::string_view kText = R"CU(
struct Sizes {
  int rows, columns, depth, blocks, block_size, block_words, column_stride, word_stride, zeros_stride, has_bias;
};
constexpr int kWeights = 32 / BITS;  // of a word
#if ZEROS == 2
#define Z T
#else
#define Z uint8
#endif
// A word of packed weights. A tensor may begin at any byte.
__device__ inline uint32 word_of(const uint8* b, int64 at) {
  const uint8* from = b + at * 4;
  if ((uint64)from % 4 == 0) return *(const uint32*)from;
  return from[0] | (uint32)from[1] << 8 | (uint32)from[2] << 16 | (uint32)from[3] << 24;
}
__device__ inline float zero_of(const Z* zeros, const Sizes& s, int column, int block) {
#if ZEROS == 2
  return (float)zeros[(int64)column * s.zeros_stride + block];
#elif ZEROS == 1
  const int bit = block * BITS;
  return (float)(zeros[(int64)column * s.zeros_stride + bit / 8] >> bit % 8 & ((1 << BITS) - 1));
#else
  return (float)(1 << (BITS - 1));
#endif
}
// A weight minus the zero point. The sum of an integer and 2^23 has the integer as its last bits.
__device__ inline float weight_of(uint32 word, int j, float zero) {
  return __int_as_float((int)(0x4b000000u | (word >> j * BITS & ((1u << BITS) - 1)))) - 8388608.0f - zero;
}
#ifdef ROWS
// A warp computes COLUMNS columns of ROWS rows; lanes read neighbouring words of a column. The zero point is subtracted before the
// product: sums with unsigned weights are larger, and round more.
KERNEL __launch_bounds__(256) NBitsRows(IN(T, a), IN(uint8, b), IN(T, scales), IN(Z, zeros), IN(T, bias), OUT(T, y),
                                           Sizes s) {
  const int lane = (int)threadIdx.x % 32, words = s.blocks * s.block_words, block_shift = 31 - __clz(s.block_words);
  for (int m = (int)blockIdx.y * ROWS; m < s.rows; m += (int)gridDim.y * ROWS) {
    const int n = ((int)blockIdx.x * 8 + (int)threadIdx.x / 32) * COLUMNS;
    float sums[ROWS][COLUMNS] = {};
    for (int w = lane; w < words && n < s.columns; w += 32) {
      const int k = w * kWeights, block = w >> block_shift;
      T left[ROWS][kWeights];
#pragma unroll
      for (int i = 0; i < ROWS; ++i)
        load_line(left[i], a + (int64)(m + i < s.rows ? m + i : m) * s.depth + k, s.depth - k);
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) {
        const int column = n + j < s.columns ? n + j : n;
        const uint32 word = word_of(b, (int64)column * words + w);
        const float scale = (float)scales[(int64)column * s.blocks + block], zero = zero_of(zeros, s, column, block);
        float parts[ROWS] = {};
#pragma unroll
        for (int e = 0; e < kWeights; ++e) {
          const float weight = weight_of(word, e, zero);
#pragma unroll
          for (int i = 0; i < ROWS; ++i) parts[i] += weight * (float)left[i][e];
        }
#pragma unroll
        for (int i = 0; i < ROWS; ++i) sums[i][j] += scale * parts[i];
      }
    }
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
#pragma unroll
      for (int j = 0; j < COLUMNS; ++j) {
        float sum = sums[i][j];
#pragma unroll
        for (int lanes = 16; lanes > 0; lanes /= 2) sum += lane_xor(sum, lanes);
        if (lane == 0 && m + i < s.rows && n + j < s.columns)
          y[(int64)(m + i) * s.columns + n + j] = sum + (s.has_bias ? (float)bias[n + j] : 0.0f);
      }
    }
  }
}
#else
// Unpacks `count` columns from `first` on. Each becomes a row of y.
KERNEL NBitsWeights(IN(uint8, b), IN(T, scales), IN(Z, zeros), OUT(T, y), Sizes s, int first, int count) {
  const int words = s.blocks * s.block_words, block_shift = 31 - __clz(s.block_words);
  EACH_Y(row, count) {
    const int column = first + (int)row;
    EACH(at, words) {
      const int w = (int)at, k = w * kWeights, block = w >> block_shift;
      if (k >= s.depth) continue;
      const uint32 word = word_of(b, (int64)column * words + w);
      const float scale = (float)scales[(int64)column * s.blocks + block], zero = zero_of(zeros, s, column, block);
      LineOf<T, kWeights> line;
#pragma unroll
      for (int e = 0; e < kWeights; ++e) line.at[e] = scale * weight_of(word, e, zero);
      T* const to = y + row * s.depth + k;
      if (k + kWeights <= s.depth && (uint64)to % alignof(LineOf<T, kWeights>) == 0) {
        *(LineOf<T, kWeights>*)to = line;
      } else {
#pragma unroll
        for (int e = 0; e < kWeights; ++e) {
          if (k + e < s.depth) to[e] = line.at[e];
        }
      }
    }
  }
}
#endif
)CU";
constexpr Source kSource{"matmul_nbits", kJoined<kLines, kText>};

struct NBitsState {
  ops::NBitsSizes sizes;
  int32_t columns = 0;  // that are unpacked at once; 0: none
  GemmArgs product;     // with them
};

class MatMulNBits : public ops::NBitsProduct {
 public:
  explicit MatMulNBits(const NodeView& n)
      : NBitsProduct(n),
        instance_(&instance_of(n)),
        dtype_(n.input(0).dtype()),
        settings_{computes_in(dtype_), number("BITS", bits_), number("ZEROS", static_cast<int64_t>(zeros_))},
        gemm_(n, dtype_, -1, columns_, true) {}

  NBitsState prepare(PrepareContext& p) const {
    NBitsState out{NBitsProduct::prepare(p), 0, {}};
    const ops::NBitsSizes& s = out.sizes;
    if (s.rows <= kFewRows) return out;
    const auto bytes = static_cast<int64_t>(dtype_bits(dtype_) / 8);
    const int64_t fit =
        std::max<int64_t>(kLeastColumns, kUnpackedBytes / bytes / s.depth / kLeastColumns * kLeastColumns);
    out.columns = static_cast<int32_t>(std::min<int64_t>(fit, s.columns));
    out.product = product(s, out.columns, p.has_input(5));
    const auto used = static_cast<uint64_t>((out.columns * int64_t{s.depth} * bytes + 255) / 256 * 256);
    out.product.workspace = used;
    out.product.workspace_bytes = gemm_.workspace_bytes(out.product, false);
    p.workspace(used + out.product.workspace_bytes, 256);
    return out;
  }

  void record(Recorder& ctx, const NBitsState& state) const {
    const ops::NBitsSizes& s = state.sizes;
    if (s.rows == 0) return;
    const TensorArg a = in(ctx.input(0)), b = in(ctx.input(1)), scales = in(ctx.input(2)),
                    zeros = in(ctx.input(3));
    if (state.columns == 0) {
      const int32_t rows = s.rows == 1 ? 1 : s.rows == 2 ? 2 : 4;
      const size_t processors = instance_->device.limits().processors;
      int32_t columns = 4;  // of a warp
      while (columns > 1 && static_cast<size_t>(s.columns / columns / 8) < processors) columns /= 2;
      const auto blocks = [](int32_t count, int32_t size) {
        const int32_t before_last = (count - 1) / size;
        return static_cast<size_t>(before_last) + 1;
      };
      const KernelRef kernel = find("NBitsRows", {number("ROWS", rows), number("COLUMNS", columns)});
      return launch_blocks(ctx, kernel, {blocks(s.columns, 8 * columns), blocks(s.rows, rows), 1},
                           {256, 1, 1}, a, b, scales, zeros, in(ctx.input(5)), out(ctx.output(0)), s);
    }
    const KernelRef unpack = find("NBitsWeights", {});
    const WorkspaceArg unpacked{0, dtype_bits(dtype_) / 8};
    for (int32_t first = 0; first < s.columns; first += state.columns) {
      const int32_t count = std::min(state.columns, s.columns - first);
      launch(ctx, unpack, {static_cast<size_t>(s.blocks * s.block_words), static_cast<size_t>(count), 1}, b,
             scales, zeros, unpacked, s, first, count);
      GemmArgs args = product(s, count, ctx.has_input(5));
      args.workspace = state.product.workspace;
      args.workspace_bytes = state.product.workspace_bytes;
      gemm_.record(ctx, args, a, unpacked, in(ctx.input(5), first), PieceArg{}, out(ctx.output(0), first));
    }
  }

 private:
  static constexpr int32_t kFewRows = 16;
  static constexpr int64_t kUnpackedBytes = int64_t{64} << 20, kLeastColumns = 128;

  KernelRef find(std::string_view name, const Settings& more) const {
    Settings settings = settings_;
    settings.insert(settings.end(), more.begin(), more.end());
    return find_kernel(*instance_, kSource, defines_of(settings), std::string(name));
  }
  /// With `count` columns of the weights, unpacked.
  static GemmArgs product(const ops::NBitsSizes& s, int32_t count, bool has_bias) {
    GemmArgs out;
    out.shape.batches = make_walk({}, {}, true);
    out.shape.rows = s.rows;
    out.shape.columns = count;
    out.shape.depth = out.shape.a_row = out.shape.b_depth = s.depth;
    out.shape.y_row = s.columns;
    out.shape.bias_column = 1;
    out.beta = has_bias ? 1.0f : 0.0f;
    return out;
  }

  const Instance* instance_;
  uint32_t dtype_;
  Settings settings_;
  GemmKernels gemm_;
};

TENON_KERNEL(MatMulNBits, .domain = "com.microsoft", .op_type = "MatMulNBits",
             .contract = "A: [D..., $K]; B: any; scales: any; zero_points?: any; g_idx?: any; bias?: [$N]")

}  // namespace
}  // namespace tenon::cuda
