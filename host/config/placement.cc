#include "host/config/placement.h"

#include <re2/re2.h>

#include <algorithm>

#include "host/base/text.h"
#include "host/config/schema.h"

namespace tenon::config {

/// A compiled `node` expression, shared by copies of its rule. RE2 takes time linear in the name's length for
/// every expression; a backtracking matcher would not end in practice for (x+x+)+y.
struct NodePattern {
  explicit NodePattern(const std::string& expression) : regex(expression, options()) {}
  static re2::RE2::Options options() {
    re2::RE2::Options out;
    out.set_log_errors(false);
    out.set_max_mem(1 << 20);
    return out;
  }
  re2::RE2 regex;
};

namespace {

constexpr size_t kLongestPattern = 512;

const std::vector<std::string>& rule_keys() {
  static const auto& keys = *new const std::vector<std::string>{"match", "provider", "required"};
  return keys;
}
const std::vector<std::string>& match_keys() {
  static const auto& keys = *new const std::vector<std::string>{"op", "node", "model"};
  return keys;
}

Result<std::shared_ptr<const NodePattern>> compile(const std::string& expression) {
  if (expression.size() > kLongestPattern)
    return invalid_input("it is longer than ", kLongestPattern, " characters");
  auto pattern = std::make_shared<const NodePattern>(expression);
  if (!pattern->regex.ok()) return invalid_input(pattern->regex.error());
  return pattern;
}

const Value* member(const Table& table, std::string_view name) {
  for (const auto& entry : table) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

struct RuleCheck {
  std::vector<std::string>& errors;

  template <class... Parts>
  void fail(const Value& at, const Parts&... parts) {
    errors.push_back(str_cat(at.where().to_string(), ": 'placement' ", parts...));
  }

  void known_keys(const Table& table, const std::vector<std::string>& keys) {
    for (const auto& entry : table) {
      if (std::find(keys.begin(), keys.end(), entry.first) != keys.end()) continue;
      fail(entry.second, "has an unknown key '", entry.first, "'", suggestion(entry.first, keys));
    }
  }

  void text(const Table& table, std::string_view name, bool wanted, const Value& owner) {
    const Value* value = member(table, name);
    if (value == nullptr) {
      if (wanted) fail(owner, "lacks '", name, "'");
    } else if (!value->as_string() || value->as_string()->empty()) {
      fail(*value, "needs a non-empty string for '", name, "'");
    }
  }

  void ops(const Value& value) {
    const Array* array = value.as_array();
    bool good = value.as_string() ||
                (array && !array->empty() && std::all_of(array->begin(), array->end(), [](const Value& op) {
                   return op.as_string() != nullptr;
                 }));
    if (!good) fail(value, "needs operator types for 'op', such as [\"Conv\", \"com.microsoft:Gelu\"]");
  }

  void match(const Value& value) {
    const Table* table = value.as_table();
    if (!table) return fail(value, "needs a table for 'match', such as { op = [\"Conv\"] }");
    known_keys(*table, match_keys());
    if (table->empty()) fail(value, "has an empty 'match', which would match every node");
    if (const Value* op = member(*table, "op")) ops(*op);
    text(*table, "model", false, value);
    text(*table, "node", false, value);
    const Value* node = member(*table, "node");
    if (!node || !node->as_string()) return;
    if (auto pattern = compile(*node->as_string()); !pattern) {
      fail(*node, "has a 'node' that is not a regular expression (RE2): ", *node->as_string(), ": ",
           pattern.error().message());
    }
  }

  void rule(const Value& value) {
    const Table* table = value.as_table();
    if (!table) return fail(value, "must hold tables, not ", value.type_name());
    known_keys(*table, rule_keys());
    text(*table, "provider", true, value);
    const Value* required = member(*table, "required");
    if (required && !required->as_bool()) fail(*required, "needs true or false for 'required'");
    const Value* found = member(*table, "match");
    if (found) {
      match(*found);
    } else {
      fail(value, "lacks 'match'");
    }
  }
};

PlacementRule to_rule(const Value& value) {
  const Table& table = *value.as_table();
  PlacementRule rule;
  rule.where = value.where().to_string();
  rule.provider = *member(table, "provider")->as_string();
  if (const Value* required = member(table, "required")) rule.required = *required->as_bool();
  const Table& match = *member(table, "match")->as_table();
  if (const Value* op = member(match, "op")) {
    rule.ops = op->as_string() ? std::vector<std::string>{*op->as_string()} : to_strings(*op);
  }
  if (const Value* node = member(match, "node")) rule.node = *node->as_string();
  if (const Value* model = member(match, "model")) rule.model = *model->as_string();
  if (!rule.node.empty())
    rule.node_pattern = compile(rule.node).value_or(nullptr);  // check_placement accepted it
  return rule;
}

// "Conv" is in the default domain, "com.microsoft:Gelu" in the named one. "ai.onnx" is another name of the default.
bool is_operator(std::string_view wanted, std::string_view domain, std::string_view op_type) {
  size_t colon = wanted.rfind(':');
  std::string_view wanted_domain = colon == std::string_view::npos ? "" : wanted.substr(0, colon);
  std::string_view wanted_type = colon == std::string_view::npos ? wanted : wanted.substr(colon + 1);
  auto short_name = [](std::string_view name) { return name == "ai.onnx" ? std::string_view() : name; };
  return wanted_type == op_type && short_name(wanted_domain) == short_name(domain);
}

}  // namespace

void check_placement(const Value& value, std::vector<std::string>& errors) {
  RuleCheck check{errors};
  const Array* rules = value.as_array();
  if (!rules) return check.fail(value, "must be a list of rules, not ", value.type_name());
  for (const Value& rule : *rules) check.rule(rule);
}

std::vector<PlacementRule> to_placement(const Value& value) {
  std::vector<PlacementRule> rules;
  for (const Value& rule : *value.as_array()) rules.push_back(to_rule(rule));
  return rules;
}

bool PlacementRule::is_for_model(std::string_view model_name) const {
  return model.empty() || glob_match(model, model_name);
}

bool PlacementRule::matches(std::string_view domain, std::string_view op_type, std::string_view node_name,
                            std::string_view model_name) const {
  if (!ops.empty()) {
    bool any = std::any_of(ops.begin(), ops.end(),
                           [&](const std::string& op) { return is_operator(op, domain, op_type); });
    if (!any) return false;
  }
  if (!is_for_model(model_name)) return false;
  if (node.empty()) return true;
  return node_pattern != nullptr &&
         re2::RE2::FullMatch({node_name.data(), node_name.size()}, node_pattern->regex);
}

}  // namespace tenon::config
