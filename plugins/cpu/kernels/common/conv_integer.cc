#include "kernels/common/conv_integer.h"

namespace tenon::cpu {

ConvIntegerState prepare_conv_integer(PrepareContext& p, const WindowAttributes& attributes, int64_t groups,
                                      int weights) {
  const DimsView x = p.input(0).dims(), w = p.input(weights).dims();
  require(x.size() == w.size() && x.size() >= 3, TENON_INVALID_ARGUMENT, "input ", x, " and weights ", w);
  require(groups > 0 && w[0] % groups == 0 && w[1] * groups == x[1], TENON_INVALID_ARGUMENT, "input ", x,
          " and weights ", w, " with group ", groups);
  ConvIntegerState s;
  s.window = attributes.resolve(x.subspan(2), w.subspan(2));
  const Dims out = window_output(x[0], w[0], s.window);
  p.set_output(0, out);
  if (element_count(out) == 0) return s;  // there is nothing to compute
  s.images = x[0], s.groups = groups, s.channels = w[1], s.outs = w[0] / groups;
  if (s.channels == 0) {  // each sum is 0, and the kernel may have any size
    for (WindowDim& d : s.window) d = WindowDim{.in = d.out, .out = d.out};
  }
  for (const WindowDim& d : s.window) s.in_plane *= d.in, s.out_plane *= d.out, s.taps *= d.kernel;
  const WindowDim& inner = s.window.back();
  p.require_memory(
      static_cast<uint64_t>(checked_mul(inner.out, inner.kernel, "the window")) * sizeof(int64_t),
      "the positions of the taps");
  for (int64_t o = 0; o < inner.out; ++o) {
    for (int64_t k = 0; k < inner.kernel; ++k) {
      const int64_t at = inner.start(o) + k * inner.dilation;
      s.inner.push_back(at >= 0 && at < inner.in ? at : ConvIntegerState::kOutside);
    }
  }
  return s;
}

ConvIntegerWeights::Shape ConvIntegerWeights::shape_of(DimsView w, int64_t groups) {
  return {groups, w[0] / groups, w[1], element_count(w.subspan(2))};
}

void ConvIntegerWeights::pack(TensorView w, const Shape& shape, int8_t* bytes, int32_t* sums) {
  if (shape.depthwise()) {
    isa_integer().pack_depthwise(w.data<uint8_t>(), shape.taps, shape.groups, right_toggle(w.dtype()), bytes,
                                 sums);
    return;
  }
  const int64_t row = shape.channels * shape.taps;
  for (int64_t g = 0; g < shape.groups; ++g) {
    for (int64_t t = 0; t < shape.taps; ++t) {
      isa_integer().pack(w.data<uint8_t>() + g * shape.outs * row + t, shape.channels, shape.taps, shape.outs,
                         row, right_toggle(w.dtype()),
                         bytes + g * shape.group_bytes() + t * in_quads(shape.channels) * isa::kPanel,
                         shape.panel_bytes(), sums + g * shape.outs);
    }
  }
}

ConvIntegerWeights::ConvIntegerWeights(const NodeView& n, int input, int64_t groups) {
  if (!n.input(input).is_constant()) return;
  const TensorView w = n.input(input).constant();
  if (!kByteTypes.contains(w.dtype()) || w.rank() < 3 || w.size() == 0 || groups <= 0 ||
      w.dim(0) % groups != 0)
    return;  // refused in prepare
  const Shape shape = shape_of(w.dims(), groups);
  own_bytes_ = AlignedList<int8_t>(shape.bytes());
  own_sums_ = AlignedList<int32_t>(w.dim(0));
  pack(w, shape, own_bytes_.data(), own_sums_.data());
  bytes_ = own_bytes_.data();
  sums_ = own_sums_.data();
  consume_packed(n, input);
}

ConvInteger::ConvInteger(const Context& ctx, const ConvIntegerState& state, TensorView x, int32_t x_zero,
                         TensorView w, TensorView w_zero, const int32_t* bias,
                         const ConvIntegerWeights& weights)
    : ctx_(ctx),
      s_(state),
      shape_(ConvIntegerWeights::shape_of(w.dims(), state.groups)),
      addresses_(ctx, kRows * state.taps),
      x_zero_(x_zero + (left_toggle(x.dtype()) != 0 ? 128 : 0)) {
  read_weights(w, weights);
  read_parameters(w, w_zero, bias);
  copy_input(x);
}

void ConvInteger::read_weights(TensorView w, const ConvIntegerWeights& weights) {
  weights_ = weights.bytes_, sums_ = weights.sums_;
  if (!weights.empty()) return;
  auto* bytes = ctx_.scratch<int8_t>(std::max<int64_t>(1, shape_.bytes()));
  auto* sums = ctx_.scratch<int32_t>(w.dim(0));
  std::fill_n(sums, w.dim(0), 0);
  if (w.size() > 0) ConvIntegerWeights::pack(w, shape_, bytes, sums);
  weights_ = bytes, sums_ = sums;
}

void ConvInteger::read_parameters(TensorView w, TensorView w_zero, const int32_t* bias) {
  const int64_t count = w.dim(0);
  zeros_ = scratch_list<int32_t>(ctx_, count);
  constants_ = scratch_list<int32_t>(ctx_, count);
  const int32_t shift = right_toggle(w.dtype()) != 0 ? -128 : 0;
  const auto terms = static_cast<int32_t>(s_.channels * s_.taps);
  for (int64_t i = 0; i < count; ++i) {
    const int32_t zero = (w_zero.present() ? byte_at(w_zero, w_zero.size() == 1 ? 0 : i) : 0) + shift;
    int32_t constant =
        wrapping_multiply(x_zero_, wrapping_subtract(wrapping_multiply(terms, zero), sums_[i]));
    if (bias != nullptr) constant = wrapping_add(constant, bias[i]);
    zeros_[static_cast<size_t>(i)] = zero;
    constants_[static_cast<size_t>(i)] = constant;
    shifted_ = shifted_ || zero != 0;
  }
  if (!shifted_ || !s_.depthwise()) return;
  auto* ones = ctx_.scratch<int8_t>(shape_.bytes());
  std::fill_n(ones, shape_.bytes(), int8_t{1});  // taps beyond the last meet zeros
  ones_ = ones;
}

void ConvInteger::copy_input(TensorView x) {
  const int64_t channels = s_.groups * s_.channels;
  const uint8_t toggle = left_toggle(x.dtype());
  step_ = in_quads(channels);
  // The last quad of a group, and vectors of channels, may reach into the bytes after a pixel.
  const int64_t bytes = (s_.images * s_.in_plane + 1) * step_ + isa::kTileColumns;
  auto* pixels = ctx_.scratch<uint8_t>(bytes);
  uint8_t* const outside = pixels + s_.images * s_.in_plane * step_;
  std::fill(outside, pixels + bytes, static_cast<uint8_t>(x_zero_));
  pixels_ = pixels, outside_ = outside;
  constexpr int64_t kPixels = 64;
  const int64_t blocks = ceil_div(s_.in_plane, kPixels);
  const int64_t grain = std::max<int64_t>(1, kGrainCheap / (kPixels * std::max<int64_t>(1, channels)));
  ctx_.parallel_for(s_.images * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * kPixels, n = std::min(kPixels, s_.in_plane - first),
                    image = i / blocks;
      isa_integer().transpose(x.data<uint8_t>() + image * channels * s_.in_plane + first, s_.in_plane,
                              channels, n, toggle, pixels + (image * s_.in_plane + first) * step_, step_);
    }
  });
}

