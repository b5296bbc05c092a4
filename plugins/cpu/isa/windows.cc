// Convolutions with a channel per group, and pooling, channels last: a vector holds neighbouring channels of one pixel.
#include "isa/compute_parts.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

/// Neighbouring pixels that are computed together, so that they share what they read.
#if defined(__AVX512F__)
constexpr int kDepthwisePixels = 8;
#else
constexpr int kDepthwisePixels = 4;
#endif

/// The taps [first, last) along one axis that fall inside the input, for an output position.
struct Taps {
  int64_t start, first, last;
};
inline Taps taps_at(int64_t position, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation,
                    int64_t length) {
  const int64_t start = position * stride - pad;
  const int64_t first = start >= 0 ? 0 : least(kernel, (-start + dilation - 1) / dilation);
  const int64_t last = start >= length ? 0 : least(kernel, (length - start + dilation - 1) / dilation);
  return {start, first, most(first, last)};
}

/// One line of the output: its taps above and below, and its place in the tensors.
struct Line {
  const float* x;  // the image
  float* y;
  Taps rows;
  Limits limits;
};

/// Any pixel, from channel `c` on.

template <class T>
T pixel(const Depthwise& d, const Line& line, int64_t out, int64_t c) {
  const Taps columns = taps_at(out, d.kernel[1], d.stride[1], d.pad[1], d.dilation[1], d.width);
  T sum = d.bias != nullptr ? load_as<T>(d.bias + c) : T{};
  for (int64_t i = line.rows.first; i < line.rows.last; ++i) {
    const float* x = line.x + ((line.rows.start + i * d.dilation[0]) * d.width + columns.start) * d.ldx + c;
    const float* w = d.weights + i * d.kernel[1] * d.channels + c;
    for (int64_t j = columns.first; j < columns.last; ++j)
      sum += load_as<T>(x + j * d.dilation[1] * d.ldx) * load_as<T>(w + j * d.channels);
  }
  return sum;
}

/// kPixels pixels from `out` on whose taps all lie inside the input's lines; dilation 1. All channels that fill vectors.
template <int kKernel, int kStride, int kPixels>
void pixels(const Depthwise& d, const Line& line, int64_t out) {
  const float* corner = line.x + (line.rows.start * d.width + out * kStride - d.pad[1]) * d.ldx;
  for (int64_t first = 0; first < d.channels; first += kLanes) {
    const int64_t c = whole_vector(first, d.channels);
    Floats sums[kPixels];
    for (Floats& sum : sums) sum = d.bias != nullptr ? load(d.bias + c) : Floats{};
    for (int64_t i = line.rows.first; i < line.rows.last; ++i) {
      const float* x = corner + i * d.dilation[0] * d.width * d.ldx + c;
      const float* w = d.weights + i * kKernel * d.channels + c;
      Floats weights[kKernel];
      for (int j = 0; j < kKernel; ++j) weights[j] = load(w + j * d.channels);
#pragma GCC unroll 32
      for (int s = 0; s < (kPixels - 1) * kStride + kKernel; ++s) {
        const Floats value = load(x + s * d.ldx);
#pragma GCC unroll 8
        for (int p = 0; p < kPixels; ++p) {
          const int tap = s - p * kStride;
          if (tap >= 0 && tap < kKernel) sums[p] += value * weights[tap];
        }
      }
    }
    for (int p = 0; p < kPixels; ++p) store(line.y + (out + p) * d.ldy + c, limited(sums[p], line.limits));
  }
}

