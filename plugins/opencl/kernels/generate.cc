// Operators that make a tensor from a few numbers: ConstantOfShape, Range, EyeLike and OneHot; and Trilu,
// which keeps a part of its input.
#include <cmath>

#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"generate", R"CL(
__kernel void Fill(OUT(M, y), int n, ulong bits) {
  const int i = get_global_id(0);
  if (i < n) PTR(y)[i] = (M)bits;
}
__kernel void Eye(OUT(M, y), int rows, int columns, int shift, ulong one) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= columns || row >= rows) return;
  PTR(y)[row * columns + i] = i - row == shift ? (M)one : (M)0;
}
__kernel void Trilu(IN(M, x), OUT(M, y), int rows, int columns, int batches, int shift, int upper) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= columns || row >= rows * batches) return;
  const bool keeps = upper ? i - row % rows >= shift : i - row % rows <= shift;
  PTR(y)[row * columns + i] = keeps ? PTR(x)[row * columns + i] : (M)0;
}
#ifdef I
__kernel void OneHot(IN(I, index), IN(M, values), OUT(M, y), int outer, int depth, int inner) {
  const int i = get_global_id(0), k = get_global_id(1), row = get_global_id(2);
  if (i >= inner || k >= depth || row >= outer) return;
  const long at = (long)PTR(index)[row * inner + i];
  PTR(y)[((long)row * depth + k) * inner + i] = PTR(values)[k == (at < 0 ? at + depth : at)];
}
#endif
#ifdef T
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
#endif
)CL"};

/// The bit pattern of the number 1.
cl_ulong one_of(uint32_t dtype) {
  cl_ulong bits = 0;
  dispatch(kAnyTypes, dtype, [&]<class T>() {
    const T one = static_cast<T>(1);
    std::memcpy(&bits, &one, sizeof(one));
  });
  return bits;
}

/// A diagonal's offset from the main diagonal, clamped to 32 bits: no matrix accepted here is that large.
cl_int shift_of(int64_t k) {
  return static_cast<cl_int>(
      std::clamp<int64_t>(k, std::numeric_limits<cl_int>::min(), std::numeric_limits<cl_int>::max()));
}

class ConstantOfShape {
 public:
  static constexpr int shape_inputs[] = {0};
  static Support supports(const NodeView& n) { return Check(n).output(0, kAnyTypes); }
  explicit ConstantOfShape(const NodeView& n)
      : kernel_(load_kernel(n, kSource, defines_to_move(n.output(0).dtype()), "Fill", kLine)) {
    const TensorView value = n.attr_tensor("value");
    if (value.present()) std::memcpy(&bits_, value.bytes(), static_cast<size_t>(value.byte_size()));
  }
  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).to_dims()); }
  void record(Recorder& ctx) const {
    const int64_t n = ctx.output(0).size();
    launch(ctx, kernel_, {static_cast<size_t>(n), 1, 1}, out(ctx.output(0)), narrow(n), bits_);
  }

 private:
  cl_ulong bits_ = 0;
  KernelRef kernel_;
};
TENON_KERNEL(ConstantOfShape, .op_type = "ConstantOfShape", .since = 9, .contract = "input: [?] @size")

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
    kernel_ = load_kernel(n, kSource, defines_to_move(n.input(0).dtype()) + defines_for(n.input(0).dtype()),
                          is_real_ ? "Range" : "RangeOfInts", kLine);
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

class EyeLike {
 public:
  static Support supports(const NodeView& n) { return Check(n).output(0, kAnyTypes).rank(0, 2, 2); }
  explicit EyeLike(const NodeView& n)
      : shift_(shift_of(n.attr_i("k", 0))),
        one_(one_of(n.output(0).dtype())),
        kernel_(load_kernel(n, kSource, defines_to_move(n.output(0).dtype()), "Eye", kLine)) {}
  void prepare(PrepareContext& p) const {
    require(p.input(0).rank() == 2, TENON_INVALID_ARGUMENT, "rank ", p.input(0).rank(), " is not a matrix");
    p.set_output(0, p.input(0).dims());
  }
  void record(Recorder& ctx) const {
    const OutputTensor y = ctx.output(0);
    launch(ctx, kernel_, {static_cast<size_t>(y.dim(1)), static_cast<size_t>(y.dim(0)), 1}, out(y),
           narrow(y.dim(0)), narrow(y.dim(1)), shift_, one_);
  }

