#include "byte_products.h"

#include <algorithm>

namespace tenon::cuda {
namespace {

constexpr int64_t kDeepest = 130000;  // sums of more products of two bytes may leave int32

bool is_byte(const NodeView& node, int input) { return node.input(input).dtype() == TENON_INT8; }

/// Whether zero points are missing, or known to be 0.
bool is_zero(const NodeView& node, int input) {
  if (!node.has_input(input)) return true;
  if (!node.input(input).is_constant()) return false;
  const std::span<const int8_t> zeros = node.input(input).constant().span<int8_t>();
  return std::all_of(zeros.begin(), zeros.end(), [](int8_t zero) { return zero == 0; });
}

}  // namespace

ByteProducts::ByteProducts(const NodeView& node, const ByteInputs& inputs) {
  const ValueView b = node.input(inputs.b);
  is_used_ = is_byte(node, inputs.a) && is_byte(node, inputs.b) && b.is_constant() && b.rank() == 2 &&
             is_zero(node, inputs.a_zero) && is_zero(node, inputs.b_zero);
  if (!is_used_) return;
  products_ = NodeProducts(node, {.in = TENON_INT8, .out = TENON_INT32, .b_turned = true});
  copies_ = CopyKernels(node, TENON_INT8);
}

GemmArgs ByteProducts::prepare(PrepareContext& p, int64_t rows, int64_t columns, int64_t depth) const {
  GemmArgs out;
  if (!is_used_ || depth > kDeepest) return out;
  GemmShape& s = out.shape;
  s.rows = narrow(rows);
  s.columns = s.y_row = narrow(columns);
  s.depth = s.a_row = s.b_depth = narrow(depth);
  s.batches = make_walk({}, {}, true);
  ops::place_workspace(p, products_, 0, &out);
  return out;
}

PieceArg ByteProducts::turned(Recorder& ctx, const GemmArgs& args, const TensorView& b) const {
  const int64_t columns = args.shape.columns, depth = args.shape.depth;
  return packed_constant(
      ctx, b, "turned", static_cast<uint64_t>(b.byte_size()), [&](Recorder& once, const PieceArg& to) {
        copies_.record(once, gather_copy(Dims{columns, depth}, Dims{1, columns}), in(b), to);
      });
}

}  // namespace tenon::cuda
