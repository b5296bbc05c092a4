#include "islands/program.h"

#include <algorithm>

#include "islands/builder.h"

namespace tenon::cpu::islands {

Program::Program(const ep::GraphView& graph, const ep::InstanceSettings& settings) : graph_(&graph) {
  const tenon_graph_info& info = graph.info();
  int32_t inputs = 0;
  for (uint32_t i = 0; i < info.input_count; ++i) values_[number_of(graph, info.inputs[i])].input = inputs++;
  for (uint32_t i = 0; i < info.output_count; ++i)
    values_[number_of(graph, info.outputs[i])].output = static_cast<int32_t>(i);
  for (uint32_t n = 0; n < info.node_count; ++n) add_node(graph, n, settings);
  pack_constants();
  for (uint32_t v = 0; v < values_.size(); ++v) {
    if (!is_constant(v) || values_[v].is_consumed) continue;
    // An island of one node gets its constants in each Run, so the host keeps them.
    if (info.node_count > 1 && is_packed(v)) {
      consume(v);
    } else {
      static_cast<void>(constant(v));  // what was asked for lives as long as the program
    }
  }
  graph_ = nullptr;
}

ep::TensorView Program::constant(uint32_t value) {
  Value& v = values_[value];
  if (v.constant == nullptr) {
    require(graph_ != nullptr && !v.is_consumed, TENON_INTERNAL, "the constant '", v.name,
            "' is not there any more");
    v.constant = ep::ValueView(*graph_, v.view, store_).constant().raw();
  }
  return ep::TensorView(v.constant);
}

void Program::consume(uint32_t value) {
  Value& v = values_[value];
  ep::ValueView(*graph_, v.view, store_).consume();
  v.is_consumed = true, v.constant = nullptr;
}

/// After a node has packed its constants: those that no later node reads.
void Program::consume_packed(const Node& node, uint32_t number) {
  if (nodes_.size() == 1) return;
  for (const uint32_t v : node.inputs) {
    if (v == kNone || !is_constant(v) || values_[v].is_consumed || values_[v].consumers.back() != number)
      continue;
    if (is_packed(v)) consume(v);
  }
}

void Program::pack_constants() {
  for (uint32_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    // Before anything is read of constants, their lengths are checked, as far as they are known. If they do not fit, each Run
    // says so.
    const auto shape_of = [&](int i) -> std::optional<DimsView> {
      const auto at = static_cast<size_t>(i);
      if (at >= node.inputs.size() || node.inputs[at] == kNone || !is_constant(node.inputs[at]))
        return std::nullopt;
      return constant_dims(node.inputs[at]);
    };
    if (!node.contract.check(static_cast<int>(node.inputs.size()), shape_of).empty()) continue;
    try {
      node.operation->pack(*this, node);
    } catch (ep::Error& e) {
      e.where = node.place;
      throw;
    }
    consume_packed(node, n);
  }
  scratch_.reset();
  scratch_elements_ = 0;
}

float* Program::scratch(int64_t elements) {
  if (elements > scratch_elements_) {
    scratch_.reset();
    scratch_ = std::make_unique<Packed>(elements);
    scratch_elements_ = elements;
  }
  return scratch_->data();
}

bool Program::is_packed(uint32_t value) const {
  const Value& v = values_[value];
  return v.output < 0 && std::all_of(v.consumers.begin(), v.consumers.end(), [&](uint32_t n) {
           return nodes_[n].operation->packs(*this, nodes_[n], value);
         });
}

uint32_t Program::number_of(const ep::GraphView& graph, uint32_t view_value) {
  if (view_value == TENON_NO_INDEX) return kNone;
  const auto [at, is_new] = numbers_.emplace(view_value, static_cast<uint32_t>(values_.size()));
  if (!is_new) return at->second;
  const ep::ValueView view(graph, view_value, store_);
  Value value;
  value.name = view.name();
  value.dtype = view.dtype();
  value.view = view_value;
  value.is_constant = view.is_constant();
  if (value.is_constant) value.dims.assign(view.dims().begin(), view.dims().end());
  values_.push_back(std::move(value));
  return at->second;
}

void Program::add_node(const ep::GraphView& graph, uint32_t index, const ep::InstanceSettings& settings) {
  const NodeView view(graph, index, store_, settings);
  Node node;
  node.op = view.op();
  node.place = cat("node '", view.name(), "' (", view.op(), ")");
  try {
    Support refusal = Support::yes();
    const OperatorEntry* entry = find_operator(view, &refusal);
    const ep::KernelEntry* kernel = entry == nullptr ? nullptr : ep::choose_kernel(view, &refusal);
    if (kernel == nullptr) fail(TENON_UNIMPLEMENTED, refusal.text());
    node.contract = ep::contract_of(*kernel, view);
    node.operation = entry->make(view);
  } catch (ep::Error& e) {
    e.where = node.place;
    throw;
  }
  const auto number = static_cast<uint32_t>(nodes_.size());
  for (int i = 0; i < view.input_count(); ++i) {
    node.inputs.push_back(number_of(graph, view.input(i).index()));
    if (node.inputs.back() != kNone) values_[node.inputs.back()].consumers.push_back(number);
  }
  for (int i = 0; i < view.output_count(); ++i) {
    node.outputs.push_back(number_of(graph, view.output(i).index()));
    if (node.outputs.back() != kNone) values_[node.outputs.back()].producer = number;
  }
  nodes_.push_back(std::move(node));
}

Recipe Program::prepare(ep::PrepareContext& p) const {
  Recipe recipe = Builder(*this, p).build();
  for (size_t i = 0; i < recipe.output_dims.size(); ++i)
    p.set_output(static_cast<int>(i), recipe.output_dims[i]);
  p.workspace(recipe.workspace_bytes);
  return recipe;
}

}  // namespace tenon::cpu::islands
