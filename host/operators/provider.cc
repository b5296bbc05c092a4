#include "host/operators/provider.h"

#include <string>
#include <utility>

#include "host/base/error_struct.h"
#include "host/base/version.h"
#include "host/device/host_api.h"
#include "host/operators/program.h"

namespace tenon::operators {
namespace {

// Handles of ep.h are these objects. Their structs have no names of ep.h, because other code of a process may define those.
struct Provider {
  ops::RegisteredOperators operators;
  const tenon_host_api* host = runtime::host_api();
};

template <class T, class Handle>
T* own(Handle* handle) {
  return reinterpret_cast<T*>(handle);
}

std::string_view view(tenon_str text) { return {text.data, static_cast<size_t>(text.size)}; }

template <class Info>
Info empty() {
  Info info{};
  info.struct_size = sizeof(info);
  return info;
}

// ---- Provider, device, instance: one object is all three ----

tenon_status provider_create(const tenon_provider_params*, tenon_provider**, tenon_error* error) noexcept {
  return give_plain(StatusCode::kUnimplemented, ErrorKind::kInternal, "made by make_provider() only", error);
}

void provider_destroy(tenon_provider* provider) noexcept { delete own<Provider>(provider); }

tenon_status enumerate_devices(tenon_provider*, const tenon_device_sink* sink, tenon_error* error) noexcept {
  constexpr std::string_view kId = "0", kName = "operators of the application";
  auto info = empty<tenon_device_info>();
  info.kind = TENON_DEVICE_CPU;
  info.serialize = TENON_SERIALIZE_NONE;
  info.stable_id = {kId.data(), kId.size()};
  info.name = {kName.data(), kName.size()};
  return sink->add(sink->context, &info, error);
}

tenon_status device_open(tenon_provider* provider, const tenon_device_params*, tenon_device** out_device,
                         tenon_error*) noexcept {
  *out_device = reinterpret_cast<tenon_device*>(provider);
  return TENON_OK;
}
void device_close(tenon_device*) noexcept {}

tenon_status instance_create(tenon_device* device, const tenon_instance_params*,
                             tenon_instance** out_instance, tenon_error*) noexcept {
  *out_instance = reinterpret_cast<tenon_instance*>(device);
  return TENON_OK;
}
void instance_destroy(tenon_instance*) noexcept {}

// ---- Capability ----

/// The version that the node was resolved to; null when the node is of no operator of the application.
AppOperatorPtr find(const Provider& provider, const tenon_node_info& node) {
  const ops::RegisteredOperatorPtr found =
      provider.operators.find(view(node.domain), view(node.op_type), node.since_version);
  if (found == nullptr || found->since_version != node.since_version) return nullptr;
  return std::static_pointer_cast<const AppOperator>(found);
}

struct Reason {
  uint32_t code = TENON_REJECT_OTHER;
  std::string text;  // empty: none
};

Reason unknown_operator(const Provider& provider, const tenon_node_info& node) {
  const std::string near = provider.operators.nearest(view(node.domain), view(node.op_type));
  return {TENON_REJECT_OPERATOR,
          str_cat("the application registered no such operator",
                  near.empty() ? std::string() : str_cat("; the nearest name is ", near))};
}

bool is_plain(uint32_t attribute_type) {
  return attribute_type >= TENON_ATTR_FLOAT && attribute_type <= TENON_ATTR_TENSORS &&
         attribute_type != TENON_ATTR_GRAPH && attribute_type != TENON_ATTR_GRAPHS;
}

Reason reason_against(const Provider& provider, const tenon_graph* graph, uint32_t index,
                      const tenon_node_info& node) {
  if (find(provider, node) == nullptr) return unknown_operator(provider, node);
  for (uint32_t i = 0; i < node.attribute_count; ++i) {
    auto attribute = empty<tenon_attribute>();
    if (provider.host->graph_attribute(graph, index, i, &attribute) != TENON_OK)
      return {TENON_REJECT_OTHER, "an attribute cannot be read"};
    if (!is_plain(attribute.type))
      return {
          TENON_REJECT_ATTRIBUTE,
          str_cat("attribute '", view(attribute.name),
                  "' is a graph, a sparse tensor or a type, which operators of applications cannot have")};
  }
  for (uint32_t o = 0; o < node.output_count; ++o) {
    auto value = empty<tenon_value_info>();
    if (node.outputs[o] == TENON_NO_INDEX) continue;
    if (provider.host->graph_value(graph, node.outputs[o], &value) != TENON_OK)
      return {TENON_REJECT_OTHER, "an output cannot be read"};
    if (value.kind == TENON_KIND_NONE || value.dtype == TENON_UNDEFINED)
      return {TENON_REJECT_TYPE,
              str_cat("the type of output ", o, " ('", view(value.name),
                      "') is not known: neither the operator's infer nor the model gives it")};
  }
  return {};
}

Status answer(const Provider& provider, const tenon_graph* graph, const tenon_claim_sink& sink) {
  auto info = empty<tenon_graph_info>();
  provider.host->graph_info(graph, &info);
  for (uint32_t index = 0; index < info.node_count; ++index) {
    auto node = empty<tenon_node_info>();
    provider.host->graph_node(graph, index, &node);
    if ((node.flags & TENON_NODE_TAKEN) != 0) continue;
    const Reason reason = reason_against(provider, graph, index, node);
    tenon_error error = make_error();
    tenon_status status = TENON_OK;
    if (reason.text.empty()) {
      auto claim = empty<tenon_claim>();
      claim.nodes = &index;
      claim.node_count = 1;
      status = sink.claim(sink.context, &claim, &error);
    } else {
      auto rejection = empty<tenon_rejection>();
      rejection.node = index;
      rejection.code = reason.code;
      rejection.text = {reason.text.data(), reason.text.size()};
      status = sink.reject(sink.context, &rejection, &error);
    }
    if (status != TENON_OK) return take_status(status, error, {});
  }
  return ok_status();
}

tenon_status capability(tenon_instance* instance, const tenon_graph* graph, const tenon_claim_sink* sink,
                        tenon_error* error) noexcept {
  return guarded(error, [&] { return answer(*own<Provider>(instance), graph, *sink); });
}

// ---- From a graph to a Run ----

tenon_status compile(tenon_instance* instance, const tenon_compile_args* args, tenon_program** out_program,
                     tenon_error* error) noexcept {
  return guarded(error, [&]() -> Status {
    const Provider& provider = *own<Provider>(instance);
    auto node = empty<tenon_node_info>();
    provider.host->graph_node(args->graph, 0, &node);
    AppOperatorPtr op = find(provider, node);
    if (op == nullptr) return internal_error("the node to compile is of no operator of the application");
    ASSIGN_OR_RETURN(std::unique_ptr<Program> made,
                     Program::make(std::move(op), *provider.host, args->graph));
    *out_program = reinterpret_cast<tenon_program*>(made.release());
    return ok_status();
  });
}

void program_destroy(tenon_program* program) noexcept { delete own<Program>(program); }

/// Shapes that inference left open are those of what the application gives.
tenon_status prepare(tenon_program* program, tenon_prepare_args* args, tenon_prepared** out_prepared,
                     tenon_error*) noexcept {
  for (uint32_t o = 0; o < args->output_count; ++o) {
    if (args->outputs[o].flags == 0) args->outputs[o].flags = TENON_SHAPE_AT_RUN;
  }
  *out_prepared = reinterpret_cast<tenon_prepared*>(program);  // nothing depends on shapes
  return TENON_OK;
}
void prepared_destroy(tenon_prepared*) noexcept {}

tenon_status run(const tenon_run_args* args, tenon_error* error) noexcept {
  return guarded(error, [&] { return own<const Program>(args->program)->run(*args); });
}

constexpr tenon_ep_api make_table() {
  tenon_ep_api table{};
  table.struct_size = sizeof(table);
  table.abi_minor = TENON_EP_ABI_MINOR;
  table.provider_create = provider_create;
  table.provider_destroy = provider_destroy;
  table.enumerate_devices = enumerate_devices;
  table.device_open = device_open;
  table.device_close = device_close;
  table.instance_create = instance_create;
  table.instance_destroy = instance_destroy;
  table.capability = capability;
  table.compile = compile;
  table.program_destroy = program_destroy;
  table.prepare = prepare;
  table.prepared_destroy = prepared_destroy;
  table.run = run;
  return table;
}

std::shared_ptr<const provider::Manifest> make_manifest() {
  auto manifest = std::make_shared<provider::Manifest>();
  manifest->id = kProviderId;
  manifest->name = "Operators of the application";
  manifest->vendor = "Tenon";
  manifest->version = parse_version(TENON_VERSION_TEXT).value_or(Version());
  manifest->abi_major = TENON_EP_ABI_MAJOR;
  manifest->abi_min_minor = manifest->abi_max_minor = TENON_EP_ABI_MINOR;
  manifest->traits.unloadable = true;
  return manifest;
}

}  // namespace

std::shared_ptr<provider::LoadedProvider> make_provider(const ops::RegisteredOperators& operators) {
  static constexpr tenon_ep_api kTable = make_table();
  auto made = std::make_unique<Provider>();
  made->operators = operators;
  provider::LoadedProvider::OwnedHandle handle(reinterpret_cast<tenon_provider*>(made.release()),
                                               provider_destroy);
  return provider::LoadedProvider::built_in(make_manifest(), kTable, std::move(handle));
}

}  // namespace tenon::operators
