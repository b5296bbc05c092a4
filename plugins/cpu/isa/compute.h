// The float32 loops of islands (islands/), compiled once per instruction set. All tensors are rows of `columns` elements; the
// distance between rows, `ld`, may be larger, for a part of a wider tensor. An image is stored channels last: a row per pixel.
//
// Functions start no threads and allocate nothing; callers split the rows. Pointers need no alignment. NaN and infinities
// pass through as in ONNX.
#pragma once

#include "isa/table.h"

namespace tenon::cpu::isa {

/// What happens to each element y of a result, in place.
struct Step {
  enum class Kind : uint8_t {
    kUnary,  // unary(y)
    kClamp,  // min(max(y, alpha), beta)
    kLeaky,  // y < 0 ? alpha * y : y
    kElu,    // y < 0 ? alpha * (exp(y) - 1) : y
    kGate,   // min(max(alpha * y + beta, 0), 1): HardSigmoid
    kAdd,    // y + other
    kMul,
    kMax,
    kMin,
    kSub,      // y - other
    kDiv,      // y / other
    kSubFrom,  // other - y
    kDivInto,  // other / y
  };
  Kind kind = Kind::kUnary;
  Unary unary = nullptr;
  float alpha = 0, beta = 0;
  /// The other operand of a binary step. Row r of the result meets row r / `group` of it; its row has one element per column, or
  /// one for all columns if `scalar`.
  const float* other = nullptr;
  int64_t ld = 0, group = 1;
  bool scalar = false;
};

/// The most steps that one call takes.
inline constexpr int kMostSteps = 8;

/// Steps in their order.
struct Chain {
  const Step* steps = nullptr;
  int count = 0;
};

/// c = a * b + bias, then the steps; c: [rows, n], b: [taps * k, n] in packed form.
///
/// Without `places`, row r of a is `a + r * lda`, and taps is 1. With it, the factor of tap t in row r begins at
/// `a + places[r * taps + t] * lda`, or is k zeros if the place is negative. A convolution is such a product: its rows
/// are pixels of the output, its taps those of the kernel, and k its input channels.
struct Product {
  const float* a = nullptr;
  int64_t lda = 0;
  const int32_t* places = nullptr;
  int64_t taps = 1, k = 0, n = 0;
  // About as many factors are summed by themselves, before sums are added: shorter parts have smaller errors. That part of a panel of b
  // should stay in the first-level cache, or near it, while rows of a pass. 0: what suits the instruction set.
  int64_t part = 0;
  const float* zeros = nullptr;  // k zeros
  const float* b = nullptr;      // from pack()
  const float* bias = nullptr;   // padded with zeros to kBiasPadding elements; or NULL
  float* c = nullptr;
  int64_t ldc = 0;
  Chain chain;
};

/// Panels that a product of one row passes together, where all have full width.
inline constexpr int64_t kRowPanels = 4;

/// Columns of a product that dots() computes.
inline constexpr int64_t kMostDots = 3;

/// Products read this many elements of a bias at a time.
inline constexpr int64_t kBiasPadding = 16;

/// A matrix [k, n] to pack: element (i, j) is b[i * row + j * column].
struct PackSource {
  const float* b = nullptr;
  int64_t k = 0, n = 0, row = 0, column = 0;
};

/// A convolution of two spatial axes with one input channel per group, channels last.
struct Depthwise {
  const float* x = nullptr;
  int64_t ldx = 0;  // between pixels
  int64_t channels = 0, height = 0, width = 0;
  int64_t out_height = 0, out_width = 0;
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, pad[2] = {0, 0},
          dilation[2] = {1, 1};    // pad: at the beginning
  const float* weights = nullptr;  // [taps, channels]
  const float* bias = nullptr;     // or NULL
  float* y = nullptr;
  int64_t ldy = 0;
  Chain chain;
};

/// Pooling over two spatial axes, channels last.
struct Pool {
  enum class Kind : uint8_t { kMax, kAverage, kAverageWithPadding };
  Kind kind = Kind::kMax;
  const float* x = nullptr;
  int64_t ldx = 0;
  int64_t channels = 0, height = 0, width = 0;
  int64_t out_height = 0, out_width = 0;
  int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, pad[2] = {0, 0}, dilation[2] = {1, 1};
  int64_t pad_end[2] = {0, 0};  // counts in kAverageWithPadding
  float* y = nullptr;
  int64_t ldy = 0;
};

/// A convolution of 3x3 with stride 1 by Winograd's F(4x4, 3x3) or F(2x2, 3x3), channels last. The output is cut into tiles of `side` x
/// `side` pixels, counted over all images.
struct Winograd {
  static constexpr int64_t matrices(int64_t side) { return (side + 2) * (side + 2); }
  /// Elements from one matrix [tiles, columns] to the next. Not a power of two, so that their rows do not compete for lines of a cache.
  static constexpr int64_t distance(int64_t tiles, int64_t columns) { return tiles * columns + 16; }

