// Changing graphs. Each use knows its position in the use list and the lists are unordered. So adding or removing a
// use takes constant time.
#include <algorithm>
#include <utility>

#include "core/ir/graph.h"

namespace tenon::ir {

uint32_t& Graph::use_index_of(ValueId value, const Use& use) {
  NodeLinks& links = links_[use.node];
  if (use.input != kNone) return links.input_use_index[use.input];
  auto at = std::lower_bound(links.captured.begin(), links.captured.end(), value) - links.captured.begin();
  return links.captured_use_index[static_cast<size_t>(at)];
}

void Graph::add_use(ValueId value, Use use) {
  std::vector<Use>& uses = values_[value]->uses;
  use_index_of(value, use) = static_cast<uint32_t>(uses.size());
  uses.push_back(use);
}

void Graph::drop_use(ValueId value, uint32_t use_index) {
  std::vector<Use>& uses = values_[value]->uses;
  if (use_index + 1 != uses.size()) {
    uses[use_index] = uses.back();
    use_index_of(value, uses[use_index]) = use_index;
  }
  uses.pop_back();
}

void Graph::add_capture_use(NodeId node, ValueId value) {
  NodeLinks& links = links_[node];
  auto place = std::lower_bound(links.captured.begin(), links.captured.end(), value);
  if (place != links.captured.end() && *place == value) return;
  links.captured_use_index.insert(links.captured_use_index.begin() + (place - links.captured.begin()), kNone);
  links.captured.insert(place, value);
  add_use(value, {node, kNone});
}

void Graph::drop_capture_use(NodeId node, ValueId value) {
  drop_use(value, use_index_of(value, {node, kNone}));
  NodeLinks& links = links_[node];
  auto place = std::lower_bound(links.captured.begin(), links.captured.end(), value);
  links.captured_use_index.erase(links.captured_use_index.begin() + (place - links.captured.begin()));
  links.captured.erase(place);
}

void Graph::refresh_captures(NodeId node) {
  std::vector<ValueId> wanted;
  for (const Attribute& attribute : nodes_[node]->attributes) {
    for (const GraphBox& nested : attribute.graphs) {
      for (const Capture& capture : nested->captures()) wanted.push_back(capture.outer);
    }
  }
  NodeLinks& links = links_[node];
  if (wanted.empty() && links.captured.empty()) return;
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());

  for (size_t i = 0; i < links.captured.size(); ++i) drop_use(links.captured[i], links.captured_use_index[i]);
  links.captured = std::move(wanted);
  links.captured_use_index.assign(links.captured.size(), kNone);
  for (ValueId value : links.captured) add_use(value, {node, kNone});
}

void Graph::remap_captures(const std::vector<ValueId>& map) {
  for (Capture& capture : captures_) capture.outer = map[capture.outer];
}

void Graph::remove_unused_captures() {
  auto unused = [&](const Capture& capture) {
    const Value& inner = *values_[capture.inner];
    return inner.uses.empty() && inner.output_count == 0;
  };
  for (const Capture& capture : captures_) {
    if (!unused(capture)) continue;
    value_names_.erase(values_[capture.inner]->name);
    values_[capture.inner].reset();
  }
  captures_.erase(std::remove_if(captures_.begin(), captures_.end(),
                                 [&](const Capture& capture) { return values_[capture.inner] == nullptr; }),
                  captures_.end());
}

void Graph::rename_value(ValueId value, std::string_view new_name) {
  if (values_[value]->name == new_name) return;
  value_names_.erase(values_[value]->name);
  values_[value]->name = unique_value_name(new_name);
  value_names_.emplace(values_[value]->name, value);
}

void Graph::set_type(ValueId value, Type type) { values_[value]->type = std::move(type); }

void Graph::set_constant(ValueId id, TensorPtr tensor) {
  Value& value = *values_[id];
  if (value.producer != kNone) nodes_[value.producer]->outputs[value.producer_output] = kNone;
  value.producer = kNone;
  value.producer_output = 0;
  value.type = Type::tensor(tensor->type(), tensor->shape());
  value.constant = std::move(tensor);
}

void Graph::set_input(NodeId id, uint32_t index, ValueId value) {
  std::vector<ValueId>& inputs = nodes_[id]->inputs;
  std::vector<uint32_t>& use_index = links_[id].input_use_index;
  if (index >= inputs.size()) {
    inputs.resize(index + 1, kNone);
    use_index.resize(index + 1, kNone);
  }
  if (inputs[index] == value) return;
  if (inputs[index] != kNone) drop_use(inputs[index], use_index[index]);
  inputs[index] = value;
  use_index[index] = kNone;
  if (value != kNone) add_use(value, {id, index});
}

void Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  std::vector<Use> uses = values_[from]->uses;
  for (const Use& use : uses) {
    if (use.input != kNone) {
      set_input(use.node, use.input, to);
    } else {
      redirect_captures(use.node, from, to);
    }
  }
  if (values_[from]->output_count != 0) take_output_places(from, to);
}

void Graph::redirect_captures(NodeId node, ValueId from, ValueId to) {
  for (const Attribute& attribute : nodes_[node]->attributes) {
    for (const GraphBox& nested : attribute.graphs) {
      for (Capture& capture : nested->captures_) {
        if (capture.outer == from) capture.outer = to;
      }
    }
  }
  drop_capture_use(node, from);
  add_capture_use(node, to);
}

void Graph::take_output_places(ValueId from, ValueId to) {
  Value& old_output = *values_[from];
  Value& output = *values_[to];
  auto named_by_others = [](const Value& value) { return value.is_input || value.is_capture; };
  if (named_by_others(old_output) || named_by_others(output) || output.output_count != 0) return;

  std::vector<uint32_t> places;
  auto [begin, end] = output_places_.equal_range(from);
  for (auto place = begin; place != end; ++place) places.push_back(place->second);
  output_places_.erase(begin, end);
  for (uint32_t place : places) {
    outputs_[place] = to;
    output_places_.emplace(to, place);
  }
  std::swap(old_output.output_count, output.output_count);
  std::swap(old_output.name, output.name);
  value_names_.find(output.name)->second = to;
  value_names_.find(old_output.name)->second = from;
}

void Graph::remove_node(NodeId id) {
  const Node& node = *nodes_[id];
  NodeLinks& links = links_[id];
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] != kNone) drop_use(node.inputs[i], links.input_use_index[i]);
  }
  for (size_t i = 0; i < links.captured.size(); ++i) drop_use(links.captured[i], links.captured_use_index[i]);
  for (ValueId output : node.outputs) {
    if (output == kNone) continue;
    values_[output]->producer = kNone;
    values_[output]->producer_output = 0;
  }
  node_names_.erase(node.name);
  links = NodeLinks();
  nodes_[id].reset();
  --node_count_;
}

void Graph::remove_value(ValueId id) {
  value_names_.erase(values_[id]->name);
  values_[id].reset();
}

}  // namespace tenon::ir
