// What a matrix product or convolution does to its result before it stores it, in place of the nodes after it: it adds a bias,
// adds a tensor of the same shape, and clamps.
#ifndef TENON_EP_DEVICE_EPILOGUE_HPP_
#define TENON_EP_DEVICE_EPILOGUE_HPP_

#include <algorithm>

#include "tenon/ep/device/clamp.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// Inputs of a kernel whose node has an epilogue: the bias, as the node itself may have one, and the tensor that is added after it.
inline constexpr int kBiasInput = 2, kAddendInput = 3;

/// The epilogue of a Conv, Gemm or MatMul of float32. Keeps no reference to the node.
class Epilogue {
 public:
  explicit Epilogue(const NodeView& node)
      : is_matmul_(node.op() == "MatMul"),
        can_grow_(node.domain().empty() && node.output(0).dtype() == TENON_FLOAT32 &&
                  (is_matmul_ || node.op() == "Conv" || node.op() == "Gemm")),
        has_columns_(is_matmul_ && node.input(1).has_rank() && node.input(1).rank() >= 2),
        result_(node.output(0)) {}

  /// Adds the next node, the only user of the result so far. Returns false, and leaves the epilogue as it was, if the product
  /// cannot do it. Sums need shapes that are known.
  bool append(const NodeView& follower) {
    if (!can_grow_ || clamp_) return false;
    if (follower.has_input(0) && follower.input(0).index() == result_.index()) {
      if (const Clamp clamp = clamp_in(follower)) {
        clamp_ = clamp;
        result_ = follower.output(0);
        return true;
      }
    }
    return append_sum(follower);
  }

  /// Not present() without one. Only a MatMul gets a bias: a vector with an element for each column, or dims of 1 before it.
  const ValueView& bias() const { return bias_; }
  /// Not present() without one. It has the shape of the result.
  const ValueView& addend() const { return addend_; }
  const Clamp& clamp() const { return clamp_; }

 private:
  bool append_sum(const NodeView& follower) {
    if (!follower.domain().empty() || follower.op() != "Add" || follower.since_version() < 7 ||
        follower.input_count() != 2)
      return false;
    const ValueView left = follower.input(0), right = follower.input(1);
    if (left.index() == right.index()) return false;
    const ValueView& other = left.index() == result_.index() ? right : left;
    if (!other.has_rank() || !result_.has_rank()) return false;
    const DimsView from = other.dims(), to = result_.dims();
    const auto is_known = [](int64_t dim) { return dim >= 0; };
    if (!std::all_of(from.begin(), from.end(), is_known) || !std::all_of(to.begin(), to.end(), is_known))
      return false;
    if (!addend_.present() && std::equal(from.begin(), from.end(), to.begin(), to.end())) {
      addend_ = other;
    } else if (has_columns_ && !bias_.present() && !addend_.present() && is_row(from, to)) {
      bias_ = other;
    } else {
      return false;
    }
    result_ = follower.output(0);
    return true;
  }

  static bool is_row(DimsView from, DimsView to) {
    return !from.empty() && from.size() <= to.size() && from.back() == to.back() &&
           std::all_of(from.begin(), from.end() - 1, [](int64_t dim) { return dim == 1; });
  }

  bool is_matmul_, can_grow_, has_columns_;
  ValueView result_, bias_, addend_;
  Clamp clamp_;
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_EPILOGUE_HPP_
