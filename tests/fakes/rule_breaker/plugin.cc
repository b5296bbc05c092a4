// A provider in host memory that copies its first input to its output. On request it breaks one numbered rule
// of ep-sdk/RULES.md. tests/unit/host/device/rules_test.cc lists what the host must refuse, and
// tests/cts/zoo.py what the provider kit must find.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/ep.h"
#include "tenon/ep/negotiate.hpp"

namespace {

const tenon_host_api* g_host = nullptr;

// Devices differ only in `which`, instances only in `rule`.
struct Device {
  int which;
};
struct Instance {
  int64_t rule = 0;
};

std::string_view view(tenon_str s) { return {s.data, static_cast<size_t>(s.size)}; }
tenon_str to_str(std::string_view s) { return {s.data(), s.size()}; }
template <class T, class Handle>
T* own(Handle* handle) {
  return reinterpret_cast<T*>(handle);
}

// ---- Devices: a correct one, one with a broken domain (R17), one with broken memory (R18) ----

constexpr const char* kDevices[] = {"well", "crooked-domain", "crooked-memory"};

tenon_status provider_create(const tenon_provider_params*, tenon_provider** out, tenon_error*) {
  static int provider;
  *out = own<tenon_provider>(&provider);
  return TENON_OK;
}
void provider_destroy(tenon_provider*) {}

tenon_status enumerate_devices(tenon_provider*, const tenon_device_sink* sink, tenon_error* error) {
  for (const char* id : kDevices) {
    tenon_device_info info{};
    info.struct_size = sizeof(info);
    info.kind = TENON_DEVICE_OTHER;
    info.stable_id = info.name = to_str(id);
    if (const tenon_status status = sink->add(sink->context, &info, error); status != TENON_OK) return status;
  }
  return TENON_OK;
}

tenon_status device_open(tenon_provider*, const tenon_device_params* params, tenon_device** out,
                         tenon_error*) {
  for (int i = 0; i < 3; ++i) {
    if (view(params->stable_id) != kDevices[i]) continue;
    *out = own<tenon_device>(new Device{i});
    return TENON_OK;
  }
  return TENON_NOT_FOUND;
}
void device_close(tenon_device* device) { delete own<Device>(device); }

tenon_status device_domains(tenon_device* device, const tenon_domain_sink* sink, tenon_error* error) {
  const int which = own<Device>(device)->which;
  if (which == 0) return TENON_OK;
  tenon_domain_info info{};
  info.struct_size = sizeof(info);
  info.flags = TENON_DOMAIN_HOST_ADDRESS;
  info.id = 1;
  info.alignment = which == 1 ? 48 : 64;
  info.name = to_str("crooked");
  return sink->add(sink->context, &info, error);
}

tenon_status allocate(tenon_device*, const tenon_allocate_params* params, tenon_allocation* out,
                      tenon_error*) {
  auto* block = static_cast<char*>(::operator new(params->bytes + 128));
  out->buffer = own<tenon_buffer>(block);
  out->address = block + (64 - reinterpret_cast<uintptr_t>(block) % 64) % 64 + 8;
  return TENON_OK;
}
void free_buffer(tenon_device*, tenon_buffer* buffer, tenon_stream*) { ::operator delete(own<char>(buffer)); }
tenon_status copy(tenon_device*, const tenon_copy_params* params, tenon_error*) {
  std::memmove(params->destination.data, params->source.data, params->bytes);
  return TENON_OK;
}

tenon_status instance_create(tenon_device*, const tenon_instance_params* params, tenon_instance** out,
                             tenon_error*) {
  auto* instance = new Instance;
  for (uint32_t i = 0; i < params->option_count; ++i) {
    if (view(params->options[i].name) == "rule") instance->rule = params->options[i].i;
  }
  *out = own<tenon_instance>(instance);
  return TENON_OK;
}
void instance_destroy(tenon_instance* instance) { delete own<Instance>(instance); }

// ---- Capability ----

class Answer {
 public:
  explicit Answer(const tenon_claim_sink* sink) : sink_(sink) {}
  void claim(const std::vector<uint32_t>& nodes, uint32_t domain = 0, uint32_t value = TENON_NO_INDEX) const {
    const tenon_claim_value traits{value, TENON_CLAIM_SHAPE_INPUT, 0, 0};
    tenon_claim claim{};
    claim.struct_size = sizeof(claim);
    claim.nodes = nodes.data();
    claim.node_count = static_cast<uint32_t>(nodes.size());
    claim.values = &traits;
    claim.value_count = value == TENON_NO_INDEX ? 0 : 1;
    claim.input_domain = claim.output_domain = domain;
    sink_->claim(sink_->context, &claim, nullptr);
  }

