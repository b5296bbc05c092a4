// What RNN, GRU and LSTM share: attributes, activations, layouts, directions, sequence lengths.
//
// Inside, tensors are time-major ([time, batch, ...]) in float or double. A cell computes one step of one
// direction.
#pragma once

#include <string>

#include "kernels/common/convert.h"
#include "kernels/common/gemm.h"
#include "kernels/common/scratch.h"

namespace tenon::cpu {

/// One of ONNX's activation functions with its parameters.
struct Activation {
  enum class Kind {
    kRelu,
    kTanh,
    kSigmoid,
    kAffine,
    kLeakyRelu,
    kThresholdedRelu,
    kScaledTanh,
    kHardSigmoid,
    kElu,
    kSoftsign,
    kSoftplus
  };
  Kind kind = Kind::kSigmoid;
  float alpha = 0, beta = 0;

  template <class C>
  void apply(C* x, int64_t n) const;
};

/// Sizes of one Run. `gates` is 1, 3 or 4.
struct RecurrentSizes {
  int64_t time = 0, batch = 0, input = 0, hidden = 0, gates = 0, directions = 1;
};

/// Weights and state of one direction during a Run.
template <class C>
struct RecurrentDirection {
  const C* r;         // [gates * hidden, hidden]
  const C* w_bias;    // [gates * hidden], zeros if missing
  const C* r_bias;    // as w_bias
  const C* peephole;  // [3 * hidden] or NULL
  const Activation* activations;
};

class RecurrentBase {
 public:
  RecurrentBase(const NodeView& n, int gates, std::initializer_list<const char*> default_activations);
  static Support supports(const NodeView& n);
  void prepare(PrepareContext& p) const;

 protected:
  RecurrentSizes sizes(const Context& ctx) const;

  /// Runs all directions. `cell(direction, x_gates, h, c, rows)` replaces h (and c), [rows, hidden], by their
  /// values after the next step. x_gates [rows, gates * hidden] holds X W^T; the cell may overwrite it.
  template <class C, class T, class Cell>
  void run_directions(const Context& ctx, Cell&& cell) const;

  std::vector<Activation> activations_;  // per direction, as many as there are defaults
  float clip_ = 0;                       // 0: none
  bool linear_before_reset_ = false, input_forget_ = false;
  int64_t hidden_ = 0;

