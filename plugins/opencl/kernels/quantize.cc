// QuantizeLinear and DequantizeLinear, per tensor or axis: float32 and 8-bit integers, int32 to float32.
#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"quantize", R"CL(
__kernel void QuantizeLinear(IN(T, x), IN(T, scale), IN(R, zero), OUT(R, y), int n, int inner, int channels,
                             int has_zero, float low, float high) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int c = i / inner % channels;
  const float v = rint((float)PTR(x)[i] / (float)PTR(scale)[c]) + (has_zero ? (float)PTR(zero)[c] : 0.0f);
  PTR(y)[i] = (R)clamp(v, low, high);
}
__kernel void DequantizeLinear(IN(T, x), IN(R, scale), IN(T, zero), OUT(R, y), int n, int inner, int channels,
                               int has_zero, float low, float high) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int c = i / inner % channels;
  PTR(y)[i] = (float)((int)PTR(x)[i] - (has_zero ? (int)PTR(zero)[c] : 0)) * (float)PTR(scale)[c];
}
)CL"};

constexpr TypeList<float> kFloat;
constexpr TypeList<int8_t, uint8_t> kBytes;

struct Channels {
  cl_int n, inner, count;
};

class Quantize {
 public:
  static Support supports(const NodeView& n) {
    const bool makes = n.op() == "QuantizeLinear";
    Check check(n);
    check.attr_is("block_size", {0})
        .attr_is("saturate", {1})
        .attr_is("output_dtype", {0, TENON_INT8, TENON_UINT8, TENON_FLOAT32})
        .attr_is("precision", {0, TENON_FLOAT32});
    if (makes) return check.input(0, kFloat).input(1, kFloat).output(0, kBytes);
    return check.input(0, kBytes + TypeList<int32_t>()).input(1, kFloat).output(0, kFloat);
  }
  explicit Quantize(const NodeView& n) : axis_(n.attr_i("axis", 1)) {
    const uint32_t to = n.output(0).dtype();
    low_ = to == TENON_INT8 ? -128.0f : 0.0f;
    high_ = to == TENON_INT8 ? 127.0f : 255.0f;
    kernel_ = load_kernel(n, kSource, defines_for(n.input(0).dtype()) + defines_for(to, "R"),
                          std::string(n.op()), kLine);
  }
  Channels prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const int64_t count = p.input(1).size();
    p.set_output(0, x);
    Channels out{narrow(element_count(x)), 1, 1};
    if (p.input(1).rank() == 0 || count == 1) return out;
    const size_t axis = checked_axis(axis_, x.size());
    require(p.input(1).rank() == 1 && count == x[axis] && (!p.has_input(2) || p.input(2).size() == count),
            TENON_INVALID_ARGUMENT, "scales ", p.input(1).dims(), " do not fit axis ", axis_, " of ", x);
    out.inner = narrow(std::max<int64_t>(1, element_count(x.subspan(axis + 1))));
    out.count = narrow(count);
    return out;
  }
  void record(Recorder& ctx, const Channels& c) const {
    launch(ctx, kernel_, {static_cast<size_t>(c.n), 1, 1}, in(ctx.input(0)), in(ctx.input(1)),
           in(ctx.input(2)), out(ctx.output(0)), c.n, c.inner, c.count, cl_int{ctx.has_input(2)},
           cl_float{low_}, cl_float{high_});
  }

 private:
  int64_t axis_;
  float low_, high_;
  KernelRef kernel_;
};
TENON_KERNEL(Quantize, .op_type = "QuantizeLinear", .since = 10,
             .contract = "x: any; y_scale: one | [x.$axis:1]; y_zero_point?: count y_scale")
TENON_KERNEL(Quantize, .op_type = "DequantizeLinear", .since = 10,
             .contract = "x: any; y_scale: one | [x.$axis:1]; y_zero_point?: count y_scale")

}  // namespace
}  // namespace tenon::opencl