  int64_t side = 4;  // or 2
  const float* x = nullptr;
  int64_t ldx = 0;
  int64_t channels = 0, filters = 0, height = 0, width = 0;
  int64_t out_height = 0, out_width = 0;
  int64_t pad[2] = {0, 0};  // at the beginning
  const float* given =
      nullptr;  // the weights [filters, channels, 3, 3] in ONNX's order, for tiles with NaN or infinities
  const float* bias = nullptr;  // or NULL
  float* y = nullptr;
  int64_t ldy = 0;
  Chain chain;
};

struct Compute {
  /// Rows that are computed at a time.
  int64_t rows;
  /// Panels of a matrix with n columns.
  int64_t (*panels)(int64_t n);
  /// Elements that pack() writes for [k, n].
  int64_t (*packed_size)(int64_t k, int64_t n);
  void (*pack)(const PackSource& source, float* out);
  /// Rows [row_begin, row_end) of panels [panel_begin, panel_end). Each element has the same value however the work is split.
  void (*product)(const Product& p, int64_t row_begin, int64_t row_end, int64_t panel_begin,
                  int64_t panel_end);
  /// Rows [begin, end) of a product with at most kMostDots columns. b is not packed: column after column, taps * k elements each.
  void (*dots)(const Product& p, int64_t begin, int64_t end);

  /// Whether groups() takes `groups` products with k and n columns each.
  bool (*fills_registers)(int64_t groups, int64_t k, int64_t n);
  /// Weights [groups * n, n, taps] for groups(); as many elements.
  void (*pack_groups)(const float* weights, int64_t groups, int64_t n, int64_t taps, float* out);
  /// Rows [begin, end) of the products of all groups at once: p.k and p.n count the factors of a group, and the columns of all. Each element
  /// has the same value however the rows are split.
  void (*groups)(const Product& p, int64_t begin, int64_t end);

  /// Lines [begin, end) of the output, counted over all images.
  void (*depthwise)(const Depthwise& d, int64_t begin, int64_t end);
  void (*pool)(const Pool& p, int64_t begin, int64_t end);
  /// Weights [filters, channels, 3, 3] to matrices(side) packed matrices [channels, filters], packed_size() apart.
  void (*winograd_pack)(int64_t side, const float* weights, int64_t channels, int64_t filters, float* out);
  /// Tiles first + [begin, end) of the input to v: matrices [tiles, channels], distance() apart.
  void (*winograd_spread)(const Winograd& w, int64_t first, int64_t begin, int64_t end, int64_t tiles,
                          float* v);
  /// Tiles first + [begin, end) of the output from m: matrices [tiles, filters], distance() apart. Adds the bias and takes the steps.
  void (*winograd_gather)(const Winograd& w, int64_t first, int64_t begin, int64_t end, int64_t tiles,
                          const float* m);

  /// y[columns] = the mean of x[rows, columns].
  void (*column_means)(const float* x, int64_t ldx, int64_t rows, int64_t columns, float* y);

  /// y = x, then the steps; y may be x. `row` and `column` say where x and y lie in the whole result.
  void (*chain)(const Chain& chain, const float* x, int64_t ldx, float* y, int64_t ldy, int64_t row,
                int64_t rows, int64_t column, int64_t columns);
};

const Compute& compute_generic();
const Compute& compute_avx2();
const Compute& compute_avx512();

}  // namespace tenon::cpu::isa

namespace tenon::cpu {

/// The functions for the instruction set of isa_table().
const isa::Compute& isa_compute();

}  // namespace tenon::cpu