void ConvInteger::find(const Piece& piece, const uint8_t** addresses) const {
  const size_t rank = s_.window.size();
  const WindowDim& inner = s_.window[rank - 1];
  const int64_t lines = s_.taps / inner.kernel;  // taps without the innermost dim
  const uint8_t* const image = pixels_ + piece.image * s_.in_plane * step_ + piece.group * s_.channels;
  for (int64_t i = 0; i < piece.rows;) {
    const int64_t position = piece.first + i, from = position % inner.out;
    const int64_t n = std::min(inner.out - from, piece.rows - i);
    for (int64_t line = 0; line < lines; ++line) {
      // The line of the input that this line of taps meets at these positions.
      int64_t rest = position / inner.out, tap = line, offset = 0, stride = 1;
      for (size_t d = rank - 1; d-- > 0;) {
        const WindowDim& w = s_.window[d];
        const int64_t at = w.start(rest % w.out) + tap % w.kernel * w.dilation;
        offset += at >= 0 && at < w.in ? at * stride : ConvIntegerState::kOutside / TENON_EP_MAX_RANK;
        rest /= w.out, tap /= w.kernel, stride *= w.in;
      }
      for (int64_t o = 0; o < n; ++o) {
        const uint8_t** const to = addresses + (i + o) * s_.taps + line * inner.kernel;
        const int64_t* const table = s_.inner.data() + (from + o) * inner.kernel;
        for (int64_t k = 0; k < inner.kernel; ++k) {
          const bool inside = offset >= 0 && table[k] >= 0;
          to[k] = inside ? image + (offset * inner.in + table[k]) * step_ : outside_;
        }
      }
    }
    i += n;
  }
}

void ConvInteger::add_rows(const Piece& piece, const uint8_t* const* addresses, int32_t* sums) const {
  for (int64_t i = 0; i < piece.rows; ++i) {
    uint32_t total = 0;
    for (int64_t t = 0; t < s_.taps; ++t)
      total += static_cast<uint32_t>(isa_integer().sum(addresses[i * s_.taps + t], s_.channels));
    sums[i] = static_cast<int32_t>(0 - total);
  }
}

void ConvInteger::multiply(const Piece& piece, const uint8_t* const* addresses, const int32_t* row_sums,
                           int64_t column, int64_t columns, int32_t* sums) const {
  const auto& isa = isa_integer();
  isa::IntegerProduct g;
  g.m = piece.rows;
  g.taps = s_.taps;
  g.depth = s_.depth();
  g.panels = ceil_div(columns, isa::kPanel);
  g.rows = addresses;
  g.row_step = s_.taps;
  g.panel_bytes = shape_.panel_bytes();
  g.b = weights_ + piece.group * shape_.group_bytes() + column / isa::kPanel * g.panel_bytes;
  g.c = sums;
  g.ldc = isa::kTileColumns;
  isa.product(g);
  const int32_t* const zeros = zeros_.data() + piece.group * s_.outs + column;
  for (int64_t i = 0; shifted_ && i < piece.rows; ++i)
    isa.correct_row(sums + i * isa::kTileColumns, columns, row_sums[i], zeros);
}

void ConvInteger::multiply_channels(const Piece& piece, const uint8_t* const* addresses, int64_t column,
                                    int64_t columns, int32_t* sums) const {
  const auto& isa = isa_integer();
  for (int64_t i = 0; i < piece.rows; ++i) {
    const uint8_t* const* const x = addresses + i * s_.taps;
    int32_t* const c = sums + i * isa::kTileColumns;
    isa.depthwise(x, s_.taps, column, weights_, c);
    if (shifted_) {
      int32_t windows[isa::kTileColumns];  // sums of x over the taps
      isa.depthwise(x, s_.taps, column, ones_, windows);
      isa.subtract_products(c, columns, windows, zeros_.data() + column);
    }
  }
}

}  // namespace tenon::cpu
