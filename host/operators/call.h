// tenon_operator_call: what the functions of an application's operator ask about the node.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ir/type.h"
#include "host/device/type_info.h"
#include "host/device/value.h"
#include "host/operators/attributes.h"
#include "tenon/tenon.h"

namespace tenon::operators {

/// The node of calls. Immutable.
struct NodeFacts {
  NodeFacts(std::string name_in, std::string domain_in, std::string op_type_in, int32_t since_version_in,
            std::vector<ir::Attribute> attributes_in)
      : name(std::move(name_in)),
        domain(std::move(domain_in)),
        op_type(std::move(op_type_in)),
        since_version(since_version_in),
        attributes(std::move(attributes_in)) {}

  std::string name, domain, op_type;
  int32_t since_version;
  Attributes attributes;
};

/// Values over memory that is there only during one call. Not thread-safe.
class Borrowed {
 public:
  /// `what` they are for the node: "input" or "output".
  explicit Borrowed(std::string_view what) : what_(what) {}

  /// A tensor over the memory of `tensor`, which is in host memory.
  Result<tenon_value*> wrap(const tenon_tensor& tensor, bool read_only);
  /// FAILED_PRECONDITION, which names the first value that somebody has counted and not given back.
  Status check_given_back() const;
  /// Numbers the next value in messages.
  void skip() { values_.emplace_back(); }
  bool holds(const tenon_value* value) const;

 private:
  std::string_view what_;
  std::vector<runtime::ValueRef> values_;
};

/// A failure of a function of the application.
Status failed(tenon_status code, const tenon_error& error);

}  // namespace tenon::operators

/// Lives as long as one call of a function of the application.
struct tenon_operator_call {
  const tenon::operators::NodeFacts* node = nullptr;
  std::span<const tenon::runtime::TypeInfo> inputs, outputs;
  std::span<tenon_value* const> values;              // of the inputs; null where not known
  std::vector<tenon::ir::Type>* inferred = nullptr;  // in `infer`: one per output
  const uint32_t* cancel = nullptr;  // not 0: the Run is to stop; read atomically; may be null
};
