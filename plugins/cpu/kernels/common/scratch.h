// Lists for one Run, in the host's scratch memory, so that a Run does not allocate.
#pragma once

#include <cmath>

#include "kernels/common/shape.h"

namespace tenon::cpu {

/// `n` uninitialised elements, valid until the Run returns.
template <class T>
std::span<T> scratch_list(const Context& ctx, int64_t n) {
  return {ctx.scratch<T>(std::max<int64_t>(1, n)), static_cast<size_t>(n)};
}

/// `n` uninitialised elements for each worker of a parallel_for.
template <class T>
class WorkerLists {
 public:
  WorkerLists(const Context& ctx, int64_t n) : n_(n), step_((n + kLine - 1) / kLine * kLine) {
    if (n > 0) first_ = ctx.scratch<T>(step_ * static_cast<int64_t>(ctx.worker_count()));
  }

  std::span<T> of(uint32_t worker) const {
    return {first_ + static_cast<int64_t>(worker) * step_, static_cast<size_t>(n_)};
  }

 private:
  // Each worker has its own cache lines.
  static constexpr int64_t kLine = std::max<int64_t>(1, 64 / static_cast<int64_t>(sizeof(T)));
  int64_t n_, step_;
  T* first_ = nullptr;
};

/// The elements of an int32 or int64 tensor; for int64 its own memory.
inline DimsView int_list(const Context& ctx, TensorView tensor) {
  if (tensor.dtype() == TENON_INT32) {
    const std::span<int64_t> out = scratch_list<int64_t>(ctx, tensor.size());
    std::copy_n(tensor.data<int32_t>(), tensor.size(), out.begin());
    return out;
  }
  require(tensor.dtype() == TENON_INT64, TENON_INVALID_ARGUMENT, "int64 expected, not ",
          dtype_name(tensor.dtype()));
  return tensor.span<int64_t>();
}

/// The single element of an int32 or int64 tensor; throws an Error otherwise. `what` names the value.
inline int64_t only_int(TensorView tensor, const char* what) {
  require(tensor.size() == 1, TENON_INVALID_ARGUMENT, what, " must be one number");
  if (tensor.dtype() == TENON_INT32) return *tensor.data<int32_t>();
  require(tensor.dtype() == TENON_INT64, TENON_INVALID_ARGUMENT, what, " must be int64, not ",
          dtype_name(tensor.dtype()));
  return *tensor.data<int64_t>();
}

/// The first element of a numeric tensor; throws an Error unless it is a whole number. `what` names it.
inline int64_t whole_number(TensorView tensor, const char* what) {
  int64_t out = 0;
  dispatch(kNumericTypes, tensor.dtype(), [&]<class T>() {
    const auto value = static_cast<Compute<T>>(tensor.at<T>(0));
    if constexpr (std::is_floating_point_v<Compute<T>>) {
      require(std::fabs(value) < Compute<T>(9e18) && value == std::trunc(value), TENON_INVALID_ARGUMENT, what,
              " is ", value, " and not a whole number");
    }
    out = static_cast<int64_t>(value);
  });
  return out;
}

}  // namespace tenon::cpu
