// The operators this build knows: every schema of the linked ONNX, and a table of our own for operators that
// published models use although ONNX does not define them (com.microsoft, and operators ONNX has dropped).
//
// Internal to core/ops: ONNX types stay in this folder. Read-only after the first call, which builds the
// table; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/ops/ops.h"
#include "core/proto/pb.h"
#include "onnx/defs/schema.h"

namespace tenon::ops {

/// Output types of an operator that ONNX has no inference for. `out` has one entry per output of the node,
/// kUnknown at first. Inputs may be null or of unknown type.
using InferRule = Status (*)(const ir::Node& node, const InferInputs& inputs, std::vector<ir::Type>& out);

/// One operator of our own table.
struct OwnOperator {
  std::string_view domain, name;
  int min_inputs, max_inputs, max_outputs;
  InferRule infer;
  std::string_view attributes;  // as the table in contrib.cc explains
  uint32_t may_be_empty = 0;    // bit i: input i, though one of the least, may be left empty
};
const std::vector<OwnOperator>& own_operators();
/// INVALID_MODEL names the first input that the operator needs and that is not given.
Status check_own_inputs(const OwnOperator& own, const std::function<bool(size_t)>& is_given);
/// The attributes of one, in the order of the table.
std::vector<OperatorVersion::AttributeRule> attribute_rules(const OwnOperator& own);

/// Rules for schemas that come without inference, or with one that does not do; null when there is none.
InferRule early_rule(std::string_view name, int since);

/// What a formal input or output accepts.
struct ParameterTypes {
  uint64_t tensors = 0;             // bit n: a tensor of element type n
  std::vector<std::string> others;  // sequences, maps, ...: ONNX's spelling
  int variable = -1;                // parameters with the same number have the same type; -1: free
};

struct TypeRules {
  std::vector<ParameterTypes> inputs, outputs;
  int variable_count = 0;
};

/// One version of an operator, ONNX's or our own. ONNX's schema is made when it is first asked for: all of
/// them take longer than most models do to load.
class Operator {
 public:
  using MakeSchema = pb::OpSchema (*)();
  Operator(std::string_view domain_in, std::string_view name_in, int since_in, MakeSchema make)
      : domain(domain_in), name(name_in), since(since_in), make_(make) {}

  std::string_view domain, name;
  int since = 0;
  const OwnOperator* own = nullptr;
  InferRule rule = nullptr;  // comes before ONNX's inference

  /// Null for our own ones.
  const pb::OpSchema* schema() const;
  /// ONNX's inference; empty when it has none.
  const pb::InferenceFunction& infer() const;
  /// Only with a schema.
  const TypeRules& types() const;
  bool has_function_body() const;

 private:
  MakeSchema make_;
  mutable std::once_flag schema_once_, types_once_;
  mutable std::unique_ptr<const pb::OpSchema> schema_;
  mutable pb::InferenceFunction infer_;
  mutable TypeRules types_;
};

/// "ai.onnx" and "" are one domain.
std::string_view canonical_domain(std::string_view domain);
bool is_standard_domain(std::string_view domain);
/// The version in force at `opset`; null when there is none.
const Operator* find_operator(std::string_view domain, std::string_view name, int64_t opset);
/// The one a resolved node names by its since_version; null for functions and custom operators.
const Operator* find_operator(const ir::Node& node);
/// Names known in a domain, sorted.
std::vector<std::string_view> operator_names(std::string_view domain);

}  // namespace tenon::ops