/// The same for any kernel, stride and dilation.
template <int kPixels>
void any_pixels(const Depthwise& d, const Line& line, int64_t out) {
  const float* corner = line.x + (line.rows.start * d.width + out * d.stride[1] - d.pad[1]) * d.ldx;
  const int64_t step = d.stride[1] * d.ldx;
  for (int64_t first = 0; first < d.channels; first += kLanes) {
    const int64_t c = whole_vector(first, d.channels);
    Floats sums[kPixels];
    for (Floats& sum : sums) sum = d.bias != nullptr ? load(d.bias + c) : Floats{};
    for (int64_t i = line.rows.first; i < line.rows.last; ++i) {
      const float* x = corner + i * d.dilation[0] * d.width * d.ldx + c;
      const float* w = d.weights + i * d.kernel[1] * d.channels + c;
      for (int64_t j = 0; j < d.kernel[1]; ++j, x += d.dilation[1] * d.ldx, w += d.channels) {
        const Floats weight = load(w);
        for (int p = 0; p < kPixels; ++p) sums[p] += load(x + p * step) * weight;
      }
    }
    for (int p = 0; p < kPixels; ++p) store(line.y + (out + p) * d.ldy + c, limited(sums[p], line.limits));
  }
}

void border_pixel(const Depthwise& d, const Line& line, int64_t out) {
  for (int64_t first = 0; first < d.channels; first += kLanes) {
    const int64_t c = whole_vector(first, d.channels);
    store(line.y + out * d.ldy + c, limited(pixel<Floats>(d, line, out, c), line.limits));
  }
}

void few_channels(const Depthwise& d, const Line& line) {
  for (int64_t out = 0; out < d.out_width; ++out) {
    for (int64_t c = 0; c < d.channels; ++c)
      line.y[out * d.ldy + c] = limited(pixel<float>(d, line, out, c), line.limits);
  }
}

/// A line: `many` pixels at a time, then few, where no tap lies in the padding at the sides.
template <int kMany, class Many, class Four, class Two, class One>
inline void line_with(const Depthwise& d, const Line& line, Many many, Four four, Two two, One one) {
  const int64_t reach = (d.kernel[1] - 1) * d.dilation[1] + 1, stride = d.stride[1];
  const int64_t begin = least(d.out_width, (d.pad[1] + stride - 1) / stride);
  const int64_t room = d.width + d.pad[1] - reach;
  const int64_t end = room < 0 ? begin : most(begin, least(d.out_width, room / stride + 1));
  int64_t out = 0;
  for (; out < begin; ++out) border_pixel(d, line, out);
  for (; out + kMany <= end; out += kMany) many(d, line, out);
  for (; out + 4 <= end; out += 4) four(d, line, out);
  for (; out + 2 <= end; out += 2) two(d, line, out);
  for (; out < end; ++out) one(d, line, out);
  for (; out < d.out_width; ++out) border_pixel(d, line, out);
}

template <int kKernel, int kStride>
void line_of(const Depthwise& d, const Line& line) {
  constexpr int kMany = kKernel > 5 || kStride > 1 ? 4 : kDepthwisePixels;
  line_with<kMany>(d, line, pixels<kKernel, kStride, kMany>, pixels<kKernel, kStride, 4>,
                   pixels<kKernel, kStride, 2>, pixels<kKernel, kStride, 1>);
}
void any_line(const Depthwise& d, const Line& line) {
  line_with<kDepthwisePixels>(d, line, any_pixels<kDepthwisePixels>, any_pixels<4>, any_pixels<2>,
                              any_pixels<1>);
}

using OneLine = void (*)(const Depthwise&, const Line&);
OneLine line_for(const Depthwise& d) {
  const int64_t kernel = d.kernel[1], stride = d.stride[1];
  if (d.dilation[1] != 1) return any_line;
  if (kernel == 3 && stride == 1) return line_of<3, 1>;
  if (kernel == 3 && stride == 2) return line_of<3, 2>;
  if (kernel == 5 && stride == 1) return line_of<5, 1>;
  if (kernel == 5 && stride == 2) return line_of<5, 2>;
  if (kernel == 7 && stride == 1) return line_of<7, 1>;
  return any_line;
}

constexpr int64_t kNearPixels = 512;              // of a vector of channels, in the first-level cache
constexpr int64_t kFewTaps = 25, kNearTaps = 49;  // fewer taps do not pay for the copy

/// How many pixels `outputs` lines or columns of the result read, padding included.
int64_t reach_of(const Depthwise& d, int axis, int64_t outputs) {
  return (outputs - 1) * d.stride[axis] + (d.kernel[axis] - 1) * d.dilation[axis] + 1;
}

