// The engine of the pooling operators: all windows of all channels, over any number of spatial dims.
#pragma once

#include <array>

#include "kernels/common/window.h"

namespace tenon::cpu {

/// The window of one output position, in one dim.
struct PoolSpan {
  int64_t first = 0;    // input position of the first tap inside the input
  int64_t taps = 0;     // taps inside the input
  int64_t covered = 0;  // taps inside the padded input
};

/// One window of a channel plane: one span per dim.
class PoolWindow {
 public:
  PoolWindow(std::span<const PoolSpan* const> spans, DimsView strides, DimsView tap_strides)
      : spans_(spans), strides_(strides), tap_strides_(tap_strides) {}

  /// Taps inside the input.
  int64_t taps() const { return product(&PoolSpan::taps); }
  /// Taps inside the padded input.
  int64_t covered() const { return product(&PoolSpan::covered); }
  /// Calls tap(offset in the plane) for every tap inside the input, in order.
  template <class F>
  void each(F&& tap) const {
    const size_t inner = spans_.size() - 1;
    const int64_t line = spans_[inner]->taps, stride = tap_strides_[inner];
    int64_t at = 0, rows = line > 0 ? 1 : 0;
    for (size_t d = 0; d < spans_.size(); ++d) at += spans_[d]->first * strides_[d];
    for (size_t d = 0; d < inner; ++d) rows *= spans_[d]->taps;
    std::array<int64_t, TENON_EP_MAX_RANK> index{};
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < line; ++i) tap(at + i * stride);
      for (size_t d = inner; d-- > 0;) {
        at += tap_strides_[d];
        if (++index[d] < spans_[d]->taps) break;
        at -= tap_strides_[d] * index[d];
        index[d] = 0;
      }
    }
  }

 private:
  int64_t product(int64_t PoolSpan::*member) const {
    int64_t out = 1;
    for (const PoolSpan* span : spans_) out *= span->*member;
    return out;
  }
  std::span<const PoolSpan* const> spans_;
  DimsView strides_, tap_strides_;
};

/// As PoolWindow, from a list of taps.
class PoolList {
 public:
  PoolList(const int64_t* first, const int64_t* last, int64_t covered)
      : first_(first), last_(last), covered_(covered) {}
  int64_t taps() const { return last_ - first_; }
  int64_t covered() const { return covered_; }
  template <class F>
  void each(F&& tap) const {
    for (const int64_t* at = first_; at != last_; ++at) tap(*at);
  }

 private:
  const int64_t *first_, *last_;
  int64_t covered_;
};

/// The windows of all output positions, computed once per shape and shared by all planes. Listed if they have
/// few taps in total, else walked.
class PoolWindows {
 public:
  PoolWindows() = default;  // for an output without elements
  PoolWindows(const PrepareContext& p, const std::vector<WindowDim>& dims)
      : spans_(dims.size()), strides_(dims.size(), 1), tap_strides_(dims.size()), in_size_(1), out_size_(1) {
    int64_t positions = 0;
    for (const WindowDim& w : dims) {
      in_size_ = checked_mul(in_size_, w.in, "the input");
      out_size_ = checked_mul(out_size_, w.out, "the output");
      positions = checked_add(positions, w.out, "the output");
    }
    if (out_size_ == 0) return;
    require_tables(p, positions, sizeof(PoolSpan), "the tables of the windows");
    for (size_t d = dims.size(); d-- > 1;) strides_[d - 1] = strides_[d] * dims[d].in;
    for (size_t d = 0; d < dims.size(); ++d) {
      // A dim with one element has no second tap.
      tap_strides_[d] = dims[d].in > dims[d].dilation ? dims[d].dilation * strides_[d] : 0;
      fill(p, dims[d], spans_[d]);
    }
    if (work_ + static_cast<double>(out_size_) <= kMostListed) list();
  }
  int64_t in_size() const { return in_size_; }
  int64_t out_size() const { return out_size_; }
  /// Taps of all windows, capped: to estimate work.
  int64_t work() const { return static_cast<int64_t>(std::min(work_, 1e15)); }

