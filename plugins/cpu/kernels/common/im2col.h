// Convolution as a matrix product: the input's windows laid out as columns.
#pragma once

#include "kernels/common/window.h"

namespace tenon::cpu {

template <class T>
void copy_line(const T* from, int64_t stride, int64_t n, T* to) {
  if (stride == 1) {
    std::copy_n(from, n, to);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
  }
}

/// Rows are (channel, tap), columns are the output positions [first, first + n); `to` has `n` elements per
/// row. `image` is one [channels, spatial...] tensor. Positions in the padding get `outside`.
template <class T>
void im2col(const T* image, int64_t channels, const std::vector<WindowDim>& dims, int64_t first, int64_t n,
            T outside, T* to) {
  const size_t rank = dims.size();
  const WindowDim* window = dims.data();
  const WindowDim& inner = window[rank - 1];
  int64_t plane = 1, taps = 1;
  for (const WindowDim& w : dims) plane *= w.in, taps *= w.kernel;
  int64_t at[TENON_EP_MAX_RANK] = {}, tap[TENON_EP_MAX_RANK] = {};
  for (int64_t row = 0; row < channels * taps; ++row, to += n) {
    const T* channel = image + row / taps * plane;
    int64_t rest = row % taps;
    for (size_t d = rank; d-- > 0;) tap[d] = rest % window[d].kernel, rest /= window[d].kernel;
    rest = first;
    for (size_t d = rank; d-- > 0;) at[d] = rest % window[d].out, rest /= window[d].out;

    // Output positions [low, high) of the line have their element inside the input.
    const int64_t shift = tap[rank - 1] * inner.dilation - inner.pad_begin;
    const int64_t low = shift >= 0 ? 0 : ceil_div(-shift, inner.stride);
    const int64_t high = inner.in <= shift ? 0 : ceil_div(inner.in - shift, inner.stride);
    for (int64_t done = 0; done < n;) {  // one line of the innermost dim at a time
      const int64_t begin = at[rank - 1], line = std::min(inner.out - begin, n - done);
      int64_t offset = 0;
      bool inside = true;
      for (size_t d = 0; d + 1 < rank; ++d) {
        const int64_t in = at[d] * window[d].stride - window[d].pad_begin + tap[d] * window[d].dilation;
        inside = inside && in >= 0 && in < window[d].in;
        offset = offset * window[d].in + in;
      }
      T* out = to + done;
      const int64_t before = std::clamp<int64_t>(low - begin, 0, line);
      const int64_t end = inside ? std::clamp<int64_t>(high - begin, before, line) : before;
      std::fill(out, out + before, outside);
      if (before < end)
        copy_line(channel + offset * inner.in + (begin + before) * inner.stride + shift, inner.stride,
                  end - before, out + before);
      std::fill(out + end, out + line, outside);
      done += line;
      at[rank - 1] = 0;
      for (size_t d = rank - 1; d-- > 0;) {
        if (++at[d] < window[d].out) break;
        at[d] = 0;
      }
    }
  }
}

}  // namespace tenon::cpu
