#include "kernels/common/gemm.h"

#include "kernels/common/gemm_text.h"

namespace tenon::cuda {
namespace {

constexpr Source kTileSource{"gemm", kJoined<kLines, kGemmSums, kGemmTile>};

// FEW rows or columns. A line of the larger matrix is read once.
constexpr std::string_view kThin = R"CU(
#if FORM == 0
constexpr int kWarps = 8;
// Few rows. Neighbouring threads compute LINE columns each, the warps of a block take parts of the depth in turn.
KERNEL __launch_bounds__(256, 2) GemmRows(TENSORS) {
  __shared__ S parts[kWarps][FEW][32 * LINE];
  constexpr int kSteps = 4;
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int n0 = (int)blockIdx.x * 32 * LINE, n = n0 + lane * LINE;
  const int begin = (int)blockIdx.y * g.part;
  const int end = g.depth - begin < g.part ? g.depth : begin + g.part;
  for (int batch = (int)blockIdx.z; batch < BATCHES; batch += (int)gridDim.z) {
    FIND_INPUTS(batch)
    const T* a_from = a + a_batch;
    const T* b_from = b + b_batch + n;
    const bool a_fast = g.a_depth == 1 && is_aligned<kSteps>(a_from, g.a_row);
    const bool b_fast = is_aligned<LINE>(b + b_batch, g.b_depth);
    S sums[FEW][LINE] = {};
#pragma unroll 1
    for (int k = begin + warp * kSteps; k < end; k += kWarps * kSteps) {
      T right[kSteps][LINE];
#pragma unroll
      for (int step = 0; step < kSteps; ++step)
        load_line(right[step], b_from + (int64)(k + step) * g.b_depth, k + step < end ? g.columns - n : 0, b_fast);
#pragma unroll
      for (int i = 0; i < FEW; ++i) {
        T left[kSteps];
        const T* row = a_from + (int64)(i < g.rows ? i : 0) * g.a_row;
        if (g.a_depth == 1) {
          load_line(left, row + k, end - k, a_fast);
        } else {
#pragma unroll
          for (int step = 0; step < kSteps; ++step)
            left[step] = k + step < end ? row[(int64)(k + step) * g.a_depth] : T();
        }
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
#pragma unroll
          for (int j = 0; j < LINE; ++j) sums[i][j] += widen(left[step]) * widen(right[step][j]);
        }
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < FEW; ++i) {
#pragma unroll
      for (int j = 0; j < LINE; ++j) parts[warp][i][lane * LINE + j] = sums[i][j];
    }
    __syncthreads();
    FIND_OUTPUTS(batch)
    Y_PLACES
    for (int at = (int)threadIdx.x; at < FEW * 32 * LINE; at += 32 * kWarps) {
      const int m = at / (32 * LINE), column = at % (32 * LINE);
      if (m >= g.rows || n0 + column >= g.columns) continue;
      S sum = 0;
#pragma unroll
      for (int part = 0; part < kWarps; ++part) sum += parts[part][m][column];
      if (g.splits > 1)
        partial[PARTIAL_AT(blockIdx.y, batch, m, n0 + column)] = sum;
      else
        FINISH(sum, m, n0 + column);
    }
  }
}
#elif FORM == 1
constexpr int kWarps = 8;
// Sums along lines of the depth: few rows and columns of b that are stored as lines, or rows of a and few columns. Lanes share a
// line, and so do g.warps of them.
KERNEL __launch_bounds__(256, 2) GemmDots(TENSORS) {
  __shared__ S parts[kWarps][FEW];
  constexpr int kLine = FEW > 4 || sizeof(T) > 4 ? 2 : sizeof(T) > 2 ? 4 : 8;
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const int at = (int)blockIdx.x * (kWarps / g.warps) + warp / g.warps;
  const int lines = A_IS_LONG ? g.rows : g.columns, few = A_IS_LONG ? g.columns : g.rows;
  for (int batch = (int)blockIdx.z; batch < BATCHES; batch += (int)gridDim.z) {
    FIND_INPUTS(batch)
    const T* line = A_IS_LONG ? a + a_batch + (int64)at * g.a_row : b + b_batch + (int64)at * g.b_column;
    const T* others = A_IS_LONG ? b + b_batch : a + a_batch;
    const int64 other = A_IS_LONG ? g.b_column : g.a_row, step = A_IS_LONG ? g.b_depth : g.a_depth;
    const bool fast = is_aligned<kLine>(A_IS_LONG ? a + a_batch : b + b_batch, A_IS_LONG ? g.a_row : g.b_column);
    const bool others_fast = step == 1 && is_aligned<kLine>(others, other);
    S sums[FEW] = {};
#pragma unroll 1
    for (int k = (warp % g.warps * 32 + lane) * kLine; k < g.depth && at < lines; k += g.warps * 32 * kLine) {
      T mine[kLine];
      load_line(mine, line + k, g.depth - k, fast);
#pragma unroll
      for (int i = 0; i < FEW; ++i) {
        T theirs[kLine];
        const T* from = others + (i < few ? i : 0) * other;
        if (step == 1) {
          load_line(theirs, from + k, g.depth - k, others_fast);
        } else {
#pragma unroll
          for (int e = 0; e < kLine; ++e)
            theirs[e] = k + e < g.depth ? from[(k + e) * step] : T();
        }
#pragma unroll
        for (int e = 0; e < kLine; ++e) sums[i] += widen(mine[e]) * widen(theirs[e]);
      }
    }
#pragma unroll
    for (int i = 0; i < FEW; ++i) {
#pragma unroll
      for (int lanes = 16; lanes > 0; lanes /= 2) sums[i] += lane_xor(sums[i], lanes);
    }
    __syncthreads();
    if (lane == 0) {
#pragma unroll
      for (int i = 0; i < FEW; ++i) parts[warp][i] = sums[i];
    }
    __syncthreads();
    FIND_OUTPUTS(batch)
    Y_PLACES
    if (warp % g.warps == 0 && lane < few && at < lines) {
      S sum = 0;
      for (int part = 0; part < g.warps; ++part) sum += parts[warp + part][lane];
      const int m = A_IS_LONG ? at : lane, n = A_IS_LONG ? lane : at;
      FINISH(sum, m, n);
    }
  }
}
#else
KERNEL GemmSingle(TENSORS) {
  EACH_Z(batch, BATCHES) {
    FIND_INPUTS(batch)
    FIND_OUTPUTS(batch)
    Y_PLACES
    EACH(i, (int64)g.rows * g.columns) {
      const int m = (int)(i / g.columns), n = (int)(i - (int64)m * g.columns);
      const T* left = a + a_batch + (int64)m * g.a_row;
      const T* right = b + b_batch + (int64)n * g.b_column;
      S sum = 0;
      for (int k = 0; k < g.depth; ++k) sum += widen(left[(int64)k * g.a_depth]) * widen(right[(int64)k * g.b_depth]);
      FINISH(sum, m, n);
    }
  }
}
#endif
)CU";
constexpr Source kThinSource{"gemm_thin", kJoined<kLines, kGemmSums, kThin>};

using Way = GemmPlan::Form;

constexpr int32_t kFew = 8;  // rows or columns of a thin product; of integers, half as many fit the registers
constexpr int32_t kShallow = 64;  // depth below which threads need not share a sum
constexpr int32_t kLeastPart = 128;
constexpr int64_t kWarps = 8;  // of a block

int64_t parts_of(int64_t count, int64_t size) { return (count + size - 1) / size; }
size_t size(int64_t count) { return static_cast<size_t>(count); }

/// Divides the depth where `blocks` are fewer than the device can do at once.
void split(GemmPlan& plan, int64_t blocks, int32_t depth, int32_t least, int64_t processors) {
  const int64_t wanted = std::min<int64_t>(2 * processors / std::max<int64_t>(1, blocks), depth / least);
  plan.part = depth;
  if (blocks >= processors || wanted < 2) return;
  plan.part = static_cast<int32_t>(parts_of(parts_of(depth, wanted), 32) * 32);  // whole steps of all kernels
  plan.splits = static_cast<int32_t>(parts_of(depth, plan.part));
}

int32_t power_of_two(int32_t least) {
  int32_t out = 1;
  while (out < least) out *= 2;
  return out;
}

}  // namespace