  /// Calls window(output position, PoolWindow or PoolList) for all positions of one plane.
  template <class F>
  void each(const Context& ctx, F&& window) const {
    if (begins_.empty()) {
      walk(window, [&] { ctx.check_cancelled(); });
      return;
    }
    const int64_t *taps = taps_.data(), *end = begins_.data() + 1, *covered = covered_.data();
    const int64_t* first = taps;
    for (int64_t out = 0, n = out_size_; out < n; ++out) {
      const int64_t* last = taps + end[out];
      window(out, PoolList(first, last, covered[out]));
      first = last;
    }
  }

 private:
  static constexpr double kMostListed = 1 << 21;

  void fill(const PrepareContext& p, const WindowDim& w, std::vector<PoolSpan>& spans) {
    spans.reserve(static_cast<size_t>(w.out));
    double taps = 0;
    for (int64_t o = 0; o < w.out; ++o) {
      if (o % kStepsPerLook == 0) p.check_cancelled();
      const int64_t first = w.first_tap(o), last = std::max(first, w.last_tap(o));
      spans.push_back({last > first ? w.start(o) + first * w.dilation : 0, last - first, w.covered_taps(o)});
      taps += static_cast<double>(last - first);
    }
    work_ *= taps;
  }
  void list() {
    begins_.push_back(0);
    walk(
        [&](int64_t, const PoolWindow& window) {
          window.each([&](int64_t at) { taps_.push_back(at); });
          begins_.push_back(static_cast<int64_t>(taps_.size()));
          covered_.push_back(window.covered());
        },
        [] {});
  }
  template <class F, class L>
  void walk(F&& window, L&& look) const {
    std::array<size_t, TENON_EP_MAX_RANK> position{};
    std::array<const PoolSpan*, TENON_EP_MAX_RANK> spans{};
    for (size_t d = 0; d < spans_.size(); ++d) spans[d] = spans_[d].data();
    const std::span<const PoolSpan* const> current(spans.data(), spans_.size());
    const PoolWindow at(current, strides_, tap_strides_);
    for (int64_t out = 0; out < out_size_; ++out) {
      window(out, at);
      for (size_t d = spans_.size(); d-- > 0;) {
        if (++position[d] < spans_[d].size()) {
          spans[d] = &spans_[d][position[d]];
          break;
        }
        position[d] = 0;
        spans[d] = spans_[d].data();
        look();
      }
    }
  }

  std::vector<std::vector<PoolSpan>> spans_;
  Dims strides_, tap_strides_;  // in the plane: between elements, between taps
  // If listed: taps, where each window begins (and one more), taps in the padded input.
  std::vector<int64_t> taps_, begins_, covered_;
  int64_t in_size_ = 0, out_size_ = 0;
  double work_ = 1;
};

/// Attributes and output shape of a pooling operator. The windows are the state of one shape.
class PoolBase {
 public:
  explicit PoolBase(const NodeView& n) : window_(n) {}
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes).rank(0, 3); }

  PoolWindows prepare(PrepareContext& p) const {
    const std::vector<WindowDim> dims = prepare_outputs(p);
    return dims.empty() ? PoolWindows() : PoolWindows(p, dims);
  }

 protected:
  /// Sets the outputs, and gives the dims of the windows; none if the output has no elements.
  std::vector<WindowDim> prepare_outputs(PrepareContext& p) const {
    const DimsView in = p.input(0).dims();
    std::vector<WindowDim> dims = window_.resolve(in.subspan(2), window_.kernel, true);
    const Dims out = window_output(in[0], in[1], dims);
    for (int i = 0; i < p.output_count(); ++i) p.set_output(i, out);
    if (element_count(out) == 0) dims.clear();
    return dims;
  }
  /// Calls plane(index) for every (batch, channel).
  template <class F>
  static void each_plane(const Context& ctx, const PoolWindows& windows, F&& plane) {
    const int64_t planes = ctx.input(0).dim(0) * ctx.input(0).dim(1);
    const int64_t grain = std::max<int64_t>(1, kGrainCheap / std::max<int64_t>(1, windows.work()));
    ctx.parallel_for(planes, grain, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) plane(p);
    });
  }
  WindowAttributes window_;
};

}  // namespace tenon::cpu
