#include "ep-sdk/cts/host_table.h"

#include <algorithm>
#include <cstring>

namespace tenon::cts {
namespace {

std::atomic<int> g_live_values{0};

constexpr uint32_t kWorkers = 3;

tenon_str to_str(const std::string& s) { return {s.data(), s.size()}; }
std::string text(tenon_str s) { return std::string(s.data, s.size); }

tenon_status fail(tenon_error* error, tenon_status code, const char* message) {
  if (error != nullptr) {
    error->code = code;
    std::strncpy(error->message, message, sizeof(error->message) - 1);
  }
  return code;
}

// ---- Graph view ----

tenon_status graph_info(const tenon_graph* graph, tenon_graph_info* out) {
  static const tenon_opset opset{{"", 0}, 1};
  out->flags = 0;
  out->node_count = 1;
  out->value_count = static_cast<uint32_t>(graph->values.size());
  out->input_count = static_cast<uint32_t>(graph->inputs.size());
  out->output_count = static_cast<uint32_t>(graph->outputs.size());
  out->inputs = graph->inputs.data();
  out->outputs = graph->outputs.data();
  out->name = {"test", 4};
  out->opsets = &opset;
  out->opset_count = 1;
  return TENON_OK;
}

tenon_status graph_node(const tenon_graph* graph, uint32_t node, tenon_node_info* out) {
  if (node != 0) return TENON_INVALID_ARGUMENT;
  out->flags = 0;
  out->name = {"tested", 6};
  out->domain = to_str(graph->node->domain);
  out->op_type = to_str(graph->node->op_type);
  out->overload = {"", 0};
  out->since_version = graph->node->since_version;
  out->attribute_count = static_cast<uint32_t>(graph->attributes.size());
  out->inputs = graph->node_inputs.data();
  out->outputs = graph->node_outputs.data();
  out->input_count = static_cast<uint32_t>(graph->node_inputs.size());
  out->output_count = static_cast<uint32_t>(graph->node_outputs.size());
  return TENON_OK;
}

tenon_status graph_value(const tenon_graph* graph, uint32_t value, tenon_value_info* out) {
  if (value >= graph->values.size()) return TENON_INVALID_ARGUMENT;
  const uint32_t size = out->struct_size;
  *out = graph->values[value].info;
  out->struct_size = size;
  return TENON_OK;
}

tenon_status graph_attribute(const tenon_graph* graph, uint32_t, uint32_t index, tenon_attribute* out) {
  if (index >= graph->attributes.size()) return TENON_INVALID_ARGUMENT;
  *out = graph->attributes[index];
  return TENON_OK;
}

tenon_status graph_find_attribute(const tenon_graph* graph, uint32_t, tenon_str name, tenon_attribute* out) {
  for (const tenon_attribute& attribute : graph->attributes) {
    if (text(attribute.name) != text(name)) continue;
    *out = attribute;
    return TENON_OK;
  }
  return TENON_NOT_FOUND;
}

tenon_status graph_constant(const tenon_graph* graph, uint32_t value, tenon_tensor* out) {
  if (value >= graph->values.size() || graph->values[value].constant == nullptr)
    return TENON_INVALID_ARGUMENT;
  *out = graph->tensors[value];
  return TENON_OK;
}

tenon_status graph_constant_consumed(const tenon_graph*, uint32_t) { return TENON_OK; }

void log(tenon_host_provider*, uint32_t, tenon_str, tenon_str) {}

// ---- Threads and memory ----

void parallel_for(tenon_run*, int64_t n, int64_t grain, tenon_range_fn fn, void* context) {
  const int64_t pieces = std::clamp<int64_t>(n / std::max<int64_t>(1, grain), 1, 4);
  for (int64_t p = pieces; p-- > 0;) {
    fn(context, static_cast<uint32_t>(p) % kWorkers, n * p / pieces, n * (p + 1) / pieces);
  }
}
uint32_t worker_count(tenon_run*) { return kWorkers; }
uint32_t own_threads(tenon_run*, uint32_t) { return 1; }
void own_threads_done(tenon_run*) {}

void* aligned(std::vector<uint8_t>& memory) {
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  return memory.data() + (64 - address % 64) % 64;
}

void* scratch(tenon_run* run, uint64_t bytes) {
  run->scratch.push_back(std::make_unique<std::vector<uint8_t>>(bytes + 64, kGuard));
  return aligned(*run->scratch.back());
}

tenon_status alloc_output(tenon_run* run, uint32_t index, uint32_t rank, const int64_t* dims,
                          tenon_tensor* out, tenon_error* error) {
  if (index >= run->outputs.size()) return fail(error, TENON_INVALID_ARGUMENT, "no such output");
  tenon_run::Output& output = run->outputs[index];
  output.given = true;
  output.tensor.dims.assign(dims, dims + rank);
  const uint64_t bytes = ep::dtype_bytes(output.tensor.dtype, static_cast<uint64_t>(output.tensor.size()));
  output.memory.assign(bytes + 2 * kGuardBytes, kGuard);
  out->kind = TENON_KIND_TENSOR;
  out->dtype = output.tensor.dtype;
  out->rank = rank;
  out->dims = output.tensor.dims.data();
  out->data = output.memory.data() + kGuardBytes;
  out->byte_size = bytes;
  return TENON_OK;
}

Tensor string_tensor(uint32_t rank, const int64_t* dims, const int64_t* offsets, const char* bytes) {
  Tensor out;
  out.dtype = TENON_STRING;
  out.dims.assign(dims, dims + rank);
  for (int64_t i = 0; i < out.size(); ++i) {
    out.strings.emplace_back(bytes + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i]));
  }
  return out;
}

