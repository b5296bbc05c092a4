// What an operator states at its registration. Independent of oneDNN, so that tests can read the list of
// operators from the built provider.
#pragma once

#include <limits>
#include <memory>
#include <string_view>

#include "tenon/ep.hpp"

namespace tenon::onednn {

using ep::NodeView;
using ep::Support;

class Operation;

/// The kind of work, for the cost estimate.
enum class Work : uint8_t {
  kPointwise,
  kNone,  // views
  kRows,
  kNormalization,
  kReduction,
  kPooling,
  kConvolution,
  kTransposedConvolution,
  kProduct,
};

struct OperatorSpec {
  std::string_view op_type;
  std::string_view domain = "";
  int since = 1, until = std::numeric_limits<int>::max();  // versions of the schema, inclusive
  std::string_view contract = {};                          // allowed shapes of the inputs; see contract.hpp
  Work work = Work::kPointwise;
};

struct OperatorEntry {
  OperatorSpec spec;
  Support (*supports)(const NodeView& node);
  std::unique_ptr<Operation> (*make)(const NodeView& node);
  OperatorEntry* next = nullptr;
};

using OperatorRegistry = ep::Registry<OperatorEntry>;

}  // namespace tenon::onednn
