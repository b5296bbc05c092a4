// A compiled island: its nodes as operations, its constants in packed form, and recipes for given shapes.
#pragma once

#include <map>

#include "islands/recipe.h"
#include "packed.h"

namespace tenon::cpu::islands {

struct Value {
  std::string name;
  uint32_t dtype = TENON_UNDEFINED;
  bool is_constant = false, is_consumed = false;
  Dims dims;                               // of a constant
  const tenon_tensor* constant = nullptr;  // once it was asked for
  uint32_t view = kNone;                   // its index in the host's graph view
  int32_t input = -1, output = -1;
  uint32_t producer = kNone;        // node
  std::vector<uint32_t> consumers;  // nodes, one entry per use
};

/// Thread-safe once compiled.
class Program {
 public:
  /// Takes the nodes of the host's view. `settings` must outlive the call only.
  Program(const ep::GraphView& graph, const ep::InstanceSettings& settings);

  Recipe prepare(ep::PrepareContext& p) const;

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  bool is_constant(uint32_t value) const { return values_[value].is_constant; }
  /// Uninitialised memory for Operation::pack(), until the next call.
  float* scratch(int64_t elements);
  /// Whether no node needs the data of the value, because all packed what they need.
  bool is_packed(uint32_t value) const;
  const Dims& constant_dims(uint32_t value) const { return values_[value].dims; }
  /// For Operation::pack(). The data is asked for when it is needed and given back once it is packed, so that of most
  /// constants only one is there twice.
  ep::TensorView constant(uint32_t value);

 private:
  uint32_t number_of(const ep::GraphView& graph, uint32_t view_value);
  void add_node(const ep::GraphView& graph, uint32_t index, const ep::InstanceSettings& settings);
  void pack_constants();
  void consume_packed(const Node& node, uint32_t number);
  void consume(uint32_t value);

  const ep::GraphView* graph_ = nullptr;  // while the program is compiled
  ep::ConstantStore store_;
  std::unique_ptr<Packed> scratch_;  // while constants are packed
  int64_t scratch_elements_ = 0;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::map<uint32_t, uint32_t> numbers_;  // by index in the host's view
};

/// A kernel of several nodes, as KernelNode::compile_fused() takes it.
struct Island {
  std::unique_ptr<const Program> program = nullptr;

  Recipe prepare(ep::PrepareContext& p) const { return program->prepare(p); }
  void run(const ep::Context& ctx, const Recipe& recipe) const { recipe.run(ctx); }
};

/// Which groups of nodes become islands: the option `islands`.
enum class Extent : uint8_t { kNone, kGaining, kAll };
Extent extent_of(std::string_view option);

/// Claims islands. `taken`, per node: set for those that are claimed.
void offer_islands(const ep::InstanceSettings& settings, Extent extent, const ep::GraphView& graph,
                   const tenon_claim_sink* sink, std::vector<bool>* taken);
/// Whether the nodes of a compiled claim were claimed as an island.
bool is_island(const ep::GraphView& graph, const ep::InstanceSettings& settings, Extent extent);

}  // namespace tenon::cpu::islands