/// Whether the image is small enough for near_lines(). The whole image decides, not the lines of a thread: bits must not depend on
/// threads, and only near_lines() multiplies the padding, where an infinite weight gives NaN.
bool is_near(const Depthwise& d) {
  const int64_t taps = d.kernel[0] * d.kernel[1];
  return d.channels >= kLanes && taps >= kFewTaps && taps <= kNearTaps &&
         reach_of(d, 0, d.out_height) * reach_of(d, 1, d.out_width) <= kNearPixels;
}

/// Lines [first, last) of an image. One vector of channels at a time is copied together with its padding, so that no pixel lies at a
/// border, and neighbouring pixels lie side by side.
void near_lines(const Depthwise& d, OneLine one_line, const Line& like, int64_t image, int64_t first,
                int64_t last) {
  const int64_t height = reach_of(d, 0, last - first), width = reach_of(d, 1, d.out_width);
  alignas(64) float pixels[kNearPixels * kLanes];
  alignas(64) float weights[kNearTaps * kLanes];
  __builtin_memset(pixels, 0, static_cast<uint64_t>(height * width * kLanes) * sizeof(float));
  Depthwise near = d;
  near.x = pixels, near.ldx = near.channels = kLanes;
  near.height = height, near.width = width;
  near.pad[0] = near.pad[1] = 0;
  near.weights = weights;
  const int64_t top = first * d.stride[0] - d.pad[0];  // may lie in the padding
  const int64_t row_begin = most(0, -top), row_end = least(height, d.height - top);
  const int64_t column_begin = least(width, d.pad[1]), column_end = least(width, d.width + d.pad[1]);
  for (int64_t channel = 0; channel < d.channels; channel += kLanes) {
    const int64_t c = whole_vector(channel, d.channels);
    for (int64_t i = row_begin; i < row_end; ++i) {
      const float* from = d.x + (image * d.height + top + i) * d.width * d.ldx + c;
      for (int64_t j = column_begin; j < column_end; ++j)
        store(pixels + (i * width + j) * kLanes, load(from + (j - d.pad[1]) * d.ldx));
    }
    for (int64_t t = 0; t < d.kernel[0] * d.kernel[1]; ++t)
      store(weights + t * kLanes, load(d.weights + t * d.channels + c));
    near.bias = d.bias != nullptr ? d.bias + c : nullptr;
    for (int64_t row = first; row < last; ++row) {
      Line line = like;
      line.x = pixels, line.y = d.y + (image * d.out_height + row) * d.out_width * d.ldy + c;
      line.rows = taps_at(row - first, d.kernel[0], d.stride[0], 0, d.dilation[0], height);
      one_line(near, line);
    }
  }
}

/// Lines [first, last) of an image.
void lines(const Depthwise& d, OneLine one_line, const Line& like, int64_t image, int64_t first,
           int64_t last) {
  if (is_near(d)) return near_lines(d, one_line, like, image, first, last);
  for (int64_t row = first; row < last; ++row) {
    Line line = like;
    line.x = d.x + image * d.height * d.width * d.ldx;
    line.y = d.y + (image * d.out_height + row) * d.out_width * d.ldy;
    line.rows = taps_at(row, d.kernel[0], d.stride[0], d.pad[0], d.dilation[0], d.height);
    if (d.channels >= kLanes) {
      one_line(d, line);
    } else {
      few_channels(d, line);
    }
  }
}

void depthwise(const Depthwise& d, int64_t begin, int64_t end) {
  const OneLine one_line = line_for(d);
  Line like{};
  Chain rest = d.chain;
  like.limits = take_limits(rest);
  while (begin < end) {
    const int64_t image = begin / d.out_height, first = begin % d.out_height,
                  last = least(d.out_height, first + end - begin);
    lines(d, one_line, like, image, first, last);
    if (rest.count > 0)
      apply(rest, d.y + begin * d.out_width * d.ldy, d.ldy, begin * d.out_width, (last - first) * d.out_width,
            0, d.channels);
    begin += last - first;
  }
}

