// The function table of the oneDNN provider. Claims have many nodes; values keep the library's layouts.
#include <memory>

#include "compiler/claims.h"
#include "compiler/program.h"
#include "device.h"
#include "tenon/ep.hpp"

namespace tenon::onednn {
namespace {

template <class T, class Handle>
T* own(Handle* handle) {
  return reinterpret_cast<T*>(handle);
}
template <class Handle, class T>
Handle* give(std::unique_ptr<T> object) {
  return reinterpret_cast<Handle*>(object.release());
}

tenon_status provider_create(const tenon_provider_params* params, tenon_provider** out, tenon_error* error) {
  return ep::guard(error, [&] {
    auto provider = std::make_unique<Provider>();
    provider->host = params->host;
    provider->is_tried = (params->flags & TENON_NEGOTIATE_SCAN) != 0;
    *out = give<tenon_provider>(std::move(provider));
  });
}
void provider_destroy(tenon_provider* provider) { delete own<Provider>(provider); }

tenon_status enumerate_devices(tenon_provider* provider, const tenon_device_sink* sink, tenon_error* error) {
  return ep::guard(error, [&] {
    if (own<Provider>(provider)->is_tried) load_library();
    const CpuDescription cpu = describe_cpu();
    std::vector<tenon_str> features;
    for (const std::string& feature : cpu.features) features.push_back(ep::to_str(feature));
    ep::DeviceSink(sink).add({.kind = TENON_DEVICE_CPU,
                              .stable_id = "0",
                              .name = cpu.name,
                              .vendor = "oneAPI",
                              .serialize = TENON_SERIALIZE_BINDING,
                              .features = features});
  });
}

tenon_status device_open(tenon_provider*, tenon_str id, tenon_device** out, tenon_error* error) {
  return ep::guard(error, [&] {
    ep::require(ep::view(id) == "0", TENON_NOT_FOUND, "there is no device '", ep::view(id), "'");
    *out = give<tenon_device>(std::make_unique<Device>());
  });
}
void device_close(tenon_device* device) { delete own<Device>(device); }

tenon_status instance_create(tenon_device* device, const tenon_instance_params* params, tenon_instance** out,
                             tenon_error* error) {
  return ep::guard(error, [&] {
    *out = give<tenon_instance>(
        std::make_unique<Instance>(*own<Device>(device), ep::detail::read_struct(params)));
  });
}
void instance_destroy(tenon_instance* instance) { delete own<Instance>(instance); }

tenon_status capability(tenon_instance* instance, const tenon_graph* graph, const tenon_claim_sink* sink,
                        tenon_error* error) {
  return ep::guard(error, [&] { offer(*own<Instance>(instance), graph, sink); });
}

tenon_status compile(tenon_instance* instance, const tenon_compile_args* args, tenon_program** out,
                     tenon_error* error) {
  return ep::guard(
      error, [&] { *out = give<tenon_program>(std::make_unique<Program>(*own<Instance>(instance), *args)); });
}
void program_destroy(tenon_program* program) { delete own<Program>(program); }

tenon_status prepare(tenon_program* program, tenon_prepare_args* args, tenon_prepared** out,
                     tenon_error* error) {
  return ep::guard(error, [&] { *out = give<tenon_prepared>(own<Program>(program)->prepare(*args)); });
}
void prepared_destroy(tenon_prepared* prepared) { delete own<Prepared>(prepared); }

tenon_status bind(const tenon_bind_args* args, tenon_binding** out, tenon_error* error) {
  return ep::guard(error, [&] {
    auto& prepared = *own<Prepared>(args->prepared);
    std::unique_ptr<Binding> binding(new Binding{prepared, prepared.take(), nullptr});
    binding->execution->bind(args->inputs, args->outputs,
                             args->workspace == nullptr ? nullptr : args->workspace->data);
    *out = give<tenon_binding>(std::move(binding));
  });
}
void unbind(tenon_binding* binding) {
  const std::unique_ptr<Binding> owned(own<Binding>(binding));
  owned->prepared.give_back(std::move(owned->execution));
}

tenon_status run(const tenon_run_args* args, tenon_error* error) {
  return ep::guard(error, [&] { own<Binding>(args->binding)->run(*args); });
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
  api.instance_create = instance_create;
  api.instance_destroy = instance_destroy;
  api.capability = capability;
  api.compile = compile;
  api.program_destroy = program_destroy;
  api.prepare = prepare;
  api.prepared_destroy = prepared_destroy;
  api.run = run;
  api.bind = bind;
  api.unbind = unbind;
  return api;
}
constexpr tenon_ep_api kApi = make_api();

}  // namespace
}  // namespace tenon::onednn

extern "C" TENON_EP_EXPORT tenon_status tenon_ep_negotiate(tenon_ep_negotiation* io) {
  return tenon::ep::negotiate(io, {.id = TENON_PROVIDER_ID,
                                   .version = TENON_PROVIDER_VERSION,
                                   .build_id = __VERSION__,
                                   .api = &tenon::onednn::kApi});
}
