#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

// Each output element computes its source, axis by axis. Operand 0 of the walk is x. Per axis, size is the
// output's size, stride[1] the padding before and stride[2] the size of x.
constexpr Source kSource{"pad", R"CL(
__kernel void Pad(IN(M, x), IN(M, value), OUT(M, y), Walk w, int n, int mode, int has_value) {
  const int i = get_global_id(0);
  if (i >= n) return;
  int from = 0;
  bool inside = true;
  for (int d = w.rank - 1, r = i; d >= 0; --d) {
    const int q = r / w.size[d], size = w.stride[2][d];
    int at = r - q * w.size[d] - w.stride[1][d];
    r = q;
    if (at < 0 || at >= size) {
      if (mode == 0) inside = false;
      if (mode == 1) at = at < 0 ? 0 : size - 1;
      if (mode == 2) {
        const int period = size > 1 ? 2 * size - 2 : 1;
        at = (at % period + period) % period;
        at = at < size ? at : period - at;
      }
      if (mode == 3) at = (at % size + size) % size;
    }
    from += at * w.stride[0][d];
  }
  PTR(y)[i] = inside ? PTR(x)[from] : has_value ? PTR(value)[0] : (M)0;
}
)CL"};

constexpr std::string_view kModes[] = {"constant", "edge", "reflect", "wrap"};

class Pad {
 public:
  static constexpr int shape_inputs[] = {1, 3};
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kAnyTypes).attr_is("mode", {"constant", "edge", "reflect", "wrap"});
  }
  explicit Pad(const NodeView& n)
      : kernel_(load_kernel(n, kSource, defines_to_move(n.input(0).dtype()), "Pad", kLine)) {
    const std::string mode = n.attr_s("mode", "constant");
    mode_ = static_cast<cl_int>(std::find(std::begin(kModes), std::end(kModes), mode) - std::begin(kModes));
  }
  Walk prepare(PrepareContext& p) const {
    const DimsView x = p.input(0).dims();
    const Dims pads = p.input(1).to_dims();
    std::vector<int64_t> axes = axes_of(p, 3, {});
    for (size_t d = 0; d < x.size() && !p.has_input(3); ++d) axes.push_back(static_cast<int64_t>(d));
    require(pads.size() == 2 * axes.size() && x.size() <= kMaxWalkRank, TENON_INVALID_ARGUMENT, "pads has ",
            pads.size(), " numbers for ", axes.size(),
            " axes; two per axis are needed, and a rank of at most ", kMaxWalkRank);
    Dims dims(x.begin(), x.end()), before(x.size(), 0);
    for (size_t i = 0; i < axes.size(); ++i) {
      const size_t axis = checked_axis(axes[i], x.size());
      before[axis] = pads[i];
      dims[axis] += int64_t{narrow(pads[i])} + narrow(pads[i + axes.size()]);
      require(dims[axis] >= 0, TENON_INVALID_ARGUMENT,
              "negative pads remove more elements than the axis has");
    }
    p.set_output(0, dims);
    require(mode_ == 0 || element_count(x) != 0 || element_count(dims) == 0, TENON_INVALID_ARGUMENT,
            "an input without elements cannot be padded in this mode");
    Walk out{};
    out.rank = static_cast<cl_int>(x.size());
    const Dims strides = dense_strides(x);
    for (size_t d = 0; d < x.size(); ++d) {
      out.size[d] = narrow(dims[d]);
      out.stride[0][d] = narrow(strides[d]);
      out.stride[1][d] = narrow(before[d]);
      out.stride[2][d] = narrow(x[d]);
    }
    out.inner = narrow(element_count(dims));
    return out;
  }
  void record(Recorder& ctx, const Walk& walk) const {
    launch(ctx, kernel_, {static_cast<size_t>(walk.inner), 1, 1}, in(ctx.input(0)), in(ctx.input(2)),
           out(ctx.output(0)), walk, walk.inner, mode_, cl_int{ctx.has_input(2)});
  }

 private:
  cl_int mode_ = 0;
  KernelRef kernel_;
};
TENON_KERNEL(Pad, .op_type = "Pad", .since = 11,
             .contract = "data: rank 0..8; pads: [?] @size; constant_value?: one; axes?: rank 0..1")

}  // namespace
}  // namespace tenon::opencl