tenon_status set_strings(tenon_run* run, uint32_t index, uint32_t rank, const int64_t* dims,
                         const int64_t* offsets, const char* bytes, tenon_error* error) {
  if (index >= run->outputs.size()) return fail(error, TENON_INVALID_ARGUMENT, "no such output");
  run->outputs[index].given = true;
  run->outputs[index].tensor = string_tensor(rank, dims, offsets, bytes);
  return TENON_OK;
}

tenon_status set_object(tenon_run* run, uint32_t index, tenon_value* value, tenon_error* error) {
  if (index >= run->outputs.size()) return fail(error, TENON_INVALID_ARGUMENT, "no such output");
  tenon_run::Output& output = run->outputs[index];
  output.given = true;
  const uint32_t dtype = output.tensor.dtype;
  output.tensor = value == nullptr ? optional(dtype, {}) : read_value(value);
  if (value != nullptr) release_value(value);
  return TENON_OK;
}

// ---- Values ----

tenon_value* new_value(Tensor tensor) {
  ++g_live_values;
  auto* out = new tenon_value();
  out->tensor = std::move(tensor);
  return out;
}

tenon_status value_make_tensor(uint32_t dtype, uint32_t rank, const int64_t* dims, tenon_value** out_value,
                               void** out_data, tenon_error*) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.dims.assign(dims, dims + rank);
  tensor.bytes.resize(ep::dtype_bytes(dtype, static_cast<uint64_t>(tensor.size())));
  *out_value = new_value(std::move(tensor));
  *out_data = (*out_value)->tensor.bytes.data();
  return TENON_OK;
}

tenon_status value_make_strings(uint32_t rank, const int64_t* dims, const int64_t* offsets, const char* bytes,
                                tenon_value** out_value, tenon_error*) {
  *out_value = new_value(string_tensor(rank, dims, offsets, bytes));
  return TENON_OK;
}

tenon_status value_make(uint32_t kind, uint32_t dtype, tenon_value* const* elements, uint64_t n,
                        tenon_value** out_value, tenon_error*) {
  Tensor container;
  container.kind = kind;
  container.dtype = dtype;
  *out_value = new_value(std::move(container));
  for (uint64_t i = 0; i < n; ++i) {
    ++elements[i]->count;
    (*out_value)->elements.push_back(elements[i]);
  }
  return TENON_OK;
}

