#include "compiler/program.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/builder.h"
#include "compiler/weights.h"

namespace tenon::onednn {
namespace {

bool is_static(DimsView dims) { return std::count(dims.begin(), dims.end(), TENON_DIM_UNKNOWN) == 0; }

Dims dims_of(const tenon_tensor& tensor) { return Dims(tensor.dims, tensor.dims + tensor.rank); }

void answer(const Recipe& recipe, tenon_prepare_args& args) {
  for (uint32_t i = 0; i < args.output_count; ++i) {
    const Dims& dims = recipe.output_dims[i];
    std::copy(dims.begin(), dims.end(), args.outputs[i].dims);
    args.outputs[i].rank = static_cast<uint32_t>(dims.size());
    args.outputs[i].flags = TENON_SHAPE_KNOWN;
  }
  args.workspace_bytes = recipe.workspace_bytes;
  args.workspace_alignment = static_cast<uint32_t>(ep::kWorkspaceAlignment);
  args.workspace_domain = TENON_DOMAIN_HOST;
}

double greatest_magnitude(const float* x, int64_t n) {
  int32_t bits = 0;  // with the sign bit cleared, floats order as integers
  for (int64_t i = 0; i < n; ++i) bits = std::max(bits, std::bit_cast<int32_t>(x[i]) & 0x7fffffff);
  const auto out = std::bit_cast<float>(bits);
  return std::isfinite(out) ? out : kUnbounded;
}

/// An upper bound on the sum: the factor covers the rounding of the float sums.
double sum_of_magnitudes(const float* x, int64_t n) {
  constexpr int64_t kLanes = 32;
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] += std::fabs(x[i + k]);
  }
  double sum = 0;
  for (const float lane : lanes) sum += lane;
  for (; i < n; ++i) sum += std::fabs(x[i]);
  return sum * 1.01;
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
  const NodeView view(graph, index, store_, instance_.settings);
  Node node;
  node.op = view.op();
  node.place = cat("node '", view.name(), "' (", view.op(), ")");
  try {
    Support refusal = Support::yes();
    const OperatorEntry* entry = find_operator(view, &refusal);
    if (entry == nullptr) fail(TENON_UNIMPLEMENTED, refusal.text());
    node.contract = ep::contract_of(*entry, view);
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
  for (int i = 0; i < view.output_count(); ++i)
    node.outputs.push_back(number_of(graph, view.output(i).index()));
  if (node.operation->packs_weights()) {
    Value& weights = values_[node.inputs[1]];
    if (weights.constant != nullptr && weights.id.empty()) weights.id = constant_id(graph, weights.view);
  }
  nodes_.push_back(std::move(node));
}

/// If all shapes are known, makes the only recipe now. The host may then free the constants that the primitives
/// keep in a form of their own.
void Program::prepare_static(const ep::GraphView& graph) {
  KnownDims dims;
  for (const Value& value : values_) {
    if (!value.ranked || !is_static(value.dims)) return;
    dims.emplace_back(value.dims);
  }
  static_recipe_ = make_recipe(dims, threads(), true);
  if (ep::host().graph_constant_consumed != nullptr) consume_constants(graph);
}

void Program::consume_constants(const ep::GraphView& graph) {
  consumed_.resize(values_.size(), false);
  for (uint32_t v = 0; v < values_.size(); ++v) {
    const Value& value = values_[v];
    if (value.constant == nullptr) continue;
    const auto reads = [&](const Buffer& b) { return b.constant == value.constant->data; };
    const bool read = std::any_of(static_recipe_->buffers.begin(), static_recipe_->buffers.end(),
                                  [&](const Buffer& b) { return reads(b) && b.piece.last >= b.piece.first; });
    if (read || (static_recipe_->checked && !may_consume(v))) continue;
    consumed_[v] = true;
    ep::host().graph_constant_consumed(graph.raw(), value.view);
  }
}

/// Whether the unchecked recipe can make its forms of this constant from the packed ones.
bool Program::may_consume(uint32_t value) const {
  for (const uint32_t n : values_[value].consumers) {
    const Node& node = nodes_[n];
    const bool packs = node.operation->packs_weights() && node.inputs[1] == value;
    if (!packs || std::count(node.inputs.begin(), node.inputs.end(), value) != 1) return false;
  }
  for (const auto& [key, forms] : packed_) {
    if (key.first != value) continue;
    if (std::all_of(forms.begin(), forms.end(), [](const PackedForm& f) { return f.layout.is_opaque(); }))
      return false;
  }
  return true;
}

/// One thread if the result must not depend on the number of threads: oneDNN splits sums by it.
uint32_t Program::threads() const {
  return instance_.settings.deterministic ? 1 : ep::host().worker_count(nullptr);
}

std::shared_ptr<const Recipe> Program::make_recipe(const KnownDims& dims, uint32_t threads,
                                                   bool checked) const {
  std::vector<const Dims*> known;
  for (const std::optional<Dims>& d : dims) known.push_back(d ? &*d : nullptr);
  return Builder(*this, known, threads, checked).build();
}

Program::KnownDims Program::dims_for(const tenon_prepare_args& args) const {
  KnownDims dims(values_.size());
  for (size_t v = 0; v < values_.size(); ++v) {
    const Value& value = values_[v];
    const auto take = [&](const tenon_shape& shape) {
      if ((shape.flags & TENON_SHAPE_KNOWN) != 0) dims[v].emplace(shape.dims, shape.dims + shape.rank);
    };
    if (value.ranked && is_static(value.dims)) dims[v] = value.dims;
    if (args.values != nullptr && value.view < args.value_count) take(args.values[value.view]);
    if (value.output != kNone) take(args.outputs[value.output]);
    if (value.input != kNone) dims[v] = dims_of(args.inputs[value.input]);
  }
  return dims;
}

std::unique_ptr<Prepared> Program::prepare(tenon_prepare_args& args) const {
  KnownDims dims = dims_for(args);
  std::shared_ptr<const Recipe> recipe = static_recipe_;
  if (recipe == nullptr) recipe = make_recipe(dims, threads(), true);
  answer(*recipe, args);
  const uint32_t threads = recipe->threads;
  return std::make_unique<Prepared>(
      instance_.device.engine(), std::move(recipe),
      [this, threads, dims = std::move(dims)] { return make_recipe(dims, threads, false); });
}

std::shared_ptr<const Packed> Program::packed(uint32_t value, const Layout& from,
                                              const Layout& layout) const {
  const std::lock_guard lock(mutex_);
  std::vector<PackedForm>& forms = packed_[{value, from.key()}];
  PackedForm source{from, nullptr};
  const void* data = values_[value].constant->data;
  for (const PackedForm& form : forms) {
    if (form.layout == layout) return form.packed;
    if (!consumed_.empty() && consumed_[value] && !form.layout.is_opaque())
      source = form, data = form.packed->data;
  }
  const bool gone = !consumed_.empty() && consumed_[value] && source.packed == nullptr;
  require(!gone, TENON_INTERNAL, "the data of constant '", values_[value].name, "' was released to the host");
  // A form made of another form depends on the constant, on the layout that the constant has here, and on that form.
  const std::string& id = values_[value].id;
  const std::string name = id.empty() ? id : cat(id, "/", from.key());
  forms.push_back({layout, pack(instance_, name, data, source.layout, layout)});
  return forms.back().packed;
}

Program::Magnitudes Program::magnitudes(uint32_t value) const {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = magnitudes_.emplace(value, Magnitudes{});
  if (!is_new) return at->second;
  const tenon_tensor& constant = *values_[value].constant;
  const int64_t n = ep::element_count(DimsView(constant.dims, constant.rank));
  if (constant.dtype != TENON_FLOAT32) return at->second = {kUnbounded, kUnbounded};
  const int64_t rows = constant.rank == 0 ? 1 : constant.dims[0];
  const auto* x = static_cast<const float*>(constant.data);
  at->second.greatest = greatest_magnitude(x, n);
  for (int64_t r = 0; r < rows; ++r)
    at->second.row = std::max(at->second.row, sum_of_magnitudes(x + r * (n / rows), n / rows));
  if (!(at->second.greatest < kUnbounded)) at->second.row = kUnbounded;
  return at->second;
}

}  // namespace tenon::onednn
