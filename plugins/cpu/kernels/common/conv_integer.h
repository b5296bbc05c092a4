// Convolution of 8-bit integers with exact 32-bit sums.
#pragma once

#include "kernels/common/im2col.h"
#include "kernels/common/quantize.h"

namespace tenon::cpu {

/// Sums of (x - x_zero) * (w - w_zero[channel]) for every output element, handed to store(channel, index,
/// sum). x: input 0 of int8 or uint8; w: input `weights`. Padding counts as x_zero.
template <class Store>
void convolve_integer(const Context& ctx, const WindowAttributes& attributes, int64_t groups, int weights,
                      int32_t x_zero, const std::vector<float>& w_zero, Store&& store) {
  const TensorView x = ctx.input(0), w = ctx.input(weights);
  const std::vector<WindowDim> window = attributes.resolve(x.dims().subspan(2), w.dims().subspan(2));
  int64_t in_plane = 1, out_plane = 1, taps = 1;
  for (const WindowDim& d : window) in_plane *= d.in, out_plane *= d.out, taps *= d.kernel;
  const int64_t channels = w.dim(1), outs = w.dim(0) / groups, rows = channels * taps;
  require(w.dim(0) % groups == 0 && channels * groups == x.dim(1), TENON_INVALID_ARGUMENT, "input ", x.dims(),
          " and weights ", w.dims(), " with group ", groups);
  const auto widen = [](TensorView from, auto zero) {
    std::vector<int32_t> out(static_cast<size_t>(from.size()));
    dispatch(TypeList<int8_t, uint8_t>(), from.dtype(), [&]<class T>() {
      for (size_t i = 0; i < out.size(); ++i) out[i] = from.data<T>()[i] - zero(i);
    });
    return out;
  };
  const std::vector<int32_t> xs = widen(x, [&](size_t) { return x_zero; });
  const std::vector<int32_t> ws = widen(w, [&](size_t i) {
    return static_cast<int32_t>(w_zero[w_zero.size() == 1 ? 0 : i / static_cast<size_t>(rows)]);
  });
  const int64_t images = x.dim(0) * groups;
  constexpr int64_t kWidth = 256;  // output positions at a time
  const int64_t blocks = (out_plane + kWidth - 1) / kWidth;
  ctx.parallel_for(images * blocks, 1, [&](int64_t begin, int64_t end) {
    std::vector<int32_t> columns(static_cast<size_t>(rows * kWidth)), sums(static_cast<size_t>(kWidth));
    for (int64_t item = begin; item < end; ++item) {
      const int64_t image = item / blocks, first = item % blocks * kWidth,
                    n = std::min(kWidth, out_plane - first);
      im2col(xs.data() + image * channels * in_plane, channels, window, first, n, int32_t{0}, columns.data());
      for (int64_t m = 0; m < outs; ++m) {
        const int64_t channel = image % groups * outs + m;
        std::fill_n(sums.begin(), n, 0);
        for (int64_t r = 0; r < rows; ++r) {
          const int32_t weight = ws[static_cast<size_t>(channel * rows + r)];
          const int32_t* column = columns.data() + r * n;
          for (int64_t i = 0; i < n; ++i) sums[static_cast<size_t>(i)] += weight * column[i];
        }
        const int64_t to = (image * outs + m) * out_plane + first;
        for (int64_t i = 0; i < n; ++i) store(channel, to + i, sums[static_cast<size_t>(i)]);
      }
    }
  });
}

/// The output shape of a convolution, for prepare.
inline void set_conv_shape(PrepareContext& p, const WindowAttributes& attributes, int weights) {
  const DimsView x = p.input(0).dims(), w = p.input(weights).dims();
  require(x.size() == w.size() && x.size() >= 3, TENON_INVALID_ARGUMENT, "input ", x, " and weights ", w);
  p.set_output(0, window_output(x[0], w[0], attributes.resolve(x.subspan(2), w.subspan(2))));
}

}  // namespace tenon::cpu
