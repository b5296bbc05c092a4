// Convolution of 8-bit integers with 32-bit sums.
#pragma once

#include "kernels/common/im2col.h"
#include "kernels/common/quantize.h"

namespace tenon::cpu {

using ConvIntegerState = std::vector<WindowDim>;

/// Throws an Error unless input `i` is absent or has one element, or one per channel.
inline void check_parameter(PrepareContext& p, int i, int64_t channels = 1) {
  const int64_t n = p.input(i).size();
  require(!p.has_input(i) || n == 1 || n == channels, TENON_INVALID_ARGUMENT, "input ", i, " has ", n,
          " elements");
}

/// Checks the shapes and sets the output shape of input 0 convolved with input `weights`.
inline ConvIntegerState prepare_conv_integer(PrepareContext& p, const WindowAttributes& attributes,
                                             int64_t groups, int weights) {
  const DimsView x = p.input(0).dims(), w = p.input(weights).dims();
  require(x.size() == w.size() && x.size() >= 3, TENON_INVALID_ARGUMENT, "input ", x, " and weights ", w);
  require(groups > 0 && w[0] % groups == 0 && w[1] * groups == x[1], TENON_INVALID_ARGUMENT, "input ", x,
          " and weights ", w, " with group ", groups);
  ConvIntegerState window = attributes.resolve(x.subspan(2), w.subspan(2));
  p.set_output(0, window_output(x[0], w[0], window));
  return window;
}

/// The elements of an int8 or uint8 tensor minus their zero points.
template <class Zero>
std::span<const int32_t> widen(const Context& ctx, TensorView from, Zero&& zero) {
  const std::span<int32_t> out = scratch_list<int32_t>(ctx, from.size());
  dispatch(TypeList<int8_t, uint8_t>(), from.dtype(), [&]<class T>() {
    for (size_t i = 0; i < out.size(); ++i) out[i] = from.data<T>()[i] - zero(i);
  });
  return out;
}

/// Calls store(channel, index, sum of (x - x_zero) * (w - w_zero[channel])) for every output element. x:
/// input 0 of int8 or uint8; w: input `weights`. Padding counts as x_zero.
template <class Store>
void convolve_integer(const Context& ctx, const ConvIntegerState& window, int64_t groups, int weights,
                      int32_t x_zero, std::span<const float> w_zero, Store&& store) {
  const TensorView x = ctx.input(0), w = ctx.input(weights);
  int64_t in_plane = 1, out_plane = 1, taps = 1;
  for (const WindowDim& d : window) in_plane *= d.in, out_plane *= d.out, taps *= d.kernel;
  const int64_t channels = w.dim(1), outs = w.dim(0) / groups, rows = channels * taps;
  const std::span<const int32_t> xs = widen(ctx, x, [&](size_t) { return x_zero; });
  const std::span<const int32_t> ws = widen(ctx, w, [&](size_t i) {
    return static_cast<int32_t>(w_zero[w_zero.size() == 1 ? 0 : i / static_cast<size_t>(rows)]);
  });
  const int64_t images = x.dim(0) * groups;
  constexpr int64_t kWidth = 256;  // output positions at a time
  const int64_t blocks = (out_plane + kWidth - 1) / kWidth;
  const WorkerLists<int32_t> all_columns(ctx, rows * kWidth), all_sums(ctx, kWidth);
  ctx.parallel_for(images * blocks, 1, [&](uint32_t worker, int64_t begin, int64_t end) {
    const std::span<int32_t> columns = all_columns.of(worker), sums = all_sums.of(worker);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t image = item / blocks, first = item % blocks * kWidth,
                    n = std::min(kWidth, out_plane - first);
      im2col(xs.data() + image * channels * in_plane, channels, window, first, n, int32_t{0}, columns.data());
      for (int64_t m = 0; m < outs; ++m) {
        const int64_t channel = image % groups * outs + m;
        ctx.check_cancelled();
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

}  // namespace tenon::cpu
