// Iteration over tensors of any rank, for kernels that index with 32 bits. Dimensions that are adjacent in memory are
// merged. The innermost one becomes the first axis of a launch; the others are counted in the second.
#ifndef TENON_EP_DEVICE_WALK_HPP_
#define TENON_EP_DEVICE_WALK_HPP_

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "tenon/ep/tensor.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

[[noreturn]] inline void fail_as_too_large() {
  fail(TENON_UNIMPLEMENTED, "tensors of 2^31 elements or more are not supported");
}
inline int32_t narrow(int64_t number) {
  if (number < std::numeric_limits<int32_t>::min() || number > std::numeric_limits<int32_t>::max())
    fail_as_too_large();
  return static_cast<int32_t>(number);
}
inline int64_t product_of(int64_t a, int64_t b) {
  int64_t out = 0;
  if (multiply_overflows(a, b, &out)) fail_as_too_large();
  return out;
}

inline constexpr int kMaxWalkRank = 8;
inline constexpr int kMaxOperands = 4;

/// A struct of 32-bit integers, declared alike in the language of the kernels. Counts and strides are in elements.
template <int kOperands>
struct WalkOf {
  int32_t rank;   // number of outer dimensions
  int32_t inner;  // elements of the innermost dimension
  int32_t outer;  // rows: the product of `size`
  int32_t zero;
  int32_t size[kMaxWalkRank];
  int32_t stride[kOperands][kMaxWalkRank];
  int32_t step[kOperands];  // strides of the innermost dimension
};
using Walk = WalkOf<kMaxOperands>;

/// Strides of a dense tensor.
inline Dims dense_strides(DimsView dims) {
  Dims out(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) out[d - 1] = product_of(out[d], dims[d]);
  return out;
}

/// Strides for reading a tensor of shape `from` at the positions of `to`; 0 for repeated axes.
inline Dims broadcast_strides(DimsView from, DimsView to) {
  require(from.size() <= to.size(), TENON_INVALID_ARGUMENT, "shape ", from, " does not broadcast to ", to);
  const Dims dense = dense_strides(from);
  Dims out(to.size(), 0);
  const size_t shift = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    require(from[d] == 1 || from[d] == to[d + shift], TENON_INVALID_ARGUMENT, "shape ", from,
            " does not broadcast to ", to);
    out[d + shift] = from[d] == 1 ? 0 : dense[d];
  }
  return out;
}

/// The shape to which two shapes broadcast.
inline Dims broadcast_dims(DimsView a, DimsView b) {
  Dims out(std::max(a.size(), b.size()), 1);
  for (size_t d = 0; d < out.size(); ++d) {
    const size_t back = out.size() - d;
    const int64_t m = back <= a.size() ? a[a.size() - back] : 1,
                  n = back <= b.size() ? b[b.size() - back] : 1;
    require(m == n || m == 1 || n == 1, TENON_INVALID_ARGUMENT, "the shapes ", a, " and ", b,
            " do not broadcast");
    out[d] = m == 1 ? n : m;
  }
  return out;
}

/// Makes a walk through `dims` with the given strides per operand. Throws if more than 9 dimensions remain
/// after merging. `rows_only`: all dimensions become outer ones.
template <int kOperands = kMaxOperands>
WalkOf<kOperands> make_walk(DimsView dims, const std::vector<Dims>& strides, bool rows_only = false) {
  struct Axis {
    int64_t size;
    std::array<int64_t, kOperands> stride;
  };
  std::vector<Axis> axes;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    Axis axis{dims[d], {}};
    for (size_t o = 0; o < strides.size(); ++o) axis.stride[o] = strides[o][d];
    bool joins = !axes.empty();
    for (size_t o = 0; o < strides.size() && joins; ++o)
      joins = axes.back().stride[o] == product_of(axis.stride[o], axis.size);
    if (joins) {
      axis.size = product_of(axis.size, axes.back().size);
      axes.back() = axis;
    } else {
      axes.push_back(axis);
    }
  }
  WalkOf<kOperands> out{};
  out.inner = out.outer = 1;
  if (!axes.empty() && !rows_only) {
    out.inner = narrow(axes.back().size);
    for (size_t o = 0; o < strides.size(); ++o) out.step[o] = narrow(axes.back().stride[o]);
    axes.pop_back();
  }
  require(axes.size() <= kMaxWalkRank, TENON_UNIMPLEMENTED, "more than ", kMaxWalkRank + 1,
          " dimensions that cannot be merged are not supported");
  out.rank = static_cast<int32_t>(axes.size());
  int64_t outer = 1;
  for (size_t d = 0; d < axes.size(); ++d) {
    out.size[d] = narrow(axes[d].size);
    for (size_t o = 0; o < strides.size(); ++o) out.stride[o][d] = narrow(axes[d].stride[o]);
    outer = product_of(outer, axes[d].size);
  }
  out.outer = narrow(outer);
  narrow(product_of(outer, out.inner));
  return out;
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_WALK_HPP_