template <class T>
void pool_pixel(const Pool& p, const float* image, const Taps& rows, const Taps& columns, float scale,
                float* y, int64_t c) {
  // A window entirely inside the padding has no element: its maximum is minus infinity, its mean 0.
  if (rows.first == rows.last || columns.first == columns.last)
    return store(y + c, p.kind == Pool::Kind::kMax ? T{} - __builtin_inff() : T{});
  // The window's own first element may be before the image, but not that of its part inside.
  const float* const corner =
      image +
      ((rows.start + rows.first * p.dilation[0]) * p.width + columns.start + columns.first * p.dilation[1]) *
          p.ldx +
      c;
  const auto each = [&](auto take) TENON_INLINED {
    const float* line = corner;
    for (int64_t i = rows.first; i < rows.last; ++i, line += p.dilation[0] * p.width * p.ldx) {
      const float* x = line;
      for (int64_t j = columns.first; j < columns.last; ++j, x += p.dilation[1] * p.ldx) take(load_as<T>(x));
    }
  };
  if (p.kind == Pool::Kind::kMax) {
    T out = load_as<T>(corner);
    each([&](T value) TENON_INLINED { out = larger(value, out); });  // a NaN that comes first stays
    store(y + c, out);
  } else {
    T sum{};
    each([&](T value) TENON_INLINED { sum += value; });
    store(y + c, scale == 0.0f ? sum : sum / scale);
  }
}

void pool(const Pool& p, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const int64_t image = row / p.out_height, position = row % p.out_height;
    const float* x = p.x + image * p.height * p.width * p.ldx;
    const Taps rows = taps_at(position, p.kernel[0], p.stride[0], p.pad[0], p.dilation[0], p.height);
    const Taps padded_rows =
        taps_at(position, p.kernel[0], p.stride[0], p.pad[0], p.dilation[0], p.height + p.pad_end[0]);
    for (int64_t out = 0; out < p.out_width; ++out) {
      const Taps columns = taps_at(out, p.kernel[1], p.stride[1], p.pad[1], p.dilation[1], p.width);
      int64_t count = (rows.last - rows.first) * (columns.last - columns.first);
      if (p.kind == Pool::Kind::kAverageWithPadding) {
        const Taps padded =
            taps_at(out, p.kernel[1], p.stride[1], p.pad[1], p.dilation[1], p.width + p.pad_end[1]);
        count = padded_rows.last * padded.last;
      }
      const auto scale = static_cast<float>(count);
      float* y = p.y + (row * p.out_width + out) * p.ldy;
      if (p.channels >= kLanes) {
        for (int64_t c = 0; c < p.channels; c += kLanes)
          pool_pixel<Floats>(p, x, rows, columns, scale, y, whole_vector(c, p.channels));
      } else {
        for (int64_t c = 0; c < p.channels; ++c) pool_pixel<float>(p, x, rows, columns, scale, y, c);
      }
    }
  }
}

/// Sums of few rows are added to each other, so that the error does not grow with all rows.
template <class T>
void mean(const float* x, int64_t ldx, int64_t rows, float* y) {
  constexpr int64_t kBlock = 32;
  T total{};
  for (int64_t begin = 0; begin < rows; begin += kBlock) {
    T sums[4] = {};
    const int64_t end = least(rows, begin + kBlock);
    int64_t r = begin;
    for (; r + 4 <= end; r += 4) {
      for (int s = 0; s < 4; ++s) sums[s] += load_as<T>(x + (r + s) * ldx);
    }
    for (; r < end; ++r) sums[0] += load_as<T>(x + r * ldx);
    total += (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
  store(y, total / static_cast<float>(rows));
}

void column_means(const float* x, int64_t ldx, int64_t rows, int64_t columns, float* y) {
  if (columns >= kLanes) {
    for (int64_t first = 0; first < columns; first += kLanes) {
      const int64_t c = whole_vector(first, columns);
      mean<Floats>(x + c, ldx, rows, y + c);
    }
  } else {
    for (int64_t c = 0; c < columns; ++c) mean<float>(x + c, ldx, rows, y + c);
  }
}

}  // namespace

void fill_windows(Compute& c) { c.depthwise = depthwise, c.pool = pool, c.column_means = column_means; }

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE
