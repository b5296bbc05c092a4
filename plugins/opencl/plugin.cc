// The function table of the OpenCL provider.
#include <memory>

#include "device.h"
#include "memory.h"
#include "program.h"
#include "stream.h"
#include "tenon/ep.hpp"

namespace tenon::opencl {
namespace {

/// Like ep::guard(), but fails in a forked child, where drivers do not work.
template <class Body>
tenon_status guard(tenon_error* error, Body&& body) noexcept {
  return ep::guard(error, [&] {
    require_own_process();
    body();
  });
}

template <class T, class Border>
T* own(Border* handle) {
  return reinterpret_cast<T*>(handle);
}

struct Provider {
  tenon_host_provider* host;
};

tenon_status provider_create(const tenon_provider_params* params, tenon_provider** out, tenon_error* error) {
  return guard(error, [&] { *out = own<tenon_provider>(new Provider{params->host}); });
}
void provider_destroy(tenon_provider* provider) { delete own<Provider>(provider); }

tenon_status enumerate_devices(tenon_provider*, const tenon_device_sink* sink, tenon_error* error) {
  return guard(error, [&] {
    for (const DeviceDescription& device : list_devices()) {
      std::vector<tenon_str> features;
      for (const std::string& feature : device.features) features.push_back(ep::to_str(feature));
      ep::DeviceSink(sink).add(
          {.kind = device.kind,
           .stable_id = device.stable_id,
           .name = device.name,
           .vendor = device.vendor,
           .memory_bytes = device.memory_bytes,
           .flags = device.is_emulated ? static_cast<uint32_t>(TENON_DEVICE_SOFTWARE_EMULATED) : 0u,
           .serialize = TENON_SERIALIZE_BINDING,
           .features = features});
    }
  });
}

tenon_status device_open(tenon_provider*, tenon_str id, tenon_device** out, tenon_error* error) {
  return guard(error, [&] {
    for (const DeviceDescription& device : list_devices()) {
      if (device.stable_id != ep::view(id)) continue;
      *out = own<tenon_device>(new Device(device));
      return;
    }
    ep::fail(TENON_NOT_FOUND, "there is no OpenCL device '", ep::view(id), "'");
  });
}
void device_close(tenon_device* device) { delete own<Device>(device); }

tenon_status device_domains(tenon_device* device, const tenon_domain_sink* sink, tenon_error* error) {
  return guard(error, [&] {
    const tenon_domain_info info = domain_of(*own<Device>(device));
    ep::call_sink(sink->add, sink->context, &info);
  });
}

tenon_status allocate_buffer(tenon_device* device, uint32_t domain, uint64_t bytes, tenon_stream*,
                             tenon_buffer** out_buffer, void** out_address, tenon_error* error) {
  return guard(error, [&] {
    ep::require(domain == kDeviceDomain, TENON_INVALID_ARGUMENT, "there is no memory domain ", domain);
    *out_buffer = allocate(*own<Device>(device), bytes);
    *out_address = nullptr;
  });
}
void free_buffer(tenon_device*, tenon_buffer* buffer, tenon_stream*) {
  const MemHandle last(from_border(buffer));  // the driver keeps it while enqueued work uses it
}

tenon_status map_buffer(tenon_device* device, tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes,
                        void** out_address, tenon_error* error) {
  return guard(error, [&] { *out_address = map(*own<Device>(device), buffer, byte_offset, bytes); });
}
void unmap_buffer(tenon_device* device, tenon_buffer* buffer, void* address) {
  unmap(*own<Device>(device), buffer, address);
}

cl_command_queue queue_of(tenon_stream* stream) {
  return stream == nullptr ? nullptr : own<Stream>(stream)->queue.get();
}

tenon_status copy_bytes(tenon_device* device, const tenon_location* destination, const tenon_location* source,
                        uint64_t bytes, tenon_stream* stream, tenon_error* error) {
  return guard(error, [&] { copy(*own<Device>(device), *destination, *source, bytes, queue_of(stream)); });
}

tenon_status instance_create(tenon_device* device, const tenon_instance_params* raw, tenon_instance** out,
                             tenon_error* error) {
  return guard(error,
               [&] { *out = own<tenon_instance>(new Instance(*own<Device>(device), ep::read_params(raw))); });
}
void instance_destroy(tenon_instance* instance) { delete own<Instance>(instance); }

tenon_status capability(tenon_instance* instance, const tenon_graph* graph, const tenon_claim_sink* sink,
                        tenon_error* error) {
  return guard(error, [&] { offer(*own<Instance>(instance), graph, sink); });
}

tenon_status compile(tenon_instance* instance, const tenon_compile_args* args, tenon_program** out,
                     tenon_error* error) {
  return guard(error,
               [&] { *out = own<tenon_program>(new CompiledNode(*own<Instance>(instance), args->graph)); });
}
void program_destroy(tenon_program* program) { delete own<CompiledNode>(program); }

/// Like guard(), with the node added to the message.
template <class Body>
tenon_status guard_node(const CompiledNode& node, tenon_error* error, Body&& body) noexcept {
  try {
    require_own_process();
    body();
    return TENON_OK;
  } catch (...) {
    return ep::report_error(error, node.place());
  }
}

tenon_status prepare(tenon_program* program, tenon_prepare_args* args, tenon_prepared** out,
                     tenon_error* error) {
  const CompiledNode& node = *own<CompiledNode>(program);
  return guard_node(node, error, [&] { *out = node.prepare(*args); });
}
void prepared_destroy(tenon_prepared* prepared) { ep::KernelNode::destroy_prepared(prepared); }

tenon_status bind(const tenon_bind_args* args, tenon_binding** out, tenon_error* error) {
  return guard_node(*own<CompiledNode>(args->program), error,
                    [&] { *out = own<tenon_binding>(new Recording(*args)); });
}
void unbind(tenon_binding* binding) { delete own<Recording>(binding); }

tenon_status run(const tenon_run_args* args, tenon_error* error) {
  const CompiledNode& node = *own<CompiledNode>(args->program);
  return guard_node(node, error, [&] {
    const Recording& recording = *own<Recording>(args->binding);
    if (args->stream != nullptr) {
      recording.enqueue(queue_of(args->stream));
      if (recording.flag() != nullptr) own<Stream>(args->stream)->flags->add(recording.flag());
      return;
    }
    recording.enqueue(node.instance().queue.get());
    check(clFinish(node.instance().queue.get()), "clFinish");
    if (recording.flag() == nullptr) return;
    if (const std::string text = recording.flag()->take(); !text.empty()) ep::fail(TENON_OUT_OF_RANGE, text);
  });
}

tenon_status stream_create(tenon_instance* instance, tenon_stream** out, tenon_error* error) {
  return guard(error, [&] { *out = own<tenon_stream>(new Stream(own<Instance>(instance)->device)); });
}
void stream_destroy(tenon_stream* stream) { delete own<Stream>(stream); }
tenon_status stream_flush(tenon_stream* stream, tenon_error* error) {
  return guard(error, [&] { own<Stream>(stream)->flush(); });
}
tenon_status stream_wait_event(tenon_stream* stream, tenon_event* event, tenon_error* error) {
  return guard(error, [&] { own<StreamEvent>(event)->hold(*own<Stream>(stream)); });
}
tenon_status event_create(tenon_instance*, tenon_event** out, tenon_error* error) {
  return guard(error, [&] { *out = own<tenon_event>(new StreamEvent); });
}
void event_destroy(tenon_event* event) { delete own<StreamEvent>(event); }
tenon_status event_record(tenon_event* event, tenon_stream* stream, tenon_error* error) {
  return guard(error, [&] { own<StreamEvent>(event)->record(*own<Stream>(stream)); });
}
tenon_status event_wait(tenon_event* event, int64_t timeout_ns, tenon_error* error) {
  return guard(error, [&] { own<StreamEvent>(event)->wait(timeout_ns); });
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
  api.allocate = allocate_buffer;
  api.free = free_buffer;
  api.map = map_buffer;
  api.unmap = unmap_buffer;
  api.copy = copy_bytes;
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
  api.stream_create = stream_create;
  api.stream_destroy = stream_destroy;
  api.stream_flush = stream_flush;
  api.stream_wait_event = stream_wait_event;
  api.event_create = event_create;
  api.event_destroy = event_destroy;
  api.event_record = event_record;
  api.event_wait = event_wait;
  return api;
}
constexpr tenon_ep_api kApi = make_api();

std::string refusal() { return ep::KernelRegistry::get().conflict(); }

}  // namespace
}  // namespace tenon::opencl

extern "C" TENON_EP_EXPORT tenon_status tenon_ep_negotiate(tenon_ep_negotiation* io) {
  return tenon::ep::negotiate(io, {.id = TENON_PROVIDER_ID,
                                   .version = TENON_PROVIDER_VERSION,
                                   .build_id = __VERSION__,
                                   .api = &tenon::opencl::kApi,
                                   .refuse = tenon::opencl::refusal});
}
