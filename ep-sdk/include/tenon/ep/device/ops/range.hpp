// Range.
//
// Kernels Range(y, n, start, step) for float32, of floats; and RangeOfInts(y, n, start_low, start_high, step_low, step_high) for
// integers, of the halves of int64. A work-item for each element.
#ifndef TENON_EP_DEVICE_OPS_RANGE_HPP_
#define TENON_EP_DEVICE_OPS_RANGE_HPP_

#include <cmath>

#include "tenon/ep/device/bits.hpp"
#include "tenon/ep/device/launch.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

inline constexpr TypeList<float, int16_t, int32_t, int64_t> kRangeTypes;

struct Progression {
  int64_t count = 0;
  float start = 0, step = 0;
  ElementBits int_start{}, int_step{};
};

template <class B>
class Range {
 public:
  static constexpr int shape_inputs[] = {0, 1, 2};
  static Support supports(const NodeView& n) { return Check(n).inputs(0, kRangeTypes); }
  explicit Range(const NodeView& n)
      : is_real_(n.input(0).dtype() == TENON_FLOAT32),
        kernel_(B::load(n, is_real_ ? "Range" : "RangeOfInts", {computes_in(n.input(0).dtype())})) {}

  Progression prepare(PrepareContext& p) const {
    Progression out;
    dispatch(kRangeTypes, p.input(0).dtype(), [&]<class T>() {
      const T start = p.input(0).at<T>(0), limit = p.input(1).at<T>(0), step = p.input(2).at<T>(0);
      require(step != T(0), TENON_INVALID_ARGUMENT, "delta is 0");
      if constexpr (kIsInteger<T>) {
        out.count = whole_count(start, limit, step);
        out.int_start = bits_of(int64_t{start});
        out.int_step = bits_of(int64_t{step});
      } else {
        out.count = real_count(double{start}, double{limit}, double{step});
        out.start = start;
        out.step = step;
      }
    });
    p.set_output(0, Dims{out.count});
    return out;
  }
  void record(typename B::Recorder& ctx, const Progression& p) const {
    const int32_t n = narrow(p.count);
    if (is_real_) {
      launch(ctx, kernel_, items_of(n), out(ctx.output(0)), n, p.start, p.step);
    } else {
      launch(ctx, kernel_, items_of(n), out(ctx.output(0)), n, p.int_start.low, p.int_start.high,
             p.int_step.low, p.int_step.high);
    }
  }

 private:
  static constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

  /// The count in integer arithmetic: double cannot represent every int64.
  static int64_t whole_count(int64_t start, int64_t limit, int64_t step) {
    if (step > 0 ? start >= limit : start <= limit) return 0;
    const auto from = static_cast<uint64_t>(start), to = static_cast<uint64_t>(limit),
               stride = static_cast<uint64_t>(step);
    const uint64_t n = step > 0 ? (to - from - 1) / stride + 1 : (from - to - 1) / (0 - stride) + 1;
    require(n <= static_cast<uint64_t>(kMost), TENON_RESOURCE_EXHAUSTED, "the range has ", n,
            " elements; at most ", kMost, " are supported");
    return static_cast<int64_t>(n);
  }
  static int64_t real_count(double start, double limit, double step) {
    const double n = std::ceil((limit - start) / step);
    require(n == n, TENON_INVALID_ARGUMENT, "start, limit or delta is NaN");
    require(n <= static_cast<double>(kMost), TENON_RESOURCE_EXHAUSTED, "the range has ", n,
            " elements; at most ", kMost, " are supported");
    return static_cast<int64_t>(std::max(n, 0.0));
  }

  bool is_real_;
  typename B::Kernel kernel_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_RANGE_HPP_
