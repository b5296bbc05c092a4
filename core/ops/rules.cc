#include "core/ops/rules.h"

#include <algorithm>

namespace tenon::ops {

namespace {

Result<ir::Dim> broadcast_dims(const ir::Dim& a, const ir::Dim& b) {
  if (a.known() && a.value == 1) return b;
  if (b.known() && b.value == 1) return a;
  if (a.known() && b.known() && a.value != b.value) {
    return invalid_model("dimensions ", a.value, " and ", b.value, " do not broadcast");
  }
  if (a.known()) return a;
  if (b.known()) return b;
  return a == b ? a : ir::Dim();
}

Result<ir::Shape> broadcast_shapes(const ir::Shape& a, const ir::Shape& b) {
  const size_t rank = std::max(a.rank(), b.rank());
  ir::Shape out(std::vector<ir::Dim>(rank, ir::Dim(1)));
  for (size_t i = 0; i < rank; ++i) {
    const ir::Dim da = i + a.rank() < rank ? ir::Dim(1) : a.dims[i + a.rank() - rank];
    const ir::Dim db = i + b.rank() < rank ? ir::Dim(1) : b.dims[i + b.rank() - rank];
    ASSIGN_OR_RETURN(out.dims[i], broadcast_dims(da, db));
  }
  return out;
}

}  // namespace

Status like_first(const ir::Node&, const InferInputs& inputs, std::vector<ir::Type>& out) {
  if (inputs.types.empty() || inputs.types[0] == nullptr || out.empty()) return ok_status();
  out[0] = *inputs.types[0];
  return ok_status();
}

Status broadcast(const InferInputs& inputs, size_t a, size_t b, ir::ElementType element,
                 std::vector<ir::Type>& out) {
  set_output(out, 0, element);
  const ir::Shape *left = shape_input(inputs, a), *right = shape_input(inputs, b);
  if (left == nullptr || right == nullptr) return ok_status();
  ASSIGN_OR_RETURN(ir::Shape shape, broadcast_shapes(*left, *right));
  set_output(out, 0, element, std::move(shape));
  return ok_status();
}

Status matrix_product(const InferInputs& inputs, size_t a, size_t b, bool transpose_a, bool transpose_b,
                      ir::ElementType element, std::vector<ir::Type>& out) {
  set_output(out, 0, element);
  const ir::Shape *left = shape_input(inputs, a), *right = shape_input(inputs, b);
  if (left == nullptr || right == nullptr) return ok_status();
  if (left->rank() == 0 || right->rank() == 0) return invalid_model("a matrix product needs at least rank 1");
  ir::Shape l = *left, r = *right;
  if (transpose_a && l.rank() > 1) std::swap(l.dims[l.rank() - 1], l.dims[l.rank() - 2]);
  if (transpose_b && r.rank() > 1) std::swap(r.dims[r.rank() - 1], r.dims[r.rank() - 2]);
  const ir::Dim inner_l = l.dims.back(), inner_r = r.rank() == 1 ? r.dims[0] : r.dims[r.rank() - 2];
  if (inner_l.known() && inner_r.known() && inner_l.value != inner_r.value) {
    return invalid_model("inner dimensions ", inner_l.value, " and ", inner_r.value,
                         " of a matrix product differ");
  }
  auto batch = [](const ir::Shape& shape) {
    const size_t kept = shape.rank() < 2 ? 0 : shape.rank() - 2;
    return ir::Shape(
        std::vector<ir::Dim>(shape.dims.begin(), shape.dims.begin() + static_cast<ptrdiff_t>(kept)));
  };
  ASSIGN_OR_RETURN(ir::Shape shape, broadcast_shapes(batch(l), batch(r)));
  if (l.rank() > 1) shape.dims.push_back(l.dims[l.rank() - 2]);
  if (r.rank() > 1) shape.dims.push_back(r.dims[r.rank() - 1]);
  set_output(out, 0, element, std::move(shape));
  return ok_status();
}

}  // namespace tenon::ops
