// Winograd's minimal filtering of a convolution with a kernel of 3x3 and stride 1. F(4x4, 3x3): 16 pixels take 36 multiplications per
// pair of channels instead of 144. F(2x2, 3x3): 4 pixels take 16 instead of 36, with smaller errors. After A. Lavin, S. Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2016.
#include "isa/compute_parts.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

// Of F(4x4, 3x3): the points of interpolation are 0, kA, -kA, kB, -kB and infinity. The ones of the paper, 1 and 2, double the error; these are exact in
// float32, as their powers are.
constexpr float kA = 0.625f, kB = 1.5f, kA2 = kA * kA, kB2 = kB * kB, kA3 = kA2 * kA, kB3 = kB2 * kB;

/// The transforms for tiles of kOut x kOut pixels of the output: of one line of the input, of the products, and of the weights.
template <int kOut>
struct Lines;

template <>
struct Lines<4> {
  template <class T>
  static void input(const T* x, int64_t step, T* out, int64_t out_step) {
    const T x0 = x[0], x1 = x[step], x2 = x[2 * step], x3 = x[3 * step], x4 = x[4 * step], x5 = x[5 * step];
    const T even_a = x4 - kB2 * x2, odd_a = kA * (x3 - kB2 * x1), even_b = x4 - kA2 * x2,
            odd_b = kB * (x3 - kA2 * x1);
    out[0] = kA2 * kB2 * x0 - (kA2 + kB2) * x2 + x4;
    out[out_step] = even_a + odd_a;
    out[2 * out_step] = even_a - odd_a;
    out[3 * out_step] = even_b + odd_b;
    out[4 * out_step] = even_b - odd_b;
    out[5 * out_step] = kA2 * kB2 * x1 - (kA2 + kB2) * x3 + x5;
  }
  template <class T>
  static void output(const T* m, int64_t step, T* out, int64_t out_step) {
    const T sum_a = m[step] + m[2 * step], difference_a = m[step] - m[2 * step],
            sum_b = m[3 * step] + m[4 * step], difference_b = m[3 * step] - m[4 * step];
    out[0] = m[0] + sum_a + sum_b;
    out[out_step] = kA * difference_a + kB * difference_b;
    out[2 * out_step] = kA2 * sum_a + kB2 * sum_b;
    out[3 * out_step] = kA3 * difference_a + kB3 * difference_b + m[5 * step];
  }
  template <class T>
  static void weights(const T* g, int64_t step, T* out, int64_t out_step) {
    constexpr double a = kA, b = kB, a2 = kA2, b2 = kB2, of_a = 1 / (2 * a2 * (a2 - b2)),
                     of_b = 1 / (2 * b2 * (b2 - a2));
    const T x = g[0], y = g[step], z = g[2 * step];
    out[0] = x / (a2 * b2);
    out[out_step] = (x + a * y + a2 * z) * of_a;
    out[2 * out_step] = (x - a * y + a2 * z) * of_a;
    out[3 * out_step] = (x + b * y + b2 * z) * of_b;
    out[4 * out_step] = (x - b * y + b2 * z) * of_b;
    out[5 * out_step] = z;
  }
};

/// The points are 0, 1, -1 and infinity.
template <>
struct Lines<2> {
  template <class T>
  static void input(const T* x, int64_t step, T* out, int64_t out_step) {
    const T x0 = x[0], x1 = x[step], x2 = x[2 * step], x3 = x[3 * step];
    out[0] = x0 - x2;
    out[out_step] = x2 + x1;
    out[2 * out_step] = x2 - x1;
    out[3 * out_step] = x3 - x1;
  }
  template <class T>
  static void output(const T* m, int64_t step, T* out, int64_t out_step) {
    out[0] = m[0] + m[step] + m[2 * step];
    out[out_step] = m[step] - m[2 * step] + m[3 * step];
  }
  template <class T>
  static void weights(const T* g, int64_t step, T* out, int64_t out_step) {
    const T x = g[0], y = g[step], z = g[2 * step];
    out[0] = x;
    out[out_step] = (x + y + z) * 0.5;
    out[2 * out_step] = (x - y + z) * 0.5;
    out[3 * out_step] = z;
  }
};

struct Place {
  int64_t image, row, column;  // of the tile's first pixel in the output
};
template <int kOut>
inline Place place_of(const Winograd& w, int64_t tile) {
  const int64_t across = (w.out_width + kOut - 1) / kOut, down = (w.out_height + kOut - 1) / kOut;
  return {tile / (across * down), tile / across % down * kOut, tile % across * kOut};
}