Tensor read_tensor(const tenon_tensor& from) {
  if (from.dtype == TENON_STRING) {
    return string_tensor(from.rank, from.dims, from.offsets, static_cast<const char*>(from.data));
  }
  Tensor out;
  out.dtype = from.dtype;
  out.dims.assign(from.dims, from.dims + from.rank);
  const auto* bytes = static_cast<const uint8_t*>(from.data);
  out.bytes.assign(bytes, bytes + ep::dtype_bytes(from.dtype, static_cast<uint64_t>(out.size())));
  return out;
}

tenon_status value_from_input(tenon_run* run, uint32_t input, tenon_value** out_value, tenon_error*) {
  if (input >= run->inputs.size()) return TENON_INVALID_ARGUMENT;
  *out_value = new_value(read_tensor(run->inputs[input]));
  return TENON_OK;
}

void value_retain(tenon_value* value) { ++value->count; }
uint32_t value_kind(const tenon_value* value) { return value->tensor.kind; }
uint64_t value_size(const tenon_value* value) { return value->elements.size(); }
tenon_value* value_element(const tenon_value* value, uint64_t index) {
  return index < value->elements.size() ? value->elements[index] : nullptr;
}

tenon_status value_tensor(const tenon_value* value, tenon_tensor* out) {
  if (value->tensor.kind != TENON_KIND_TENSOR) return TENON_INVALID_ARGUMENT;
  auto* self = const_cast<tenon_value*>(value);
  *out = describe(value->tensor, self->offsets, self->characters);
  return TENON_OK;
}

const void* get_extension(tenon_str, uint32_t) { return nullptr; }

void add_attribute(tenon_graph& graph, const Attribute& from) {
  tenon_attribute out{};
  out.struct_size = sizeof(out);
  out.name = to_str(from.name);
  if (const auto* i = std::get_if<int64_t>(&from.value)) {
    out.type = TENON_ATTR_INT, out.i = *i;
  } else if (const auto* f = std::get_if<float>(&from.value)) {
    out.type = TENON_ATTR_FLOAT, out.f = *f;
  } else if (const auto* s = std::get_if<std::string>(&from.value)) {
    out.type = TENON_ATTR_STRING, out.s = to_str(*s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&from.value)) {
    out.type = TENON_ATTR_INTS, out.count = ints->size(), out.ints = ints->data();
  } else if (const auto* floats = std::get_if<std::vector<float>>(&from.value)) {
    out.type = TENON_ATTR_FLOATS, out.count = floats->size(), out.floats = floats->data();
  } else if (const auto* list = std::get_if<std::vector<std::string>>(&from.value)) {
    graph.string_lists.push_back(std::make_unique<std::vector<tenon_str>>());
    for (const std::string& s : *list) graph.string_lists.back()->push_back(to_str(s));
    out.type = TENON_ATTR_STRINGS, out.count = list->size(), out.strings = graph.string_lists.back()->data();
  } else {
    static thread_local std::vector<int64_t> offsets;
    static thread_local std::string characters;
    out.type = TENON_ATTR_TENSOR, out.count = 1;
    graph.tensors.push_back(describe(std::get<Tensor>(from.value), offsets, characters));
    out.tensors = &graph.tensors.back();
  }
  graph.attributes.push_back(out);
}

uint32_t add_value(tenon_graph& graph, const Tensor& tensor, bool input) {
  if (tensor.kind == TENON_KIND_NONE) return TENON_NO_INDEX;
  const auto index = static_cast<uint32_t>(graph.values.size());
  tenon_graph::Value& value = graph.values.emplace_back();
  value.name = (input ? "in" : "out") + std::to_string(index);
  value.dims = tensor.dims;
  value.info.kind = tensor.kind;
  value.info.dtype = tensor.dtype;
  value.info.rank =
      tensor.kind == TENON_KIND_TENSOR ? static_cast<int32_t>(tensor.dims.size()) : TENON_RANK_UNKNOWN;
  value.info.flags = !input ? TENON_VALUE_OUTPUT : tensor.constant ? TENON_VALUE_CONSTANT : TENON_VALUE_INPUT;
  value.info.producer = input ? TENON_NO_INDEX : 0;
  if (input && tensor.constant) value.constant = &tensor;
  return index;
}

}  // namespace

