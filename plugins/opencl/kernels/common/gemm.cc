#include "kernels/common/gemm.h"

namespace tenon::opencl {
namespace {

constexpr int64_t kTileRows = 8, kTileColumns = 32;
constexpr Size3 kTiles{4, 4, 1};

constexpr std::string_view kText = R"CL(
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define V JOIN(C, 16)
#if IS_HALF
#define LOADV(p) vload_half16(0, p)
#define STOREV(p, v) vstore_half16(v, 0, p)
#else
#define LOADV(p) vload16(0, p)
#define STOREV(p, v) vstore16(v, 0, p)
#endif
#define ARGUMENTS                                                                                         \
  IN(T, a), IN(T, b), IN(T, c), OUT(T, y), Walk w, int rows, int columns, int depth, int a_row,           \
      int a_depth, int b_depth, int y_row, int c_row, int c_column, float alpha, float beta, float lowest, \
      float highest
#define BATCH                                                 \
  int a_batch = 0, b_batch = 0, y_batch = 0, c_batch = 0;     \
  for (int d = w.rank - 1, r = get_global_id(2); d >= 0; --d) { \
    const int q = r / w.size[d], at = r - q * w.size[d];      \
    a_batch += at * w.stride[0][d];                           \
    b_batch += at * w.stride[1][d];                           \
    y_batch += at * w.stride[2][d];                           \
    c_batch += at * w.stride[3][d];                           \
    r = q;                                                    \
  }
#if IS_REAL
#define SCALE(v) v *= (C)alpha
#define BIAS(v, bias) v += (C)beta * (bias)
// NaN stays NaN.
#define CUT(v) v = select(select(v, (V)(C)lowest, v < (V)(C)lowest), (V)(C)highest, v > (V)(C)highest)
#define CUT_ONE(v) v = v < (C)lowest ? (C)lowest : v > (C)highest ? (C)highest : v
#else
#define SCALE(v)
#define BIAS(v, bias) v += (bias)
#define CUT(v)
#define CUT_ONE(v)
#endif
inline void finish(__global T* y, V v0, V v1, __global const T* bias, int bias_column, float alpha, float beta,
                   float lowest, float highest) {
  SCALE(v0);
  SCALE(v1);
  if (beta != 0) {
    if (bias_column != 0) {
      BIAS(v0, LOADV(bias));
      BIAS(v1, LOADV(bias + 16));
    } else {
      const C one = LOAD(bias, 0);
      BIAS(v0, one);
      BIAS(v1, one);
    }
  }
  if (lowest != highest) {
    CUT(v0);
    CUT(v1);
  }
  STOREV(y, v0);
  STOREV(y + 16, v1);
}
#define PART 32
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
__kernel void gemm_tile(ARGUMENTS) {
  int m = get_global_id(1) * 8, n = get_global_id(0) * 32;
  if (m >= rows || n >= columns || (int)get_global_id(2) >= w.outer) return;
  m = min(m, rows - 8);
  n = min(n, columns - 32);
  BATCH
#define ROW(i)                                                                    \
  __global const T* a##i = PTR(a) + a_batch + (m + i) * (long)a_row;              \
  V u##i = 0, v##i = 0, p##i = 0, q##i = 0;
  EACH(ROW)
  __global const T* bp = PTR(b) + b_batch + n;
  // Adds partial sums: the error grows with the number of parts plus the length of a part, not with their product.
  for (int part = 0; part < depth; part += PART) {
    const int end = min(part + PART, depth);
    for (int k = part; k < end; ++k) {
    const V b0 = LOADV(bp), b1 = LOADV(bp + 16);
#define STEP(i)                                   \
  {                                               \
    const C one = LOAD(a##i, k * a_depth);        \
    u##i += one * b0;                             \
    v##i += one * b1;                             \
  }
      EACH(STEP)
      bp += b_depth;
    }
#define FLUSH(i) \
  p##i += u##i;  \
  q##i += v##i;  \
  u##i = 0;      \
  v##i = 0;
    EACH(FLUSH)
  }
  __global T* yp = PTR(y) + y_batch + m * (long)y_row + n;
  __global const T* cp = PTR(c) + c_batch + m * (long)c_row + n * c_column;
#define END(i) finish(yp + i * (long)y_row, p##i, q##i, cp + i * c_row, c_column, alpha, beta, lowest, highest);
  EACH(END)
}
__kernel void gemm_row(ARGUMENTS) {
  int m = get_global_id(1), n = get_global_id(0) * 32;
  if (m >= rows || n >= columns || (int)get_global_id(2) >= w.outer) return;
  n = min(n, columns - 32);
  BATCH
  __global const T* ap = PTR(a) + a_batch + m * (long)a_row;
  __global const T* bp = PTR(b) + b_batch + n;
  V u = 0, v = 0;
  for (int k = 0; k < depth; ++k) {
    const C one = LOAD(ap, k * a_depth);
    u += one * LOADV(bp);
    v += one * LOADV(bp + 16);
    bp += b_depth;
  }
  finish(PTR(y) + y_batch + m * (long)y_row + n, u, v, PTR(c) + c_batch + m * (long)c_row + n * c_column, c_column,
         alpha, beta, lowest, highest);
}
__kernel void gemm_single(ARGUMENTS) {
  const int i = get_global_id(0);
  if (columns == 0) return;
  const int m = i / columns, n = i - m * columns;
  if (m >= rows || (int)get_global_id(2) >= w.outer) return;
  BATCH
  __global const T* ap = PTR(a) + a_batch + m * (long)a_row;
  __global const T* bp = PTR(b) + b_batch + n;
  C sum = 0;
  for (int k = 0; k < depth; ++k) sum += LOAD(ap, k * a_depth) * LOAD(bp, k * (long)b_depth);
  SCALE(sum);
  if (beta != 0) BIAS(sum, LOAD(PTR(c), c_batch + m * c_row + n * c_column));
  if (lowest != highest) CUT_ONE(sum);
  STORE(PTR(y), y_batch + m * (long)y_row + n, sum);
}
)CL";
constexpr Source kSource{"gemm", kText};

}  // namespace

GemmKernels::GemmKernels(const NodeView& node, uint32_t dtype, int64_t rows, int64_t columns) {
  const std::string defines = cat(defines_for(dtype), "-DIS_REAL=", kRealTypes.contains(dtype) ? 1 : 0,
                                  " -DIS_HALF=", dtype == TENON_FLOAT16 ? 1 : 0);
  const auto make = [&](std::string_view name, const Size3& local) {
    return find_kernel(node, kSource, defines, std::string(name), local);
  };
  tile_ = make("gemm_tile", kTiles);
  row_ = make("gemm_row", kTiles);
  single_ = make("gemm_single", kLine);
  warm(node, rows < 0 || columns < 0 ? tile_ : choose(rows, columns));
}

const KernelRef& GemmKernels::choose(int64_t rows, int64_t columns) const {
  if (columns < kTileColumns) return single_;
  return rows < kTileRows ? row_ : tile_;
}

Size3 GemmKernels::global(const GemmShape& s) const {
  const auto batches = static_cast<size_t>(s.batches.outer);
  const auto tiles = static_cast<size_t>((s.columns + kTileColumns - 1) / kTileColumns);
  if (s.columns < kTileColumns)
    return {static_cast<size_t>(s.rows) * static_cast<size_t>(s.columns), 1, batches};
  if (s.rows < kTileRows) return {tiles, static_cast<size_t>(s.rows), batches};
  return {tiles, static_cast<size_t>((s.rows + kTileRows - 1) / kTileRows), batches};
}

}  // namespace tenon::opencl
