// Winograd's minimal filtering F(4x4, 3x3): 16 pixels of a convolution with a kernel of 3x3 and stride 1 take 36 multiplications per
// pair of channels instead of 144. After A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2016.
#include "isa/compute_parts.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

constexpr int kSide = 6, kOut = 4;  // of a tile of the input, and of the output

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/// What differs between vectors and the last channels of a tensor with less than a vector of them.
inline void read(const float* x, Vector* out) { *out = load(x); }
inline void read(const float* x, float* out) { *out = *x; }
inline void write(float* y, Vector v) { store(y, v); }
inline void write(float* y, float v) { *y = v; }
inline Vector limited(Vector v, float low, float high) { return clamp(v, all(low), all(high)); }
inline float limited(float v, float low, float high) {
  v = v < low ? low : v;
  return v > high ? high : v;
}

/// Six numbers, each a T, to six.
template <class T>
inline void input_line(const T* x, int64_t step, T* out, int64_t out_step) {
  const T x0 = x[0], x1 = x[step], x2 = x[2 * step], x3 = x[3 * step], x4 = x[4 * step], x5 = x[5 * step];
  const T a = x4 - 4.0f * x2, b = x3 - 4.0f * x1, c = x4 - x2, d = 2.0f * (x3 - x1);
  out[0] = 4.0f * x0 - 5.0f * x2 + x4;
  out[out_step] = a + b;
  out[2 * out_step] = a - b;
  out[3 * out_step] = c + d;
  out[4 * out_step] = c - d;
  out[5 * out_step] = 4.0f * x1 - 5.0f * x3 + x5;
}

/// Six to four.
template <class T>
inline void output_line(const T* m, int64_t step, T* out, int64_t out_step) {
  const T sum = m[step] + m[2 * step], difference = m[step] - m[2 * step], sum2 = m[3 * step] + m[4 * step],
          difference2 = m[3 * step] - m[4 * step];
  out[0] = m[0] + sum + sum2;
  out[out_step] = difference + 2.0f * difference2;
  out[2 * out_step] = sum + 4.0f * sum2;
  out[3 * out_step] = difference + 8.0f * difference2 + m[5 * step];
}

struct Place {
  int64_t image, row, column;  // of the tile's first pixel in the output
};
inline Place place_of(const Winograd& w, int64_t tile) {
  const int64_t across = (w.out_width + kOut - 1) / kOut, down = (w.out_height + kOut - 1) / kOut;
  return {tile / (across * down), tile / across % down * kOut, tile % across * kOut};
}

template <class T>
void spread_channels(const Winograd& w, const Place& at, int64_t c, float* v, int64_t matrix) {
  T tile[kSide][kSide], half[kSide][kSide];
  const float* image = w.x + at.image * w.height * w.width * w.ldx + c;
  for (int i = 0; i < kSide; ++i) {
    const int64_t y = at.row - w.pad[0] + i;
    for (int j = 0; j < kSide; ++j) {
      const int64_t x = at.column - w.pad[1] + j;
      const bool inside = y >= 0 && y < w.height && x >= 0 && x < w.width;
      tile[i][j] = T{};
      if (inside) read(image + (y * w.width + x) * w.ldx, &tile[i][j]);
    }
  }
  for (int j = 0; j < kSide; ++j) input_line(&tile[0][j], kSide, &half[0][j], kSide);
  for (int i = 0; i < kSide; ++i) {
    T out[kSide];
    input_line(half[i], 1, out, 1);
    for (int j = 0; j < kSide; ++j) write(v + (i * kSide + j) * matrix + c, out[j]);
  }
}

void spread(const Winograd& w, int64_t first, int64_t begin, int64_t end, int64_t tiles, float* v) {
  const int64_t matrix = tiles * w.channels;
  for (int64_t tile = begin; tile < end; ++tile) {
    const Place at = place_of(w, first + tile);
    float* out = v + tile * w.channels;
    if (w.channels >= kLanes) {
      for (int64_t c = 0; c < w.channels; c += kLanes)
        spread_channels<Vector>(w, at, least(c, w.channels - kLanes), out, matrix);
    } else {
      for (int64_t c = 0; c < w.channels; ++c) spread_channels<float>(w, at, c, out, matrix);
    }
  }
}

