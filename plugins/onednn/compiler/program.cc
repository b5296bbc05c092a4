#include "compiler/program.h"

#include <algorithm>

#include "compiler/builder.h"
#include "compiler/weights.h"

namespace tenon::onednn {
namespace {

bool is_static(DimsView dims) { return std::count(dims.begin(), dims.end(), TENON_DIM_UNKNOWN) == 0; }

Dims dims_of(const tenon_tensor& tensor) { return Dims(tensor.dims, tensor.dims + tensor.rank); }

void answer(const Plan& plan, tenon_prepare_args& args) {
  for (uint32_t i = 0; i < args.output_count; ++i) {
    const Dims& dims = plan.output_dims[i];
    std::copy(dims.begin(), dims.end(), args.outputs[i].dims);
    args.outputs[i].rank = static_cast<uint32_t>(dims.size());
    args.outputs[i].flags = TENON_SHAPE_KNOWN;
  }
  args.workspace_bytes = plan.workspace_bytes;
  args.workspace_alignment = static_cast<uint32_t>(kWorkspaceAlignment);
  args.workspace_domain = TENON_DOMAIN_HOST;
}

}  // namespace

Program::Program(const Instance& instance, const tenon_compile_args& args) : instance_(instance) {
  const ep::GraphView graph(args.graph);
  const tenon_graph_info& info = graph.info();
  for (uint32_t i = 0; i < info.input_count; ++i) values_[number_of(graph, info.inputs[i])].input = i;
  for (uint32_t i = 0; i < info.output_count; ++i) values_[number_of(graph, info.outputs[i])].output = i;
  for (uint32_t n = 0; n < info.node_count; ++n) add_node(graph, n);
  prepare_static(graph);
}

uint32_t Program::number_of(const ep::GraphView& graph, uint32_t view_value) {
  if (view_value == TENON_NO_INDEX) return kNone;
  const auto [at, is_new] = numbers_.emplace(view_value, static_cast<uint32_t>(values_.size()));
  if (!is_new) return at->second;
  const ep::ValueView view(graph, view_value, store_);
  Value value;
  value.name = view.name();
  value.dtype = view.dtype();
  value.ranked = view.has_rank();
  value.dims.assign(view.dims().begin(), view.dims().end());
  value.view = view_value;
  if (view.is_constant()) {
    value.constant = view.constant().raw();
    value.dims = dims_of(*value.constant);
    value.ranked = true;
  }
  values_.push_back(std::move(value));
  return at->second;
}

void Program::add_node(const ep::GraphView& graph, uint32_t index) {
  const NodeView view(graph, index, store_, instance_.context);
  Node node;
  node.place = cat("node '", view.name(), "' (", view.op(), ")");
  try {
    Support refusal = Support::yes();
    const OperatorEntry* entry = find_operator(view, &refusal);
    if (entry == nullptr) fail(TENON_UNIMPLEMENTED, refusal.text());
    node.operation = entry->make(view);
  } catch (ep::Error& e) {
    e.text = cat(node.place, ": ", e.text);
    throw;
  }
  const auto number = static_cast<uint32_t>(nodes_.size());
  for (int i = 0; i < view.input_count(); ++i) {
    node.inputs.push_back(number_of(graph, view.input(i).index()));
    if (node.inputs.back() != kNone) values_[node.inputs.back()].consumers.push_back(number);
  }
  for (int i = 0; i < view.output_count(); ++i)
    node.outputs.push_back(number_of(graph, view.output(i).index()));
  nodes_.push_back(std::move(node));
}

/// With all shapes known there is one plan. It is made now, so that the constants can be given back of which the
/// primitives have a form of their own.
void Program::prepare_static(const ep::GraphView& graph) {
  std::vector<const Dims*> dims;
  for (const Value& value : values_) {
    if (!value.ranked || !is_static(value.dims)) return;
    dims.push_back(&value.dims);
  }
  static_plan_ = make_plan(dims, ep::host().worker_count(nullptr));
  for (const Value& value : values_) {
    if (value.constant == nullptr || ep::host().graph_constant_consumed == nullptr) continue;
    const auto reads = [&](const Buffer& b) { return b.constant == value.constant->data; };
    const bool read = std::any_of(static_plan_->buffers.begin(), static_plan_->buffers.end(),
                                  [&](const Buffer& b) { return reads(b) && b.piece.last >= b.piece.first; });
    if (!read) ep::host().graph_constant_consumed(graph.raw(), value.view);
  }
}

std::shared_ptr<const Plan> Program::make_plan(const std::vector<const Dims*>& dims, uint32_t threads) const {
  return Builder(*this, dims, threads).build();
}

std::unique_ptr<Prepared> Program::prepare(tenon_prepare_args& args) const {
  std::shared_ptr<const Plan> plan = static_plan_;
  if (plan == nullptr) {
    std::vector<Dims> known(values_.size());
    std::vector<const Dims*> dims(values_.size(), nullptr);
    for (size_t v = 0; v < values_.size(); ++v) {
      const Value& value = values_[v];
      const auto take = [&](const tenon_shape& shape) {
        if ((shape.flags & TENON_SHAPE_KNOWN) == 0) return;
        known[v].assign(shape.dims, shape.dims + shape.rank);
        dims[v] = &known[v];
      };
      if (value.ranked && is_static(value.dims)) dims[v] = &value.dims;
      if (args.values != nullptr && value.view < args.value_count) take(args.values[value.view]);
      if (value.output != kNone) take(args.outputs[value.output]);
      if (value.input == kNone) continue;
      known[v] = dims_of(args.inputs[value.input]);
      dims[v] = &known[v];
    }
    plan = make_plan(dims, ep::host().worker_count(nullptr));
  }
  auto out = std::make_unique<Prepared>(instance_.engine, plan);
  answer(*plan, args);
  return out;
}

std::shared_ptr<const Packed> Program::packed(uint32_t value, const Layout& from,
                                              const Layout& layout) const {
  const std::string key = cat(value, "/", from.key(), "/", layout.key());
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Packed>& out = packed_[key];
  if (out == nullptr) out = pack(instance_, values_[value].constant->data, from, layout);
  return out;
}

}  // namespace tenon::onednn
