// Iterates over N operands that broadcast to one output, in runs. Within a run each operand moves by 0 or 1.
#pragma once

#include <array>

#include "kernels/common/shape.h"

namespace tenon::cpu {

/// Merges neighbouring dims where all operands step alike: equal shapes and scalars are a single run.
template <int N>
struct Broadcast {
  int rank = 0;  // at least 1; the last dim is the run
  std::array<int64_t, TENON_EP_MAX_RANK> dims{};
  std::array<std::array<int64_t, TENON_EP_MAX_RANK>, N> strides{};
  int64_t run = 1;  // elements of a run
  int64_t runs = 1;
  std::array<int64_t, N> run_strides{};  // 0 or 1 within a run

  Broadcast() = default;
  Broadcast(DimsView out, const std::array<DimsView, N>& operands) {
    for (size_t d = 0; d < out.size(); ++d) add_dim(out[d], moves_at(out, operands, d));
    if (rank == 0) add_dim(1, {});
    for (int i = 0; i < N; ++i) finish(static_cast<size_t>(i), operands);
    run = dims[static_cast<size_t>(rank - 1)];
    runs = element_count({dims.data(), static_cast<size_t>(rank - 1)});
    for (size_t i = 0; i < N; ++i) run_strides[i] = strides[i][static_cast<size_t>(rank - 1)];
  }

  /// Calls f(offset of each operand, offset in the output) for runs [first, last).
  template <class F>
  void for_runs(int64_t first, int64_t last, F&& f) const {
    int64_t index[TENON_EP_MAX_RANK];  // of the outer dims
    std::array<int64_t, N> at{};
    const auto outer = static_cast<size_t>(rank - 1);
    const int64_t* sizes = dims.data();
    const int64_t* moves[N];
    for (size_t i = 0; i < N; ++i) moves[i] = strides[i].data();
    int64_t rest = first;
    if (first >= last) return;  // without runs a dim may be 0
    for (size_t d = outer; d-- > 0;) {
      index[d] = rest % sizes[d];
      rest /= sizes[d];
      for (size_t i = 0; i < N; ++i) at[i] += index[d] * moves[i][d];
    }
    for (int64_t r = first; r < last; ++r) {
      f(at, r * run);
      for (size_t d = outer; d-- > 0;) {
        for (size_t i = 0; i < N; ++i) at[i] += moves[i][d];
        if (++index[d] < sizes[d]) break;
        for (size_t i = 0; i < N; ++i) at[i] -= moves[i][d] * sizes[d];
        index[d] = 0;
      }
    }
  }

  /// Calls f(offsets of the operands, offset in the output, n) for parts of runs, in parallel.
  template <class F>
  void parallel(const Context& ctx, int64_t grain, F&& f) const {
    if (run == 0 || runs == 0) return;
    if (runs == 1) {
      ctx.parallel_for(run, grain, [&](int64_t begin, int64_t end) {
        std::array<int64_t, N> at;
        for (size_t i = 0; i < N; ++i) at[i] = begin * run_strides[i];
        f(at, begin, end - begin);
      });
      return;
    }
    ctx.parallel_for(runs, std::max<int64_t>(1, grain / run), [&](int64_t begin, int64_t end) {
      for_runs(begin, end, [&](const std::array<int64_t, N>& at, int64_t out) { f(at, out, run); });
    });
  }

 private:
  // Whether each operand moves in dim d. Strides are 0 or 1 until finish().
  static std::array<int64_t, N> moves_at(DimsView out, const std::array<DimsView, N>& operands, size_t d) {
    std::array<int64_t, N> moves{};
    for (size_t i = 0; i < N; ++i) {
      const DimsView& o = operands[i];
      const size_t lead = out.size() - o.size();
      moves[i] = d >= lead && o[d - lead] != 1 ? 1 : 0;
    }
    return moves;
  }

  void add_dim(int64_t size, const std::array<int64_t, N>& moves) {
    if (size == 1 && rank > 0) return;
    const auto last = static_cast<size_t>(rank - 1);
    bool same = rank > 0 && dims[last] != 1;
    for (size_t i = 0; same && i < N; ++i) same = strides[i][last] == moves[i];
    if (same) {
      dims[last] = wrapping_product(dims[last], size);
      return;
    }
    const bool replace = rank > 0 && dims[last] == 1;
    if (!replace) ++rank;
    const auto at = static_cast<size_t>(rank - 1);
    dims[at] = size;
    for (size_t i = 0; i < N; ++i) strides[i][at] = moves[i];
  }

  void finish(size_t i, const std::array<DimsView, N>&) {
    int64_t stride = 1;
    for (auto d = static_cast<size_t>(rank); d-- > 0;) {
      if (strides[i][d] == 0) continue;
      strides[i][d] = stride;
      stride = wrapping_product(stride, dims[d]);
    }
  }
};

}  // namespace tenon::cpu
