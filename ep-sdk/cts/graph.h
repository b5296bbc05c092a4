// Small graphs with everything that a host knows about them, and the views of them that a provider gets.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "ep-sdk/cts/guarded.h"
#include "ep-sdk/cts/tensor.h"
#include "tenon/ep.h"

namespace tenon::cts {

using AttributeValue = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                    std::vector<std::string>, Tensor>;

struct Attribute {
  std::string name;
  AttributeValue value;
};

/// One node. Inputs that are `constant` are initializers.
struct NodeCase {
  std::string op_type;
  std::string domain;
  int since_version = 1;
  std::vector<Attribute> attributes;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;  // types and shapes as inferred; data is what a Run should give
};

/// Nodes over values, in topological order.
struct GraphCase {
  struct Value {
    std::string name;
    Tensor tensor;             // type and shape; also data of inputs and constants
    bool is_open = false;      // the host does not know its dimensions
    bool is_output = false;    // of the graph
    bool is_unranked = false;  // the host does not know the rank either
  };
  struct Node {
    std::string name, op_type, domain;
    int since_version = 1;
    std::vector<Attribute> attributes;
    std::vector<uint32_t> inputs, outputs;  // values; TENON_NO_INDEX where missing
    bool taken = false;
  };
  std::vector<Value> values;
  std::vector<Node> nodes;

  /// The node that makes a value; TENON_NO_INDEX for inputs and constants.
  uint32_t producer(uint32_t value) const;
  std::vector<uint32_t> all_nodes() const;
};

GraphCase graph_of(const NodeCase& node);

}  // namespace tenon::cts

/// A view of some or all nodes of a graph case, with its own numbers.
struct tenon_graph {
  struct Value {
    tenon_value_info info{};
    uint32_t in_case = 0;
    std::string name;
    tenon::cts::Dims dims;
    tenon_tensor constant{};
    tenon::cts::GuardedMemory memory{1};  // data of a constant
    std::vector<int64_t> offsets;         // of a constant of strings
  };
  struct Node {
    const tenon::cts::GraphCase::Node* in_case = nullptr;
    std::string name, domain, op_type;
    std::vector<uint32_t> inputs, outputs;
    std::vector<tenon_attribute> attributes;
  };
  tenon_graph() = default;
  tenon_graph(const tenon_graph&) = delete;
  tenon_graph& operator=(const tenon_graph&) = delete;

  /// Call when the call that borrowed the view has returned: using it afterwards breaks R14. With `scramble`, this
  /// overwrites what the view lent.
  void end(bool scramble);

  uint32_t flags = 0;
  std::deque<Value> values;
  std::deque<Node> nodes;
  std::vector<uint32_t> inputs, outputs;  // of the graph
  std::vector<tenon_opset> opsets;
  std::set<uint32_t> consumed;  // constants that compile marked consumed
  std::atomic<bool> ended{false};
  // What attributes point to.
  std::deque<std::vector<tenon_str>> string_lists;
  std::deque<tenon_tensor> tensors;
  std::deque<std::vector<int64_t>> offsets;
  std::deque<std::string> characters;
};

namespace tenon::cts {

/// The view of some nodes. Its inputs are values that other nodes make or the graph's inputs; its outputs are values
/// that other nodes use or the graph's outputs.
std::unique_ptr<tenon_graph> make_view(const GraphCase& graph, const std::vector<uint32_t>& nodes,
                                       bool is_static = false);

/// A descriptor that borrows from `tensor`. For a string tensor it borrows `offsets` and `characters`, which this
/// fills.
tenon_tensor describe(const Tensor& tensor, std::vector<int64_t>& offsets, std::string& characters);

}  // namespace tenon::cts