GemmPlan GemmPlan::of_tiles(int64_t rows, int64_t columns, int64_t batches, int32_t depth,
                            uint32_t element_bytes, int64_t processors) {
  GemmPlan plan;
  plan.form = Way::kTile;
  const auto tiles = [&](int64_t side) { return parts_of(rows, side) * parts_of(columns, side); };
  plan.side = element_bytes < 8 && tiles(128) * batches >= processors ? 128 : 64;
  split(plan, tiles(plan.side) * batches, depth, kLeastPart, processors);
  plan.blocks = {size(tiles(plan.side)), size(plan.splits), size(batches)};
  return plan;
}

GemmKernels::GemmKernels(const NodeView& node, uint32_t dtype, int64_t, int64_t, bool b_turned)
    : instance_(&instance_of(node)),
      dtype_(dtype),
      b_turned_(b_turned),
      products_(node, {.in = dtype, .out = dtype, .precision = instance_->precision, .b_turned = b_turned}) {}

uint64_t GemmKernels::workspace_bytes(const GemmArgs& args, bool adds) const {
  const GemmShape& s = args.shape;
  const GemmPlan plan = plan_of(s);
  uint64_t own = 0;
  if (plan.splits > 1)
    own = uint64_t{gemm_sum_bytes(dtype_)} * size(plan.splits) * size(s.batches.outer) * size(s.rows) *
          size(s.columns);
  return std::max(own, products_.workspace_bytes(args, adds));
}

