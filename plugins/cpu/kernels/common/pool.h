// The engine behind the pooling operators: every window of every channel, over any number of spatial dims.
#pragma once

#include "kernels/common/strided.h"
#include "kernels/common/window.h"

namespace tenon::cpu {

/// Calls window(taps, n, out) for every output position of one channel plane, where taps are the offsets in
/// the plane that the window covers, in order, and `covered` is how many positions of the padded input it
/// covers.
class PoolWalk {
 public:
  explicit PoolWalk(std::vector<WindowDim> dims) : dims_(std::move(dims)), strides_(dims_.size(), 1) {
    for (size_t d = dims_.size(); d-- > 1;) strides_[d - 1] = strides_[d] * dims_[d].in;
    for (const WindowDim& w : dims_) in_size_ *= w.in, out_size_ *= w.out;
  }
  int64_t in_size() const { return in_size_; }
  int64_t out_size() const { return out_size_; }
  const std::vector<WindowDim>& dims() const { return dims_; }

  template <class F>
  void each(F&& window) const {
    std::vector<int64_t> taps;
    Dims position(dims_.size(), 0);
    for (int64_t out = 0; out < out_size_; ++out) {
      int64_t covered = 1;
      taps.assign(1, 0);
      for (size_t d = 0; d < dims_.size(); ++d) covered *= spread(dims_[d], strides_[d], position[d], &taps);
      window(taps, covered, out);
      for (size_t d = dims_.size(); d-- > 0 && ++position[d] == dims_[d].out;) position[d] = 0;
    }
  }

 private:
  // Multiplies the taps by those of one dim; returns how many the window has inside the padded input.
  static int64_t spread(const WindowDim& w, int64_t stride, int64_t at, std::vector<int64_t>* taps) {
    const int64_t start = at * w.stride - w.pad_begin, first = w.first_tap(at), last = w.last_tap(at);
    const size_t before = taps->size();
    std::vector<int64_t> out;
    out.reserve(before * static_cast<size_t>(std::max<int64_t>(0, last - first)));
    for (const int64_t base : *taps)
      for (int64_t k = first; k < last; ++k) out.push_back(base + (start + k * w.dilation) * stride);
    taps->swap(out);
    int64_t inside = 0;
    for (int64_t k = 0; k < w.kernel; ++k) inside += start + k * w.dilation < w.in + w.pad_end;
    return inside;
  }

  std::vector<WindowDim> dims_;
  Dims strides_;
  int64_t in_size_ = 1, out_size_ = 1;
};

/// The taps of every output position, computed once per shape: all planes share them.
struct PoolTable {
  int64_t in_size = 0, out_size = 0;
  std::vector<int64_t> taps;     // of all windows, one after the other
  std::vector<int64_t> begins;   // out_size + 1
  std::vector<int64_t> covered;  // out_size

  explicit PoolTable(const PoolWalk& walk) : in_size(walk.in_size()), out_size(walk.out_size()), begins{0} {
    walk.each([&](const std::vector<int64_t>& window, int64_t positions, int64_t) {
      taps.insert(taps.end(), window.begin(), window.end());
      begins.push_back(static_cast<int64_t>(taps.size()));
      covered.push_back(positions);
    });
  }
};

/// Attributes and output shape of a pooling operator; the table is the state of one shape.
class PoolBase {
 public:
  explicit PoolBase(const NodeView& n) : window_(n) {}
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes).rank(0, 3); }

  PoolTable prepare(PrepareContext& p) const {
    const DimsView in = p.input(0).dims();
    require(in.size() >= 3, TENON_INVALID_ARGUMENT, "the input has rank ", in.size(),
            ", pooling needs 3 or more");
    const std::vector<WindowDim> dims = window_.resolve(in.subspan(2), window_.kernel);
    const Dims out = window_output(in[0], in[1], dims);
    for (int i = 0; i < p.output_count(); ++i) p.set_output(i, out);
    return PoolTable(PoolWalk(dims));
  }

 protected:
  /// Calls plane(index) for every (batch, channel).
  template <class F>
  static void each_plane(const Context& ctx, const PoolTable& table, F&& plane) {
    const int64_t planes = ctx.input(0).dim(0) * ctx.input(0).dim(1);
    const int64_t work = std::max<int64_t>(1, static_cast<int64_t>(table.taps.size()));
    ctx.parallel_for(planes, std::max<int64_t>(1, kGrainCheap / work), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) plane(p);
    });
  }
  WindowAttributes window_;
};

}  // namespace tenon::cpu
