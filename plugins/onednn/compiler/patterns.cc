// Replaces several nodes by one function of the library: Swish, and GELU with the error function.
#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/builder.h"

namespace tenon::onednn {
namespace {

constexpr float kHalf = 0.5f, kRootOfTwo = 1.41421356237f;

bool is_close(float x, float y) { return std::fabs(x - y) <= 1e-6f * std::fabs(y); }

/// Follows nodes from `value`, each the only user of the one before. After the first step that does not
/// match, the walk stays failed.
class Walk {
 public:
  Walk(const Program& program, uint32_t value) : program_(program), value_(value) {}

  uint32_t value() const { return value_; }
  bool good() const { return good_; }
  const std::vector<uint32_t>& nodes() const { return nodes_; }

  /// Steps over node `n`, which must be an `op` with one input.
  Walk& function(uint32_t n, std::string_view op) {
    const Node& node = program_.nodes()[n];
    return go(n, node.op == op && node.inputs.size() == 1 && node.inputs[0] == value_);
  }
  /// Steps over node `n`, which must be an `op` of the current value and a constant number.
  Walk& with_number(uint32_t n, std::string_view op, float number) {
    const Node& node = program_.nodes()[n];
    if (node.op != op || node.inputs.size() != 2) return go(n, false);
    const bool first = node.inputs[0] == value_;
    const bool in_order = first || (op != "Div" && node.inputs[1] == value_);
    return go(n, in_order && is_number(node.inputs[first ? 1 : 0], number));
  }
  /// Steps over node `n`, which must be the product of the current value and `other`.
  Walk& times(uint32_t n, uint32_t other) {
    const Node& node = program_.nodes()[n];
    const std::vector<uint32_t> one{value_, other}, two{other, value_};
    return go(n, node.op == "Mul" && value_ != other && (node.inputs == one || node.inputs == two));
  }
  /// The only node that uses the current value.
  uint32_t next() const {
    const Value& v = program_.values()[value_];
    return good_ && v.output == kNone && v.consumers.size() == 1 ? v.consumers[0] : kNone;
  }
  Walk& function(std::string_view op) { return next() == kNone ? stop() : function(next(), op); }
  Walk& with_number(std::string_view op, float number) {
    return next() == kNone ? stop() : with_number(next(), op, number);
  }

 private:
  Walk& stop() {
    good_ = false;
    return *this;
  }
  Walk& go(uint32_t n, bool good) {
    good_ = good_ && good;
    if (!good_) return *this;
    nodes_.push_back(n);
    value_ = program_.nodes()[n].outputs[0];
    return *this;
  }
  bool is_number(uint32_t value, float number) const {
    const tenon_tensor* constant = program_.values()[value].constant;
    if (constant == nullptr || constant->dtype != TENON_FLOAT32) return false;
    const ep::TensorView tensor(constant);
    return tensor.size() == 1 && is_close(tensor.data<float>()[0], number);
  }

  const Program& program_;
  uint32_t value_;
  bool good_ = true;
  std::vector<uint32_t> nodes_;
};

struct Found {
  std::vector<uint32_t> nodes;
  uint32_t value;
  Eltwise function;
};

std::optional<Found> found(const Walk& walk, const std::vector<uint32_t>& more, Eltwise function) {
  if (!walk.good()) return std::nullopt;
  Found out{walk.nodes(), walk.value(), function};
  out.nodes.insert(out.nodes.end(), more.begin(), more.end());
  return out;
}

/// x * Sigmoid(x); `a` is the Sigmoid.
std::optional<Found> swish(const Program& program, uint32_t x, uint32_t a, uint32_t b) {
  Walk walk(program, x);
  walk.function(a, "Sigmoid");
  if (walk.next() != b) return std::nullopt;
  return found(walk.times(b, x), {}, Eltwise::kSwish);
}

/// 0.5 * x * (1 + Erf(x / sqrt(2))); `a` is the first node towards Erf. 0.5 applies to x or to the product.
std::optional<Found> gelu(const Program& program, uint32_t x, uint32_t a, uint32_t b) {
  Walk walk(program, x);
  const bool divides = program.nodes()[a].op == "Div";
  divides ? walk.with_number(a, "Div", kRootOfTwo) : walk.with_number(a, "Mul", 1 / kRootOfTwo);
  walk.function("Erf").with_number("Add", 1);
  if (walk.next() == b) return found(walk.times(b, x).with_number("Mul", kHalf), {}, Eltwise::kGeluErf);
  Walk half(program, x);
  half.with_number(b, "Mul", kHalf);
  if (!half.good() || walk.next() == kNone || half.next() != walk.next()) return std::nullopt;
  return found(walk.times(walk.next(), half.value()), half.nodes(), Eltwise::kGeluErf);
}

}  // namespace

std::optional<Builder::Candidate> Builder::pattern(uint32_t value) const {
  const std::vector<uint32_t>& consumers = program_.values()[value].consumers;
  if (consumers.size() != 2 || consumers[0] == consumers[1]) return std::nullopt;
  for (const size_t i : {0, 1}) {
    const uint32_t a = consumers[i], b = consumers[1 - i];
    std::optional<Found> as = swish(program_, value, a, b);
    if (!as) as = gelu(program_, value, a, b);
    if (!as || std::any_of(as->nodes.begin(), as->nodes.end(), [&](uint32_t n) { return done_[n]; }))
      continue;
    if (dims(as->value) != dims(value)) continue;  // a constant of higher rank than x
    std::sort(as->nodes.begin(), as->nodes.end());
    return Candidate{as->nodes, as->value, {PostOp::Kind::kEltwise, as->function, 1, 0}, {}};
  }
  return std::nullopt;
}

}  // namespace tenon::onednn
