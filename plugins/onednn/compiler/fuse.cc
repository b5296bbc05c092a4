// Post-operations: pointwise nodes that the primitive before them does on the way to memory.
#include <algorithm>

#include "compiler/builder.h"

namespace tenon::onednn {
namespace {

constexpr size_t kMostPostOps = 8;

bool commutes(Binary b) {
  return b == Binary::kAdd || b == Binary::kMul || b == Binary::kMax || b == Binary::kMin;
}

/// With ones in front, so that it has the rank of the result.
Dims aligned(const Dims& dims, size_t rank) {
  Dims out(rank > dims.size() ? rank - dims.size() : 0, 1);
  out.insert(out.end(), dims.begin(), dims.end());
  return out;
}

}  // namespace

std::vector<Builder::Candidate> Builder::followers(uint32_t value) {
  std::vector<Candidate> out;
  while (out.size() < kMostPostOps) {
    const Value& v = program_.values()[value];
    if (v.output != kNone || v.consumers.size() != 1 || done_[v.consumers[0]]) break;
    const Node& node = program_.nodes()[v.consumers[0]];
    const auto pointwise = node.operation->pointwise();
    if (!pointwise || (!pointwise->exact && !instance().relaxed && !tame(value))) break;
    if (dims(node.outputs[0]) != dims(value) || type(node.outputs[0]) != type(value)) break;
    Candidate next{v.consumers[0], node.outputs[0], {}, {}, kNone};
    if (!pointwise->is_binary) {
      next.post_op = {PostOp::Kind::kEltwise, pointwise->eltwise, pointwise->alpha, pointwise->beta};
    } else {
      const bool first = node.inputs[0] == value;
      const uint32_t other = node.inputs[first ? 1 : 0];
      if (other == value || (!first && !commutes(pointwise->binary)) || tensors_[other].buffer == kNone)
        break;
      const size_t rank = std::max<size_t>(dims(value).size(), 1);
      next.operand = reshaped(kept(other), aligned(dims(other), rank));
      next.operand_value = other;
      next.post_op.kind = PostOp::Kind::kBinary;
      next.post_op.binary = pointwise->binary;
      // A whole tensor takes the layout of the result; what is broadcast stays as it is.
      const bool whole = next.operand.layout.dims() == aligned(dims(value), rank);
      next.post_op.operand = whole ? Layout::any(next.operand.layout.type(), next.operand.layout.dims())
                                   : Layout::plain(next.operand.layout.type(), next.operand.layout.dims());
    }
    learn(next.node);
    value = next.value;
    out.push_back(std::move(next));
  }
  return out;
}

std::optional<Primitive> Builder::try_with(const std::vector<Candidate>& candidates, size_t count, bool sum,
                                           const std::function<Primitive(const PostOps&)>& make, Fused* out) {
  Fused fused;
  fused.value = candidates[count - 1].value;
  size_t sum_at = count;
  for (size_t i = 0; i < count; ++i) {
    const Candidate& c = candidates[i];
    fused.post_ops.push_back(c.post_op);
    fused.operands.push_back(c.operand);
    const bool whole = c.post_op.kind == PostOp::Kind::kBinary && c.post_op.operand.is_any();
    if (!sum || sum_at != count || !whole || c.post_op.binary != Binary::kAdd) continue;
    if (!dies_with(c.operand.buffer, {c.node})) continue;
    fused.post_ops.back() = {PostOp::Kind::kSum};
    sum_at = i;
  }
  if (sum && sum_at == count) return std::nullopt;
  try {
    Primitive primitive = make(fused.post_ops);
    if (primitive.is_reference()) return std::nullopt;
    if (sum && !(primitive.layout(kDestination) == fused.operands[sum_at].layout)) return std::nullopt;
    *out = std::move(fused);
    return primitive;
  } catch (const ep::Error& e) {
    if (e.code != TENON_UNIMPLEMENTED) throw;
    return std::nullopt;
  }
}

Primitive Builder::fuse(uint32_t value, const std::function<Primitive(const PostOps&)>& make, Fused* out) {
  const std::vector<Candidate> candidates = followers(value);
  for (size_t count = candidates.size(); count > 0; --count) {
    for (const bool sum : {true, false}) {
      auto primitive = try_with(candidates, count, sum, make, out);
      if (!primitive) continue;
      for (size_t i = 0; i < count; ++i) done_[candidates[i].node] = true;
      return *primitive;
    }
  }
  *out = Fused{};
  out->value = value;
  return make({});
}

void Builder::run_fused(const Primitive& primitive, std::vector<std::pair<int, Tensor>> arguments,
                        const Fused& fused) {
  const Layout layout = primitive.layout(kDestination);
  std::optional<Tensor> destination;
  for (size_t i = 0; i < fused.post_ops.size(); ++i) {
    const PostOp& op = fused.post_ops[i];
    if (op.kind == PostOp::Kind::kSum)
      destination = overwrite(fused.value, {layout, fused.operands[i].buffer});
    if (op.kind != PostOp::Kind::kBinary) continue;
    const int role = kFirstPostOp + static_cast<int>(i);
    arguments.emplace_back(role, as(fused.operands[i], primitive.layout(role)));
  }
  if (!destination) destination = create(fused.value, layout);
  arguments.emplace_back(kDestination, *destination);
  step(primitive, arguments);
}

}  // namespace tenon::onednn