 private:
  const tenon_claim_sink* sink_;
};

/// Nodes in the order of the graphs in the tests: a, b, c (a -> b -> c), or a, b, c, d (a -> b, c -> d).
void break_rule(int64_t rule, const Answer& answer, const std::vector<uint32_t>& open) {
  const auto count = static_cast<uint32_t>(open.size());
  switch (rule) {
    case 22:
      answer.claim({});
      answer.claim({0, 0});
      answer.claim({count + 7});
      break;
    case 23:
      for (uint32_t n = 0; n < 3; ++n) answer.claim({n});
      break;
    case 24:
      answer.claim({0});
      answer.claim({0, 1});
      break;
    case 25:
      answer.claim({0, 2});
      break;
    case 26:
      answer.claim({0, 3});
      answer.claim({1, 2});
      break;
    case 27:
      answer.claim({0}, 77);
      answer.claim({1}, 0, 4711);
      break;
    case 28:
      answer.claim({0});
      break;
    default:
      for (const uint32_t n : open) answer.claim({n});
  }
}

/// Whether the node has one float32 input and one float32 output, so that copying works.
bool can_copy(const tenon_graph* graph, const tenon_node_info& node) {
  if (node.input_count != 1 || node.output_count != 1) return false;
  for (const uint32_t value : {node.inputs[0], node.outputs[0]}) {
    tenon_value_info info{};
    info.struct_size = sizeof(info);
    if (g_host->graph_value(graph, value, &info) != TENON_OK) return false;
    if (info.kind != TENON_KIND_TENSOR || info.dtype != TENON_FLOAT32) return false;
  }
  return view(node.op_type) == "Relu" || view(node.op_type) == "Identity";
}

void reject(const tenon_claim_sink* sink, uint32_t n, std::string_view op) {
  const std::string text = "operator " + std::string(op) + " with these types is not copied";
  tenon_rejection rejection{};
  rejection.struct_size = sizeof(rejection);
  rejection.node = n;
  rejection.code = TENON_REJECT_OPERATOR;
  rejection.text = to_str(text);
  sink->reject(sink->context, &rejection, nullptr);
}

tenon_status capability(tenon_instance* instance, const tenon_graph* graph, const tenon_claim_sink* sink,
                        tenon_error*) {
  tenon_graph_info info{};
  info.struct_size = sizeof(info);
  g_host->graph_info(graph, &info);
  std::vector<uint32_t> open;
  for (uint32_t n = 0; n < info.node_count; ++n) {
    tenon_node_info node{};
    node.struct_size = sizeof(node);
    g_host->graph_node(graph, n, &node);
    if ((node.flags & TENON_NODE_TAKEN) != 0) continue;
    if (can_copy(graph, node)) {
      open.push_back(n);
    } else {
      reject(sink, n, view(node.op_type));
    }
  }
  break_rule(own<Instance>(instance)->rule, Answer(sink), open);
  return TENON_OK;
}

// ---- Programs: handles of programs are the instance itself ----

tenon_status compile(tenon_instance* instance, const tenon_compile_args*, tenon_program** out, tenon_error*) {
  if (own<Instance>(instance)->rule != 32) *out = own<tenon_program>(instance);
  return TENON_OK;
}
void program_destroy(tenon_program*) {}

tenon_status prepare(tenon_program* program, tenon_prepare_args* args, tenon_prepared** out, tenon_error*) {
  tenon_shape& shape = args->outputs[0];
  shape.flags = TENON_SHAPE_KNOWN;
  shape.rank = args->inputs[0].rank;
  std::copy_n(args->inputs[0].dims, shape.rank, shape.dims);
  switch (own<Instance>(program)->rule) {
    case 33:
      shape.dims[0] += 1;
      break;
    case 34:
      shape.dims[0] = -5;
      break;
    case 35:
      args->aliases[0] = {TENON_ALIAS_MAY_OVERWRITE, 9, 0};
      break;
    case 36:
      args->workspace_bytes = 64;
      args->workspace_domain = 5;
      break;
    case 37:
      shape.flags = 0;
      break;
    case 40:
      shape.flags = TENON_SHAPE_AT_RUN;
      break;
    default:
      break;
  }
  *out = own<tenon_prepared>(program);
  return TENON_OK;
}
void prepared_destroy(tenon_prepared*) {}

tenon_status run(const tenon_run_args* args, tenon_error* error) {
  const int64_t rule = own<Instance>(args->program)->rule;
  if (rule == 40) return TENON_OK;  // makes no output
  if (rule == 41) {                 // allocates an output that exists already
    tenon_tensor out{};
    return g_host->alloc_output(args->run, 0, args->outputs[0].rank, args->outputs[0].dims, &out, error);
  }
  std::memcpy(args->outputs[0].data, args->inputs[0].data, args->outputs[0].byte_size);
  return TENON_OK;
}

constexpr tenon_ep_api make_api() {
  tenon_ep_api api{};
  api.struct_size = sizeof(api);
  api.abi_minor = TENON_EP_ABI_MINOR;
  api.provider_create = provider_create;
  api.provider_destroy = provider_destroy;
  api.enumerate_devices = enumerate_devices;
  api.device_open = device_open;
  api.device_close = device_close;
  api.device_domains = device_domains;
  api.allocate = allocate;
  api.free = free_buffer;
  api.copy = copy;
  api.instance_create = instance_create;
  api.instance_destroy = instance_destroy;
  api.capability = capability;
  api.compile = compile;
  api.program_destroy = program_destroy;
  api.prepare = prepare;
  api.prepared_destroy = prepared_destroy;
  api.run = run;
  return api;
}
constexpr tenon_ep_api kApi = make_api();

}  // namespace

extern "C" TENON_EP_EXPORT tenon_status tenon_ep_negotiate(tenon_ep_negotiation* io) {
  if (io->struct_size < sizeof(*io)) return TENON_INVALID_ARGUMENT;
  const bool fits = io->host_major == TENON_EP_ABI_MAJOR && io->host_minor >= TENON_EP_ABI_OLDEST_MINOR &&
                    io->host_oldest_minor <= TENON_EP_ABI_MINOR;
  if (!fits) {
    std::strcpy(io->reason, "built for another ABI");
    return TENON_FAILED_PRECONDITION;
  }
  g_host = io->host;
  io->major = TENON_EP_ABI_MAJOR;
  io->minor = std::min<uint32_t>(io->host_minor, TENON_EP_ABI_MINOR);
  io->sanitizer = tenon::ep::own_sanitizer();
  std::strcpy(io->provider_id, TENON_PROVIDER_ID);
  std::strcpy(io->provider_version, TENON_PROVIDER_VERSION);
  io->api = &kApi;
  return TENON_OK;
}