tenon_tensor describe(const Tensor& tensor, std::vector<int64_t>& offsets, std::string& characters) {
  tenon_tensor out{};
  out.kind = tensor.kind;
  out.dtype = tensor.dtype;
  out.rank = static_cast<uint32_t>(tensor.dims.size());
  out.dims = tensor.dims.data();
  out.data = const_cast<uint8_t*>(tensor.bytes.data());
  out.byte_size = tensor.bytes.size();
  if (tensor.dtype == TENON_STRING && tensor.kind == TENON_KIND_TENSOR) {
    offsets.assign(1, 0);
    characters.clear();
    for (const std::string& s : tensor.strings) {
      characters += s;
      offsets.push_back(static_cast<int64_t>(characters.size()));
    }
    out.data = characters.data();
    out.byte_size = characters.size();
    out.offsets = offsets.data();
  }
  return out;
}

tenon_value* make_value(const Tensor& tensor) {
  Tensor own = tensor;
  own.elements.clear();
  tenon_value* out = new_value(std::move(own));
  for (const Tensor& element : tensor.elements) out->elements.push_back(make_value(element));
  return out;
}

Tensor read_value(const tenon_value* value) {
  Tensor out = value->tensor;
  for (const tenon_value* element : value->elements) out.elements.push_back(read_value(element));
  return out;
}

void release_value(tenon_value* value) {
  if (--value->count > 0) return;
  for (tenon_value* element : value->elements) release_value(element);
  delete value;
  --g_live_values;
}

int live_values() { return g_live_values; }

tenon_graph make_graph(const NodeCase& node) {
  tenon_graph graph;
  graph.node = &node;
  for (const Tensor& input : node.inputs) graph.node_inputs.push_back(add_value(graph, input, true));
  for (const Tensor& output : node.outputs) graph.node_outputs.push_back(add_value(graph, output, false));
  graph.tensors.reserve(graph.values.size() + node.attributes.size());
  static thread_local std::vector<std::vector<int64_t>> offsets;
  static thread_local std::vector<std::string> characters;
  offsets.assign(graph.values.size(), {});
  characters.assign(graph.values.size(), {});
  for (uint32_t i = 0; i < graph.values.size(); ++i) {
    tenon_graph::Value& value = graph.values[i];
    value.info.name = to_str(value.name);
    value.info.dims = value.dims.data();
    graph.tensors.push_back(value.constant != nullptr ? describe(*value.constant, offsets[i], characters[i])
                                                      : tenon_tensor{});
    if ((value.info.flags & TENON_VALUE_INPUT) != 0) graph.inputs.push_back(i);
    if ((value.info.flags & TENON_VALUE_OUTPUT) != 0) graph.outputs.push_back(i);
  }
  for (const Attribute& attribute : node.attributes) add_attribute(graph, attribute);
  return graph;
}

const tenon_host_api& host_table() {
  static const tenon_host_api table = [] {
    tenon_host_api t{};
    t.struct_size = sizeof(t);
    t.abi_minor = TENON_EP_ABI_MINOR;
    t.graph_info = graph_info;
    t.graph_node = graph_node;
    t.graph_value = graph_value;
    t.graph_attribute = graph_attribute;
    t.graph_find_attribute = graph_find_attribute;
    t.graph_constant = graph_constant;
    t.graph_constant_consumed = graph_constant_consumed;
    t.log = log;
    t.parallel_for = parallel_for;
    t.worker_count = worker_count;
    t.own_threads = own_threads;
    t.own_threads_done = own_threads_done;
    t.scratch = scratch;
    t.alloc_output = alloc_output;
    t.set_strings = set_strings;
    t.set_object = set_object;
    t.value_make_tensor = value_make_tensor;
    t.value_make_strings = value_make_strings;
    t.value_make = value_make;
    t.value_from_input = value_from_input;
    t.value_retain = value_retain;
    t.value_release = release_value;
    t.value_kind = value_kind;
    t.value_size = value_size;
    t.value_element = value_element;
    t.value_tensor = value_tensor;
    t.get_extension = get_extension;
    return t;
  }();
  return table;
}

}  // namespace tenon::cts
