// Post-operations: pointwise nodes that run inside the primitive before them, before it stores its result.
#include <algorithm>
#include <numeric>

#include "compiler/builder.h"

namespace tenon::onednn {
namespace {

constexpr size_t kMostPostOps = 8;

bool commutes(Binary b) {
  return b == Binary::kAdd || b == Binary::kMul || b == Binary::kMax || b == Binary::kMin;
}

/// Adds ones in front up to `rank`.
Dims aligned(const Dims& dims, size_t rank) {
  Dims out(rank > dims.size() ? rank - dims.size() : 0, 1);
  out.insert(out.end(), dims.begin(), dims.end());
  return out;
}

Dims at_least_1d(const Dims& dims) { return aligned(dims, std::max<size_t>(dims.size(), 1)); }

bool is_turned(const Dims& dims, const Dims& other) {
  return dims.size() > 1 && dims.size() == other.size() && dims != other && turned(dims) == other;
}

}  // namespace

Dims turned(Dims dims) {
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return dims;
}

Layout turned(const Layout& layout) {
  Dims order(layout.dims().size());
  std::iota(order.begin(), order.end(), 0);
  return layout.permuted(turned(order));
}

/// Sets the operand beside `value` of a binary function. Returns false if it cannot be a post-operation.
bool Builder::add_operand(const Node& node, uint32_t value, const Dims& written, Binary f, Candidate* out) {
  const bool first = node.inputs[0] == value;
  const uint32_t other = node.inputs[first ? 1 : 0];
  if (other == value || (!first && !commutes(f)) || tensors_[other].buffer == kNone) return false;
  // An operand of full shape takes the layout of the result. A broadcast one keeps its own.
  const Dims own = aligned(dims(value), written.size()), given = aligned(dims(other), own.size());
  const bool whole = given == own;
  Dims as = whole ? written : given;
  if (!whole && is_turned(own, written)) {
    as = turned(given);
  } else if (!whole && own != written) {
    // The result has other axes: only one number, or one number per index of the last axis, still fits.
    const int64_t count = ep::element_count(given);
    if (count != 1 && (count != given.back() || own.back() != written.back())) return false;
    as.assign(written.size(), 1);
    as.back() = given.back();
  }
  out->operand = reshaped(kept(other), as);
  const Type type = out->operand.layout.type();
  out->post_op.kind = PostOp::Kind::kBinary;
  out->post_op.binary = f;
  out->post_op.operand = whole ? Layout::any(type, as) : Layout::plain(type, as);
  return true;
}

std::optional<Builder::Candidate> Builder::follower(uint32_t value, const Dims& written) {
  const Value& v = program_.values()[value];
  if (v.output != kNone || v.consumers.size() != 1) return std::nullopt;
  if (done_[v.consumers[0]]) return std::nullopt;
  const Node& node = program_.nodes()[v.consumers[0]];
  const auto pointwise = node.operation->pointwise();
  if (!pointwise || (!pointwise->exact && !instance().relaxed && !tame(value))) return std::nullopt;
  if (dims(node.outputs[0]) != dims(value) || type(node.outputs[0]) != type(value)) return std::nullopt;
  Candidate out{{v.consumers[0]}, node.outputs[0], {}, {}};
  if (pointwise->is_binary) {
    if (!add_operand(node, value, written, pointwise->binary, &out)) return std::nullopt;
  } else {
    out.post_op = {PostOp::Kind::kEltwise, pointwise->eltwise, pointwise->alpha, pointwise->beta};
  }
  return out;
}

std::vector<Builder::Candidate> Builder::followers(uint32_t value, const Dims& written) {
  std::vector<Candidate> out;
  while (out.size() < kMostPostOps) {
    std::optional<Candidate> next = follower(value, written);
    if (!next) break;
    for (const uint32_t node : next->nodes) learn(node);
    value = next->value;
    out.push_back(std::move(*next));
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
    if (!dies_with(c.operand.buffer, c.nodes)) continue;
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
  return fuse(value, at_least_1d(dims(value)), make, out);
}

Primitive Builder::fuse(uint32_t value, const Dims& written,
                        const std::function<Primitive(const PostOps&)>& make, Fused* out) {
  const std::vector<Candidate> candidates = followers(value, written);
  for (size_t count = candidates.size(); count > 0; --count) {
    for (const bool sum : {true, false}) {
      auto primitive = try_with(candidates, count, sum, make, out);
      if (!primitive) continue;
      for (size_t i = 0; i < count; ++i) {
        for (const uint32_t node : candidates[i].nodes) {
          done_[node] = true;
          fused_.push_back(node);
        }
      }
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
  const Dims own = at_least_1d(dims(fused.value));
  Layout made = layout;
  if (layout.dims() != own) made = is_turned(layout.dims(), own) ? turned(layout) : *layout.reshaped(own);
  std::optional<Tensor> destination;
  for (size_t i = 0; i < fused.post_ops.size(); ++i) {
    const PostOp& op = fused.post_ops[i];
    if (op.kind == PostOp::Kind::kSum) destination = overwrite(fused.value, {made, fused.operands[i].buffer});
    if (op.kind != PostOp::Kind::kBinary) continue;
    const int role = kFirstPostOp + static_cast<int>(i);
    arguments.emplace_back(role, as(fused.operands[i], primitive.layout(role)));
  }
  if (!destination) destination = create(fused.value, made);
  arguments.emplace_back(kDestination, *destination);
  call(primitive, arguments);
}

}  // namespace tenon::onednn