 private:
  cl_int shift_;
  cl_ulong one_;
  KernelRef kernel_;
};
TENON_KERNEL(EyeLike, .op_type = "EyeLike", .since = 9, .contract = "input: rank 2")

class Trilu {
 public:
  static constexpr int shape_inputs[] = {1};
  static Support supports(const NodeView& n) { return Check(n).input(0, kAnyTypes).rank(0, 2); }
  explicit Trilu(const NodeView& n)
      : upper_(static_cast<cl_int>(n.attr_i("upper", 1))),
        kernel_(load_kernel(n, kSource, defines_to_move(n.input(0).dtype()), "Trilu", kLine)) {}
  cl_int prepare(PrepareContext& p) const {
    require(p.input(0).rank() >= 2, TENON_INVALID_ARGUMENT, "rank ", p.input(0).rank(), " is not a matrix");
    p.set_output(0, p.input(0).dims());
    const Dims k = p.has_input(1) ? p.input(1).to_dims() : Dims{0};
    return k.empty() ? 0 : shift_of(k[0]);
  }
  void record(Recorder& ctx, const cl_int& shift) const {
    const DimsView x = ctx.input(0).dims();
    const int64_t rows = x[x.size() - 2], columns = x.back(), batches = element_count(x.first(x.size() - 2));
    launch(ctx, kernel_, {static_cast<size_t>(columns), static_cast<size_t>(rows * batches), 1},
           in(ctx.input(0)), out(ctx.output(0)), narrow(rows), narrow(columns), narrow(batches), shift,
           upper_);
  }

 private:
  cl_int upper_;
  KernelRef kernel_;
};
TENON_KERNEL(Trilu, .op_type = "Trilu", .since = 14, .contract = "input: rank 2..; k?: one")

struct HotState {
  cl_int outer, depth, inner;
};

class OneHot {
 public:
  static constexpr int shape_inputs[] = {1};
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kIntTypes + TypeList<float>())
        .input(1, kIndexTypes + TypeList<float>())
        .input(2, kAnyTypes);
  }
  explicit OneHot(const NodeView& n)
      : axis_(n.attr_i("axis", -1)),
        kernel_(load_kernel(n, kSource,
                            cat(defines_to_move(n.input(2).dtype()), "-DI=", cl_type(n.input(0).dtype())),
                            "OneHot", kLine)) {}
  HotState prepare(PrepareContext& p) const {
    const DimsView index = p.input(0).dims();
    const TensorView given = p.input(1);
    require(given.size() == 1, TENON_INVALID_ARGUMENT, "depth is not a single number");
    const int64_t depth =
        given.dtype() == TENON_FLOAT32 ? static_cast<int64_t>(given.at<float>(0)) : given.to_dims()[0];
    require(depth >= 0, TENON_INVALID_ARGUMENT, "depth is ", depth, "; it must not be negative");
    const size_t axis = checked_axis(axis_, index.size() + 1);
    Dims dims(index.begin(), index.end());
    dims.insert(dims.begin() + static_cast<long>(axis), depth);
    p.set_output(0, dims);
    return {narrow(element_count(index.first(axis))), narrow(depth),
            narrow(element_count(index.subspan(axis)))};
  }
  void record(Recorder& ctx, const HotState& p) const {
    launch(ctx, kernel_,
           {static_cast<size_t>(p.inner), static_cast<size_t>(p.depth), static_cast<size_t>(p.outer)},
           in(ctx.input(0)), in(ctx.input(2)), out(ctx.output(0)), p.outer, p.depth, p.inner);
  }

 private:
  int64_t axis_;
  KernelRef kernel_;
};
TENON_KERNEL(OneHot, .op_type = "OneHot", .since = 9,
             .contract = "indices: any; depth: one @size; values: [2]")

}  // namespace
}  // namespace tenon::opencl
