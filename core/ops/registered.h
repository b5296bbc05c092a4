// Operators that an application registers: their rules, and the table in which the nodes of a model find them. Does not use
// protobuf.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/ops/ops.h"

namespace tenon::ops {

/// One version of an operator. Immutable when nodes point to it (Node::registered). `infer` is called on any thread.
struct RegisteredOperator {
  std::string domain, name;  // "" is ai.onnx
  int since_version = 1;
  size_t min_inputs = 0, max_inputs = 0, min_outputs = 0, max_outputs = 0;
  bool any_attribute = false;  // nodes may have attributes that are not in the list
  std::vector<OperatorVersion::AttributeRule> attributes;
  /// The types of the outputs of a node, one for each; kUnknown where not known. The attributes of the node have their
  /// values, also in the body of a function.
  std::function<Result<std::vector<ir::Type>>(const ir::Node& node, const InferInputs& inputs)> infer;

  /// "com.acme.Fft-1".
  std::string label() const;
};

using RegisteredOperatorPtr = std::shared_ptr<const RegisteredOperator>;

/// Operators by domain, name and version. A copy shares the operators.
class RegisteredOperators {
 public:
  /// INVALID_INPUT for a version that is there already, and for an operator that this build knows itself, because its
  /// passes and providers give that a meaning.
  Status add(RegisteredOperatorPtr op);
  bool empty() const { return all_.empty(); }
  /// The version that applies at `opset`, the one that the model imports of the domain. Null when there is none.
  RegisteredOperatorPtr find(std::string_view domain, std::string_view name, int64_t opset) const;
  /// The first version; null when the operator is not registered at all.
  RegisteredOperatorPtr first(std::string_view domain, std::string_view name) const;
  /// The nearest name of a registered operator of the domain; empty when there is none.
  std::string nearest(std::string_view domain, std::string_view name) const;

 private:
  std::vector<RegisteredOperatorPtr> all_;  // sorted by domain, name and version
};

/// Sets since_version and `registered` of a node when the operator is registered, and checks the node against it. False
/// when the operator is not registered. UNSUPPORTED when only versions above that of the model are.
Result<bool> resolve_registered(const RegisteredOperators& operators,
                                const std::map<std::string, int64_t>& opset_imports, ir::Node* node);

/// Infers a node with Node::registered. `values`: as for effective_attribute.
Result<std::vector<ir::Type>> infer_registered(const ir::Node& node, const InferInputs& inputs,
                                               const AttributeValues* values);

}  // namespace tenon::ops
