// The host side of MiniHost: what stands behind the opaque handles of ep.h, and the table of functions over
// it.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "ep-sdk/cts/mini_host.h"

/// The view of one node. Values are numbered inputs first, then outputs; an equal constant is a value of its
/// own.
struct tenon_graph {
  struct Value {
    tenon_value_info info{};
    std::string name;
    tenon::cts::Dims dims;
    const tenon::cts::Tensor* constant = nullptr;
  };
  const tenon::cts::NodeCase* node = nullptr;
  std::vector<Value> values;
  std::vector<uint32_t> node_inputs, node_outputs;  // of the node, TENON_NO_INDEX where missing
  std::vector<uint32_t> inputs, outputs;            // of the graph
  std::vector<tenon_attribute> attributes;
  std::vector<std::unique_ptr<std::vector<tenon_str>>> string_lists;
  std::vector<tenon_tensor> tensors;  // of tensor attributes, by attribute
};

/// A value by count.
struct tenon_value {
  std::atomic<int> count{1};
  tenon::cts::Tensor tensor;           // of a tensor; its dtype also of a container
  std::vector<tenon_value*> elements;  // of a container, counted
  std::vector<int64_t> offsets;        // of a string tensor
  std::string characters;
};

/// A Run in progress.
struct tenon_run {
  struct Output {
    bool given = false;  // by set_strings, set_object or alloc_output
    tenon::cts::Tensor tensor;
    std::vector<uint8_t> memory;
  };
  std::vector<tenon_tensor> inputs;
  std::vector<Output> outputs;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> scratch;
};

namespace tenon::cts {

/// Borrowed descriptors of a tensor; `offsets` and `characters` hold the form of strings at the border.
tenon_tensor describe(const Tensor& tensor, std::vector<int64_t>& offsets, std::string& characters);

/// One count of a new value.
tenon_value* make_value(const Tensor& tensor);
Tensor read_value(const tenon_value* value);
void release_value(tenon_value* value);
/// How many values are alive.
int live_values();

tenon_graph make_graph(const NodeCase& node);
const tenon_host_api& host_table();

// 64 bytes on either side of every output.
inline constexpr size_t kGuardBytes = 64;
inline constexpr uint8_t kGuard = 0xC7;

}  // namespace tenon::cts
