// Range, in double for float32, as ONNX's function body.
#include <cmath>

#include "kernels/common/kernel.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"range", R"CL(
#if USE_DOUBLE
__kernel void Range(OUT(T, y), int n, double start, double step) {
  const int i = get_global_id(0);
  if (i < n) PTR(y)[i] = (T)start + (T)i * (T)step;
}
#endif
__kernel void RangeOfInts(OUT(T, y), int n, long start, long step) {
  const int i = get_global_id(0);
  if (i < n) PTR(y)[i] = (T)(long)((ulong)start + (ulong)i * (ulong)step);
}
)CL"};

constexpr TypeList<float, int16_t, int32_t, int64_t> kRangeTypes;

struct Progression {
  int64_t count = 0;
  double start = 0, step = 0;
  int64_t int_start = 0, int_step = 0;
};

class Range {
 public:
  static constexpr int shape_inputs[] = {0, 1, 2};
  static Support supports(const NodeView& n) {
    const bool real = n.input(0).dtype() == TENON_FLOAT32;
    return Check(n)
        .inputs(0, kRangeTypes)
        .that(!real || instance_of(n).device.limits().float64, TENON_REJECT_TYPE,
              "a Range of float32 needs a device with float64");
  }
  explicit Range(const NodeView& n) : is_real_(n.input(0).dtype() == TENON_FLOAT32) {
    kernel_ =
        load_kernel(n, kSource, defines_for(n.input(0).dtype()), is_real_ ? "Range" : "RangeOfInts", kLine);
  }
  Progression prepare(PrepareContext& p) const {
    Progression out;
    dispatch(kRangeTypes, p.input(0).dtype(), [&]<class T>() {
      const T start = p.input(0).at<T>(0), limit = p.input(1).at<T>(0), step = p.input(2).at<T>(0);
      require(step != T(0), TENON_INVALID_ARGUMENT, "delta is 0");
      if constexpr (kIsInteger<T>) {
        out.count = whole_count(start, limit, step);
        out.int_start = start;
        out.int_step = step;
      } else {
        out.start = static_cast<double>(start);
        out.step = static_cast<double>(step);
        out.count = real_count(out.start, static_cast<double>(limit), out.step);
      }
    });
    p.set_output(0, Dims{out.count});
    return out;
  }
  void record(Recorder& ctx, const Progression& p) const {
    const Size3 global{static_cast<size_t>(p.count), 1, 1};
    if (is_real_) {
      launch(ctx, kernel_, global, out(ctx.output(0)), narrow(p.count), cl_double{p.start},
             cl_double{p.step});
    } else {
      launch(ctx, kernel_, global, out(ctx.output(0)), narrow(p.count), cl_long{p.int_start},
             cl_long{p.int_step});
    }
  }

 private:
  static constexpr int64_t kMost = std::numeric_limits<cl_int>::max();

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
  KernelRef kernel_;
};
TENON_KERNEL(Range, .op_type = "Range", .since = 11,
             .contract = "start: one @size; limit: one @size; delta: one @size")

}  // namespace
}  // namespace tenon::opencl