/// `kInside`: no pixel of the tile is in the padding.
template <int kOut, bool kInside, class T>
void spread_channels(const Winograd& w, const Place& at, int64_t c, float* v, int64_t matrix) {
  constexpr int kSide = kOut + 2;
  T tile[kSide][kSide], half[kSide][kSide];
  const float* image = w.x + at.image * w.height * w.width * w.ldx + c;
  for (int i = 0; i < kSide; ++i) {
    const int64_t y = at.row - w.pad[0] + i;
    for (int j = 0; j < kSide; ++j) {
      const int64_t x = at.column - w.pad[1] + j;
      const bool inside = kInside || (y >= 0 && y < w.height && x >= 0 && x < w.width);
      tile[i][j] = T{};
      if (inside) tile[i][j] = load_as<T>(image + (y * w.width + x) * w.ldx);
    }
  }
  for (int j = 0; j < kSide; ++j) Lines<kOut>::input(&tile[0][j], kSide, &half[0][j], kSide);
  for (int i = 0; i < kSide; ++i) {
    T out[kSide];
    Lines<kOut>::input(half[i], 1, out, 1);
    for (int j = 0; j < kSide; ++j) store(v + (i * kSide + j) * matrix + c, out[j]);
  }
}

template <int kOut, bool kInside>
void spread_tile(const Winograd& w, const Place& at, float* v, int64_t matrix) {
  if (w.channels >= kLanes) {
    for (int64_t c = 0; c < w.channels; c += kLanes)
      spread_channels<kOut, kInside, Floats>(w, at, whole_vector(c, w.channels), v, matrix);
  } else {
    for (int64_t c = 0; c < w.channels; ++c) spread_channels<kOut, kInside, float>(w, at, c, v, matrix);
  }
}

template <int kOut>
void spread_tiles(const Winograd& w, int64_t first, int64_t begin, int64_t end, int64_t tiles, float* v) {
  const int64_t matrix = Winograd::distance(tiles, w.channels);
  for (int64_t tile = begin; tile < end; ++tile) {
    const Place at = place_of<kOut>(w, first + tile);
    const int64_t y = at.row - w.pad[0], x = at.column - w.pad[1];
    const bool inside = y >= 0 && y + kOut + 2 <= w.height && x >= 0 && x + kOut + 2 <= w.width;
    (inside ? spread_tile<kOut, true> : spread_tile<kOut, false>)(w, at, v + tile * w.channels, matrix);
  }
}

/// Returns false if an element is not finite.
template <int kOut, class T>
bool gather_filters(const Winograd& w, const Limits& limits, const Place& at, int64_t f, const float* m,
                    int64_t matrix) {
  constexpr int kSide = kOut + 2;
  T half[kOut][kSide], sums = T{};
  for (int j = 0; j < kSide; ++j) {
    T column[kSide], out[kOut];
    for (int i = 0; i < kSide; ++i) column[i] = load_as<T>(m + (i * kSide + j) * matrix + f);
    Lines<kOut>::output(column, 1, out, 1);
    for (int i = 0; i < kOut; ++i) half[i][j] = out[i];
  }
  const T bias = w.bias != nullptr ? load_as<T>(w.bias + f) : T{};
  for (int i = 0; i < kOut && at.row + i < w.out_height; ++i) {
    T out[kOut];
    Lines<kOut>::output(half[i], 1, out, 1);
    float* y = w.y + ((at.image * w.out_height + at.row + i) * w.out_width + at.column) * w.ldy + f;
    for (int j = 0; j < kOut && at.column + j < w.out_width; ++j) {
      const T value = out[j] + bias;
      sums += value * 0.0f;
      store(y + j * w.ldy, limited(value, limits));
    }
  }
  float lanes[kLanes] = {}, total = 0;
  store(lanes, sums);
  for (const float lane : lanes) total += lane;
  return total == 0.0f;
}

/// The pixels of a tile by the definition of a convolution. Where an input is not finite or very large, the transforms would spread
/// that over the whole tile.
template <int kOut>
void define_tile(const Winograd& w, const Limits& limits, const Place& at) {
  for (int64_t i = at.row; i < least(w.out_height, at.row + kOut); ++i) {
    for (int64_t j = at.column; j < least(w.out_width, at.column + kOut); ++j) {
      for (int64_t f = 0; f < w.filters; ++f) {
        float sum = w.bias != nullptr ? w.bias[f] : 0.0f;
        for (int64_t a = 0; a < 3; ++a) {
          for (int64_t b = 0; b < 3; ++b) {
            const int64_t y = i - w.pad[0] + a, x = j - w.pad[1] + b;
            if (y < 0 || y >= w.height || x < 0 || x >= w.width) continue;
            const float* pixel = w.x + ((at.image * w.height + y) * w.width + x) * w.ldx;
            for (int64_t c = 0; c < w.channels; ++c)
              sum += pixel[c] * w.given[((f * w.channels + c) * 3 + a) * 3 + b];
          }
        }
        w.y[((at.image * w.out_height + i) * w.out_width + j) * w.ldy + f] = limited(sum, limits);
      }
    }
  }
}

