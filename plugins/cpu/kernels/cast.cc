#include <cmath>

#include "kernels/common/cast.h"

namespace tenon::cpu {
namespace {

// Before opset 6 the target was a type name.
uint32_t target_type(const NodeView& n) {
  if (n.since_version() >= 6) return static_cast<uint32_t>(n.attr_i("to"));
  std::string name = n.attr_s("to");
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (name == "float") return TENON_FLOAT32;
  if (name == "double") return TENON_FLOAT64;
  for (uint32_t dtype = TENON_FLOAT32; dtype <= TENON_FLOAT6E3M2; ++dtype) {
    if (name == dtype_name(dtype)) return dtype;
  }
  fail(TENON_INVALID_ARGUMENT, "attribute to is '", name, "'");
}

CastRules cast_rules(const NodeView& n) {
  CastRules rules;
  rules.saturate = n.attr_i("saturate", 1) != 0;
  rules.saturate_small_ints = n.since_version() < 24;
  const std::string mode = n.attr_s("round_mode", "up");
  require(mode == "up" || mode == "down" || mode == "nearest", TENON_UNIMPLEMENTED,
          "attribute round_mode is '", mode, "'");
  rules.round = mode == "up"     ? Float8E8M0::Round::kUp
                : mode == "down" ? Float8E8M0::Round::kDown
                                 : Float8E8M0::Round::kNearest;
  return rules;
}

struct Cast {
  static Support supports(const NodeView& n) {
    const uint32_t to = target_type(n);
    cast_rules(n);
    return Check(n).that(can_cast(n.input(0).dtype(), to), TENON_REJECT_TYPE, "from ",
                         dtype_name(n.input(0).dtype()), " to ", dtype_name(to));
  }
  explicit Cast(const NodeView& n) : rules_(cast_rules(n)) {}

  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).dims()); }
  void run(const Context& ctx) const { cast_tensor(ctx, ctx.input(0), 0, rules_); }

 private:
  CastRules rules_;
};
TENON_KERNEL(Cast, .op_type = "Cast", .contract = "input: any")

// The target is the element type of the second input.
struct CastLike {
  static Support supports(const NodeView& n) {
    cast_rules(n);
    return Check(n).needs_input(1).that(can_cast(n.input(0).dtype(), n.input(1).dtype()), TENON_REJECT_TYPE,
                                        "from ", dtype_name(n.input(0).dtype()), " to ",
                                        dtype_name(n.input(1).dtype()));
  }
  explicit CastLike(const NodeView& n) : rules_(cast_rules(n)) {}

  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).dims()); }
  void run(const Context& ctx) const { cast_tensor(ctx, ctx.input(0), 0, rules_); }

 private:
  CastRules rules_;
};
TENON_KERNEL(CastLike, .op_type = "CastLike", .contract = "input: any; target_type: any")

}  // namespace
}  // namespace tenon::cpu