GemmPlan GemmKernels::plan_of(const GemmShape& s) const {
  const int64_t processors = instance_->device.limits().processors, batches = s.batches.outer;
  const uint32_t bytes = dtype_bits(dtype_) / 8;
  const bool is_deep = s.depth >= kShallow;
  const int32_t few = kRealTypes.contains(dtype_) ? kFew : kFew / 2;
  const bool b_by_depth = b_turned_ || (s.columns == 1 && s.b_depth == 1);
  GemmPlan plan;
  plan.part = s.depth;
  if (is_deep && ((s.rows <= few && b_by_depth) || (s.columns <= few && s.a_depth == 1))) {
    plan.form = Way::kDots;
    plan.a_is_long = !(s.rows <= few && b_by_depth);
    plan.few = power_of_two(plan.a_is_long ? s.columns : s.rows);
    const int64_t lines = plan.a_is_long ? s.rows : s.columns;
    plan.warps = lines * batches < processors * kWarps ? kWarps : 1;
    plan.blocks = {size(parts_of(lines * plan.warps, kWarps)), 1, size(batches)};
    return plan;
  }
  if (is_deep && s.rows <= few) {
    plan.form = Way::kRows;
    plan.few = power_of_two(s.rows);
    plan.line = bytes < 8 && plan.few < 8 && parts_of(s.columns, 128) * batches >= processors ? 4
                : bytes < 8                                                                   ? 2
                                                                                              : 1;
    const int64_t blocks = parts_of(s.columns, int64_t{32} * plan.line);
    split(plan, blocks * batches, s.depth, 2 * kLeastPart, processors);
    plan.blocks = {size(blocks), size(plan.splits), size(batches)};
    return plan;
  }
  if (s.rows <= few || s.columns <= few || (!is_deep && (s.rows < 32 || s.columns < 32))) {
    const int64_t items = int64_t{s.rows} * s.columns;
    plan.blocks = {size(std::min<int64_t>(parts_of(items, 256), int64_t{1} << 30)), 1, size(batches)};
    return plan;
  }
  return GemmPlan::of_tiles(s.rows, s.columns, batches, s.depth, bytes, processors);
}

GemmNumbers GemmKernels::numbers_of(const GemmArgs& args, const GemmPlan& plan) const {
  const GemmShape& s = args.shape;
  GemmNumbers out{s.rows,      s.columns,    s.depth,     s.a_row,       s.a_depth,  s.b_depth,
                  1,           s.y_row,      s.bias_row,  s.bias_column, args.alpha, args.beta,
                  args.lowest, args.highest, plan.splits, plan.part,     plan.warps};
  if (b_turned_) std::swap(out.b_depth, out.b_column);
  if (s.columns == 1) out.b_column = 0;  // there is no next column, so its distance says nothing of alignment
  return out;
}

KernelRef GemmKernels::find(const GemmPlan& plan, const GemmShape& s, bool adds_parts) const {
  Settings settings{computes_in(dtype_)};
  if (plan.form == Way::kTile) {
    settings.insert(settings.end(), {number("SIDE", plan.side), number("TURNED_A", s.a_depth != 1),
                                     number("TURNED_B", b_turned_ || (s.columns == 1 && s.b_depth == 1))});
    return find_kernel(*instance_, kTileSource, defines_of(settings), adds_parts ? "GemmSum" : "GemmTile");
  }
  constexpr std::string_view kNames[] = {"GemmRows", "GemmDots", "GemmSingle"};
  const int form = plan.form == Way::kRows ? 0 : plan.form == Way::kDots ? 1 : 2;
  settings.push_back(number("FORM", form));
  if (form != 2) settings.push_back(number("FEW", plan.few));
  if (form == 0) settings.push_back(number("LINE", plan.line));
  if (form == 1) settings.push_back(number("A_IS_LONG", plan.a_is_long));
  return find_kernel(*instance_, kThinSource, defines_of(settings),
                     std::string(adds_parts ? "GemmSum" : kNames[form]));
}

}  // namespace tenon::cuda
