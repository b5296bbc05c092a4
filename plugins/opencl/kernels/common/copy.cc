#include "kernels/common/copy.h"

namespace tenon::opencl {
namespace {

constexpr Source kSource{"copy", R"CL(
__kernel void Strided(IN(M, x), OUT(M, y), Walk w, int x_start, int y_start) {
  const int i = get_global_id(0), row = get_global_id(1);
  if (i >= w.inner || row >= w.outer) return;
  WALK2(w, row, from, to)
  PTR(y)[y_start + to + i * w.step[1]] = PTR(x)[x_start + from + i * w.step[0]];
}
)CL"};

}  // namespace

CopyKernels::CopyKernels(const NodeView& node, uint32_t dtype)
    : strided_(load_kernel(node, kSource, defines_to_move(dtype), "Strided", kLine)) {}

void CopyKernels::record_dense(Recorder& ctx, const TensorView& x, const OutputTensor& y) const {
  const tenon_tensor &from = *x.raw(), &to = *TensorView(y).raw();
  const bool same = from.buffer == to.buffer && from.byte_offset == to.byte_offset && from.data == to.data;
  if (same && (from.buffer != nullptr || from.data != nullptr)) return;
  const Dims flat{y.size()};
  record(ctx, {make_walk(flat, {{1}, {1}}), 0, 0}, in(x), out(y));
}

StridedCopy gather_copy(DimsView dims, Dims x_strides, int64_t x_start) {
  return {make_walk(dims, {std::move(x_strides), dense_strides(dims)}), narrow(x_start), 0};
}

std::vector<size_t> checked_axes(const std::vector<int64_t>& axes, size_t rank) {
  std::vector<size_t> out;
  for (const int64_t axis : axes) {
    out.push_back(checked_axis(axis, rank));
    require(std::count(out.begin(), out.end(), out.back()) == 1, TENON_INVALID_ARGUMENT,
            "an axis is named twice");
  }
  return out;
}

std::vector<int64_t> axes_of(const PrepareContext& p, int input, const std::vector<int64_t>& attribute) {
  if (input < p.input_count() && p.has_input(input)) return p.input(input).to_dims();
  return attribute;
}

}  // namespace tenon::opencl
