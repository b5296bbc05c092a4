// The operators that this build knows: every schema of the linked ONNX, and our own table of operators that
// published models use but ONNX does not define (com.microsoft, and operators that ONNX has dropped).
//
// Internal to core/ops: ONNX types stay in this folder. The first call builds the table; it is read-only
// afterwards. Thread-safe.
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

/// Infers output types of an operator for which ONNX has no inference. `out` has one entry per output of the node,
/// first kUnknown. Inputs may be null or of unknown type.
using InferRule = Status (*)(const ir::Node& node, const InferInputs& inputs, std::vector<ir::Type>& out);

/// One operator of our own table.
struct OwnOperator {
  std::string_view domain, name;
  int min_inputs, max_inputs, max_outputs;
  InferRule infer;
  std::string_view attributes;  // format: see the table in contrib.cc
  uint32_t may_be_empty = 0;    // bit i: input i may be empty although it is within min_inputs
};
const std::vector<OwnOperator>& own_operators();
/// INVALID_MODEL names the first required input that is not given.
Status check_own_inputs(const OwnOperator& own, const std::function<bool(size_t)>& is_given);
/// The attributes of one operator, in the order of the table.
std::vector<OperatorVersion::AttributeRule> attribute_rules(const OwnOperator& own);

/// The rule for a schema whose inference in ONNX is missing or wrong; null when there is no rule.
InferRule early_rule(std::string_view name, int since);

/// The types that a formal input or output accepts.
struct ParameterTypes {
  uint64_t tensors = 0;             // bit n: a tensor of element type n
  std::vector<std::string> others;  // sequences, maps, ..., in ONNX's spelling
  int variable = -1;                // parameters with the same number have the same type; -1: free
};

struct TypeRules {
  std::vector<ParameterTypes> inputs, outputs;
  int variable_count = 0;
};

/// One version of an operator, from ONNX or our own table. Its ONNX schema is made at first use: making all of them
/// takes longer than loading most models.
class Operator {
 public:
  using MakeSchema = pb::OpSchema (*)();
  Operator(std::string_view domain_in, std::string_view name_in, int since_in, MakeSchema make)
      : domain(domain_in), name(name_in), since(since_in), make_(make) {}

  std::string_view domain, name;
  int since = 0;
  const OwnOperator* own = nullptr;
  InferRule rule = nullptr;  // used instead of ONNX's inference

  /// Null for our own operators.
  const pb::OpSchema* schema() const;
  /// ONNX's inference; empty when there is none.
  const pb::InferenceFunction& infer() const;
  /// Requires a schema.
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
/// The version that applies at `opset`; null when there is none.
const Operator* find_operator(std::string_view domain, std::string_view name, int64_t opset);
/// The operator of a resolved node, by its since_version; null for functions and custom operators.
const Operator* find_operator(const ir::Node& node);
/// The known names of a domain, sorted.
std::vector<std::string_view> operator_names(std::string_view domain);

}  // namespace tenon::ops
