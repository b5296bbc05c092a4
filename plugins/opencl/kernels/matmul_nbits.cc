// MatMulNBits: products with weights of 2, 4 or 8 bits.
#include "tenon/ep/device/ops/matmul_nbits.hpp"

#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"matmul_nbits", R"CL(
typedef struct {
  int rows;
  int columns;
  int depth;
  int blocks;
  int block_size;
  int block_words;
  int column_stride;
  int word_stride;
  int zeros_stride;
  int has_bias;
} Sizes;
#define PER_WORD (32 / BITS)
#define MASK ((1u << BITS) - 1)
#if ZEROS == 2
#define Z T
#define ZERO(column, block) LOAD(PTR(zeros), (column) * s.zeros_stride + block)
#else
#define Z uchar
#if ZEROS == 1
#define ZERO(column, block) (PTR(zeros)[(column) * s.zeros_stride + block * BITS / 8] >> (block * BITS & 7) & MASK)
#else
#define ZERO(column, block) (1 << (BITS - 1))
#endif
#endif
#if WIDTH == 1
#define V float
#define UINTS uint
#define STORE_V(p, v) STORE(p, 0, v)
#define AS_V(values) values[0]
#define FLOATS(words) (float)(words)
#if LAID
#define WORDS(at) ((__global const uint*)PTR(b))[at]
#else
#define WORDS(at) as_uint(vload4(at, PTR(b)))  // tensors of bytes may begin at any byte
#endif
#else
#define V float16
#define UINTS uint16
#if IS_HALF
#define STORE_V(p, v) vstore_half16(v, 0, p)
#else
#define STORE_V(p, v) vstore16(v, 0, p)
#endif
#define AS_V(values) vload16(0, values)
#define FLOATS(words) convert_float16(words)
#define WORDS(at) vload16(0, (__global const uint*)PTR(b) + (at))
#endif
#define EACH_ROW for (int r = 0; r < ROWS; ++r)
// The zero point is subtracted before the product: sums with unsigned weights are larger, and round more.
#define ADD(j)                                                              \
  {                                                                         \
    const V weights = FLOATS(words >> (j) * BITS & MASK) - zero;            \
    EACH_ROW part[r] += weights * LOAD(from, r * s.depth + k + (j));        \
  }
#define MULTIPLY                                                                                       \
  (IN(T, a), IN(uchar, b), IN(T, scales), IN(Z, zeros), IN(T, bias), OUT(T, y), Sizes s) {             \
    const int column = get_global_id(0), line = get_global_id(1);                                      \
    if (column > (s.columns - 1) / WIDTH || line > (s.rows - 1) / ROWS) return;                        \
    if (s.columns < WIDTH || s.rows < ROWS) return;                                                    \
    const int n = min(column * WIDTH, s.columns - WIDTH), m = min(line * ROWS, s.rows - ROWS);         \
    __global const T* from = PTR(a) + m * s.depth;                                                     \
    V sum[ROWS];                                                                                       \
    float values[WIDTH];                                                                               \
    EACH_ROW sum[r] = 0;                                                                               \
    for (int block = 0; block < s.blocks; ++block) {                                                   \
      for (int c = 0; c < WIDTH; ++c) values[c] = ZERO(n + c, block);                                  \
      const V zero = AS_V(values);                                                                     \
      V part[ROWS];                                                                                    \
      EACH_ROW part[r] = 0;                                                                            \
      int k = block * s.block_size, at = n * s.column_stride + block * s.block_words * s.word_stride;  \
      const int end = k + min(s.block_size, s.depth - k);                                              \
      for (; end - k >= PER_WORD; k += PER_WORD, at += s.word_stride) {                                \
        const UINTS words = WORDS(at);                                                                 \
        for (int j = 0; j < PER_WORD; ++j) ADD(j)                                                      \
      }                                                                                                \
      if (k < end) {                                                                                   \
        const UINTS words = WORDS(at);                                                                 \
        for (int j = 0; j < end - k; ++j) ADD(j)                                                       \
      }                                                                                                \
      for (int c = 0; c < WIDTH; ++c) values[c] = LOAD(PTR(scales), (n + c) * s.blocks + block);       \
      const V scale = AS_V(values);                                                                    \
      EACH_ROW sum[r] += scale * part[r];                                                              \
    }                                                                                                  \
    for (int c = 0; c < WIDTH; ++c) values[c] = s.has_bias ? LOAD(PTR(bias), n + c) : 0.0f;            \
    EACH_ROW STORE_V(PTR(y) + (m + r) * s.columns + n, sum[r] + AS_V(values));                         \
  }
#define ROWS 1
__kernel void MatMulNBitsRow MULTIPLY
#undef ROWS
#define ROWS 4
__kernel void MatMulNBitsTile MULTIPLY
)CL",
                         "Sizes", sizeof(ops::NBitsSizes)};

struct Kernels : Backend<kSource> {
  using Copies = CopyKernels;
  /// CPUs compute sixteen columns at once; on other devices, neighbouring work-items do.
  static int32_t nbits_width(const NodeView& n, bool) {
    const bool is_cpu = instance_of(n).device.limits().is_cpu();
    return is_cpu && n.input(1).is_constant() && n.attr_i("N") >= 16 ? 16 : 1;
  }
  static KernelRef find(const NodeView& n, std::string_view name, const Settings& settings) {
    const bool is_half = n.input(0).dtype() == TENON_FLOAT16;
    const Size3 local = nbits_width(n, false) == 1 ? kLine : Size3{4, 1, 1};
    return find_kernel(n, kSource, cat(defines_of(settings), "-DIS_HALF=", is_half ? 1 : 0),
                       std::string(name), local);
  }
};

TENON_KERNEL(ops::MatMulNBits<Kernels>, .domain = "com.microsoft", .op_type = "MatMulNBits",
             .contract = "A: [D..., $K]; B: any; scales: any; zero_points?: any; g_idx?: any; bias?: [$N]")

}  // namespace
}  // namespace tenon::opencl
