// Axes from attributes and inputs, counted from the front.
#ifndef TENON_EP_DEVICE_AXES_HPP_
#define TENON_EP_DEVICE_AXES_HPP_

#include <vector>

#include "tenon/ep/context.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// `axis` counted from the front. Throws if it is out of range.
inline size_t checked_axis(int64_t axis, size_t rank) {
  const int64_t from_front = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  require(from_front >= 0 && from_front < static_cast<int64_t>(rank), TENON_INVALID_ARGUMENT, "axis ", axis,
          " of a tensor of rank ", rank);
  return static_cast<size_t>(from_front);
}

/// `axes` counted from the front. Throws if one is out of range or occurs twice.
inline std::vector<size_t> checked_axes(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<size_t> out;
  for (const int64_t axis : axes) {
    out.push_back(checked_axis(axis, rank));
    require(std::count(out.begin(), out.end(), out.back()) == 1, TENON_INVALID_ARGUMENT,
            "an axis is named twice");
  }
  return out;
}

/// The axes from an input if it is present, else from the attribute. Empty if there are none.
inline std::vector<int64_t> axes_of(const PrepareContext& p, int input,
                                    const std::vector<int64_t>& attribute) {
  if (input < p.input_count() && p.has_input(input)) return p.input(input).to_dims();
  return attribute;
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_AXES_HPP_