template <int kOut>
void gather_tiles(const Winograd& w, int64_t first, int64_t begin, int64_t end, int64_t tiles,
                  const float* m) {
  Chain rest = w.chain;
  const Limits limits = take_limits(rest);
  const int64_t matrix = Winograd::distance(tiles, w.filters);
  for (int64_t tile = begin; tile < end; ++tile) {
    const Place at = place_of<kOut>(w, first + tile);
    const float* from = m + tile * w.filters;
    bool finite = true;
    if (w.filters >= kLanes) {
      for (int64_t f = 0; f < w.filters; f += kLanes)
        finite =
            gather_filters<kOut, Floats>(w, limits, at, whole_vector(f, w.filters), from, matrix) && finite;
    } else {
      for (int64_t f = 0; f < w.filters; ++f)
        finite = gather_filters<kOut, float>(w, limits, at, f, from, matrix) && finite;
    }
    if (!finite) define_tile<kOut>(w, limits, at);
    if (rest.count == 0) continue;
    for (int64_t i = at.row; i < least(w.out_height, at.row + kOut); ++i) {
      const int64_t row = (at.image * w.out_height + i) * w.out_width + at.column;
      apply(rest, w.y + row * w.ldy, w.ldy, row, least(kOut, w.out_width - at.column), 0, w.filters);
    }
  }
}

// Weights become doubles on the way, so that they are rounded once.
typedef double Doubles __attribute__((vector_size(TENON_ISA_BYTES)));
typedef float HalfFloats __attribute__((vector_size(TENON_ISA_BYTES / 2)));
constexpr int64_t kDoubles = kLanes / 2;

/// kLanes kernels of 3x3, interleaved, to a number for each matrix, `matrix` elements apart.
template <int kOut>
void weigh_kernels(const float* given, int64_t matrix, float* out) {
  constexpr int kSide = kOut + 2;
  for (int64_t lane = 0; lane < kLanes; lane += kDoubles) {
    Doubles g[9], half[kSide * 3], whole[kSide * kSide];
    for (int i = 0; i < 9; ++i) {
      HalfFloats single;
      __builtin_memcpy(&single, given + i * kLanes + lane, sizeof single);
      g[i] = __builtin_convertvector(single, Doubles);
    }
    for (int j = 0; j < 3; ++j) Lines<kOut>::weights(g + j, 3, half + j, 3);
    for (int64_t i = 0; i < kSide; ++i) Lines<kOut>::weights(half + i * 3, 1, whole + i * kSide, 1);
    for (int i = 0; i < kSide * kSide; ++i) {
      const HalfFloats single = __builtin_convertvector(whole[i], HalfFloats);
      __builtin_memcpy(out + i * matrix + lane, &single, sizeof single);
    }
  }
}

template <int kOut>
void pack_weights(const float* given, int64_t channels, int64_t filters, float* out) {
  constexpr int64_t kTurned = 32;  // channels at a time
  const int64_t matrix = channels * vectors_of(filters) * kLanes;
  float kernels[kTurned * 9 * kLanes] = {};
  for (int64_t panel = 0; panel < panels_of(filters); ++panel) {
    const int64_t column = column_of(panel, filters), width = column_of(panel + 1, filters) - column;
    for (int64_t first = column; first < column + width; first += kLanes) {
      const int64_t count = least(kLanes, filters - first);  // the others of the last ones stay 0
      if (count < kLanes) __builtin_memset(kernels, 0, sizeof kernels);
      for (int64_t c = 0; c < channels; c += kTurned) {
        const int64_t turned = least(kTurned, channels - c);
        transpose_words(given + (first * channels + c) * 9, channels * 9, kernels, kLanes, turned * 9, count);
        for (int64_t i = 0; i < turned; ++i)
          weigh_kernels<kOut>(kernels + i * 9 * kLanes, matrix,
                              out + column * channels + (c + i) * width + first - column);
      }
    }
  }
}

void spread(const Winograd& w, int64_t first, int64_t begin, int64_t end, int64_t tiles, float* v) {
  (w.side == 2 ? spread_tiles<2> : spread_tiles<4>)(w, first, begin, end, tiles, v);
}
void gather(const Winograd& w, int64_t first, int64_t begin, int64_t end, int64_t tiles, const float* m) {
  (w.side == 2 ? gather_tiles<2> : gather_tiles<4>)(w, first, begin, end, tiles, m);
}
void pack(int64_t side, const float* given, int64_t channels, int64_t filters, float* out) {
  (side == 2 ? pack_weights<2> : pack_weights<4>)(given, channels, filters, out);
}

}  // namespace

void fill_winograd(Compute& c) {
  c.winograd_pack = pack, c.winograd_spread = spread, c.winograd_gather = gather;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