/// Returns false if an element is not finite.
template <class T>
bool gather_filters(const Winograd& w, const Place& at, int64_t f, const float* m, int64_t matrix) {
  T half[kOut][kSide], sums = T{};
  for (int j = 0; j < kSide; ++j) {
    T column[kSide], out[kOut];
    for (int i = 0; i < kSide; ++i) read(m + (i * kSide + j) * matrix + f, &column[i]);
    output_line(column, 1, out, 1);
    for (int i = 0; i < kOut; ++i) half[i][j] = out[i];
  }
  T bias = T{};
  if (w.bias != nullptr) read(w.bias + f, &bias);
  for (int i = 0; i < kOut && at.row + i < w.out_height; ++i) {
    T out[kOut];
    output_line(half[i], 1, out, 1);
    float* y = w.y + ((at.image * w.out_height + at.row + i) * w.out_width + at.column) * w.ldy + f;
    for (int j = 0; j < kOut && at.column + j < w.out_width; ++j) {
      T value = out[j] + bias;
      sums += value * 0.0f;
      if (w.clamps) value = limited(value, w.low, w.high);
      write(y + j * w.ldy, value);
    }
  }
  float lanes[kLanes] = {}, total = 0;
  write(lanes, sums);
  for (const float lane : lanes) total += lane;
  return total == 0.0f;
}

/// The pixels of a tile by the definition of a convolution. Where an input is not finite or very large, the transforms would spread
/// that over the whole tile.
void define_tile(const Winograd& w, const Place& at) {
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
        w.y[((at.image * w.out_height + i) * w.out_width + j) * w.ldy + f] =
            w.clamps ? limited(sum, w.low, w.high) : sum;
      }
    }
  }
}

void gather(const Winograd& given, int64_t first, int64_t begin, int64_t end, int64_t tiles, const float* m) {
  Winograd w = given;
  Chain rest = w.chain;
  if (rest.count > 0 && rest.steps->kind == Step::Kind::kClamp) {
    w.clamps = true, w.low = rest.steps->alpha, w.high = rest.steps->beta;
    ++rest.steps, --rest.count;
  }
  const int64_t matrix = tiles * w.filters;
  for (int64_t tile = begin; tile < end; ++tile) {
    const Place at = place_of(w, first + tile);
    const float* from = m + tile * w.filters;
    bool finite = true;
    if (w.filters >= kLanes) {
      for (int64_t f = 0; f < w.filters; f += kLanes)
        finite = gather_filters<Vector>(w, at, least(f, w.filters - kLanes), from, matrix) && finite;
    } else {
      for (int64_t f = 0; f < w.filters; ++f)
        finite = gather_filters<float>(w, at, f, from, matrix) && finite;
    }
    if (!finite) define_tile(w, at);
    if (rest.count == 0) continue;
    for (int64_t i = at.row; i < least(w.out_height, at.row + kOut); ++i) {
      const int64_t row = (at.image * w.out_height + i) * w.out_width + at.column;
      apply(rest, w.y + row * w.ldy, w.ldy, row, least(kOut, w.out_width - at.column), 0, w.filters);
    }
  }
}

/// G of the paper: three numbers to six.
void weight_line(const float* g, int64_t step, float* out, int64_t out_step) {
  const float a = g[0], b = g[step], c = g[2 * step];
  out[0] = a * 0.25f;
  out[out_step] = (a + b + c) * (-1.0f / 6.0f);
  out[2 * out_step] = (a - b + c) * (-1.0f / 6.0f);
  out[3 * out_step] = a * (1.0f / 24.0f) + b * (1.0f / 12.0f) + c * (1.0f / 6.0f);
  out[4 * out_step] = a * (1.0f / 24.0f) - b * (1.0f / 12.0f) + c * (1.0f / 6.0f);
  out[5 * out_step] = c;
}

void weights(const float* g, int64_t matrix, float* out) {
  float half[kSide * 3], whole[kSide * kSide];
  for (int j = 0; j < 3; ++j) weight_line(g + j, 3, half + j, 3);
  for (int i = 0; i < kSide; ++i) weight_line(half + i * 3, 1, whole + i * kSide, 1);
  for (int i = 0; i < kSide * kSide; ++i) out[i * matrix] = whole[i];
}

}  // namespace

void fill_winograd(Compute& c) {
  c.winograd_weights = weights, c.winograd_spread = spread, c.winograd_gather = gather;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