 private:
  void check_parameters(PrepareContext& p) const;
  bool is_reverse(int64_t direction) const { return reverse_ || direction == 1; }
  int gates_;
  bool batch_first_ = false, reverse_ = false, both_ = false, has_cell_;
};

/// Clips x to [-clip, clip]. Does nothing when clip is 0.
template <class C>
void clip_gates(C* x, int64_t n, float clip) {
  if (clip <= 0) return;
  for (int64_t i = 0; i < n; ++i) x[i] = std::clamp<C>(x[i], -static_cast<C>(clip), static_cast<C>(clip));
}

/// A dense [d0, d1, block] tensor as C. `exchange` swaps the two leading dims.
template <class C, class T>
std::span<C> load_blocks(const Context& ctx, TensorView in, bool exchange) {
  const std::span<C> out = scratch_list<C>(ctx, in.size());
  const int64_t d0 = in.rank() > 0 ? in.dim(0) : 1, d1 = in.rank() > 1 ? in.dim(1) : 1;
  const int64_t block = d0 * d1 > 0 ? in.size() / (d0 * d1) : 0;
  const T* from = in.data<T>();
  for (int64_t i = 0; i < d0; ++i)
    for (int64_t j = 0; j < d1; ++j, from += block) {
      C* to = out.data() + (exchange ? j * d0 + i : i * d1 + j) * block;
      for (int64_t k = 0; k < block; ++k) to[k] = static_cast<C>(static_cast<Compute<T>>(from[k]));
    }
  return out;
}

/// As load_blocks(), but read-only: the tensor's own memory if its type and layout fit.
template <class C, class T>
std::span<const C> view_blocks(const Context& ctx, TensorView in, bool exchange) {
  if constexpr (std::is_same_v<C, T>) {
    if (!exchange) return {in.data<T>(), static_cast<size_t>(in.size())};
  }
  return load_blocks<C, T>(ctx, in, exchange);
}

template <class C, class T, class Cell>
void RecurrentBase::run_directions(const Context& ctx, Cell&& cell) const {
  const RecurrentSizes s = sizes(ctx);
  if (s.batch == 0 || s.hidden == 0) return;  // all outputs are empty
  const int64_t width = s.gates * s.hidden, state = s.batch * s.hidden;
  const auto load = [&](int i, bool exchange) { return load_blocks<C, T>(ctx, ctx.input(i), exchange); };
  // Input `i`, or zeros.
  const auto load_or_zeros = [&](int i, bool exchange, int64_t n) {
    if (ctx.has_input(i)) return load(i, exchange);
    const std::span<C> out = scratch_list<C>(ctx, n);
    std::fill(out.begin(), out.end(), C{0});
    return out;
  };
  const auto view = [&](int i, bool exchange) { return view_blocks<C, T>(ctx, ctx.input(i), exchange); };
  const std::span<const C> x = view(0, batch_first_), w = view(1, false), r = view(2, false),
                           bias = load_or_zeros(3, false, s.directions * 2 * width);
  const std::span<const C> peephole = has_cell_ && ctx.has_input(7) ? view(7, false) : std::span<const C>();
  const std::span<int64_t> lengths = scratch_list<int64_t>(ctx, s.batch);
  std::fill(lengths.begin(), lengths.end(), s.time);
  if (ctx.has_input(4)) {
    const DimsView given = int_list(ctx, ctx.input(4));
    std::copy(given.begin(), given.end(), lengths.begin());
  }
  for (const int64_t length : lengths)
    require(length >= 0 && length <= s.time, TENON_INVALID_ARGUMENT, "sequence length ", length,
            " is outside [0, ", s.time, "]");
  const std::span<C> h = load_or_zeros(5, batch_first_, s.directions * state),
                     c = has_cell_ ? load_or_zeros(6, batch_first_, s.directions * state) : std::span<C>(),
                     y = scratch_list<C>(ctx, s.time * s.directions * state),
                     gates = scratch_list<C>(ctx, s.time * s.batch * width);
  std::fill(y.begin(), y.end(), C{0});

  for (int64_t d = 0; d < s.directions; ++d) {
    gemm<C>(ctx, {s.time * s.batch, width, s.input, x.data(), s.input, false, w.data() + d * width * s.input,
                  s.input, true, gates.data(), width, false});
    const RecurrentDirection<C> direction{
        r.data() + d * width * s.hidden, bias.data() + d * 2 * width, bias.data() + d * 2 * width + width,
        peephole.empty() ? nullptr : peephole.data() + d * 3 * s.hidden,
        activations_.data() +
            static_cast<size_t>(d) * (activations_.size() / static_cast<size_t>(both_ ? 2 : 1))};
    C* hd = h.data() + d * state;
    C* cd = has_cell_ ? c.data() + d * state : nullptr;
    // If all sequences are as long as the input, the whole batch goes in one step, else row by row.
    const bool uniform =
        std::all_of(lengths.begin(), lengths.end(), [&](int64_t length) { return length == s.time; });
    for (int64_t b = 0; b < (uniform ? 1 : s.batch); ++b) {
      const int64_t rows = uniform ? s.batch : 1, steps = uniform ? s.time : lengths[static_cast<size_t>(b)];
      for (int64_t step = 0; step < steps; ++step) {
        ctx.check_cancelled();
        const int64_t t = is_reverse(d) ? steps - 1 - step : step;
        cell(direction, gates.data() + (t * s.batch + b) * width, hd + b * s.hidden,
             cd ? cd + b * s.hidden : nullptr, rows);
        std::copy_n(hd + b * s.hidden, rows * s.hidden,
                    y.data() + ((t * s.directions + d) * s.batch + b) * s.hidden);
      }
    }
  }
  // Y is [time, directions, batch, hidden], or [batch, time, directions, hidden] when the batch comes first.
  if (ctx.has_output(0)) {
    T* out = ctx.output(0).template data<T>();
    for (int64_t t = 0; t < s.time; ++t)
      for (int64_t d = 0; d < s.directions; ++d)
        for (int64_t b = 0; b < s.batch; ++b) {
          const C* from = y.data() + ((t * s.directions + d) * s.batch + b) * s.hidden;
          T* to = out + (batch_first_ ? (b * s.time + t) * s.directions + d
                                      : (t * s.directions + d) * s.batch + b) *
                            s.hidden;
          for (int64_t i = 0; i < s.hidden; ++i) to[i] = static_cast<T>(from[i]);
        }
  }
  const std::span<const C> states[] = {h, c};
  for (int i = 0; i < (has_cell_ ? 2 : 1); ++i) {
    if (!ctx.has_output(i + 1)) continue;
    T* out = ctx.output(i + 1).template data<T>();
    for (int64_t d = 0; d < s.directions; ++d)
      for (int64_t b = 0; b < s.batch; ++b)
        for (int64_t k = 0; k < s.hidden; ++k)
          out[(batch_first_ ? b * s.directions + d : d * s.batch + b) * s.hidden + k] =
              static_cast<T>(states[i][static_cast<size_t>((d * s.batch + b) * s.hidden + k)]);
  }
}

}  // namespace tenon::cpu
