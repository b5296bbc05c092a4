// The function table of the fake accelerator.
#include <algorithm>
#include <memory>
#include <vector>

#include "claims.h"
#include "device.h"
#include "program.h"
#include "stream.h"

namespace accelerator {
namespace {

template <class T, class Handle>
T* own(Handle* handle) {
  return reinterpret_cast<T*>(handle);
}

tenon_status provider_create(const tenon_provider_params* params, tenon_provider** out, tenon_error* error) {
  return guard(error, [&] {
    auto provider = std::make_unique<Provider>();
    provider->host = params->host;
    *out = own<tenon_provider>(provider.release());
  });
}
void provider_destroy(tenon_provider* provider) { delete own<Provider>(provider); }

tenon_status enumerate_devices(tenon_provider*, const tenon_device_sink* sink, tenon_error* error) {
  for (const DeviceKind& kind : kDevices) {
    tenon_device_info info{};
    info.struct_size = sizeof(info);
    info.kind = TENON_DEVICE_NPU;
    info.serialize = kind.serialize;
    info.stable_id = to_str(kind.stable_id);
    info.name = to_str(kind.name);
    info.vendor = to_str("Tenon tests");
    if (const tenon_status status = sink->add(sink->context, &info, error); status != TENON_OK) return status;
  }
  return TENON_OK;
}

tenon_status device_open(tenon_provider* provider, tenon_str id, tenon_device** out, tenon_error* error) {
  return guard(error, [&] {
    for (const DeviceKind& kind : kDevices) {
      if (view(id) != kind.stable_id) continue;
      if (own<Provider>(provider)->lost) {
        throw Failure{TENON_UNAVAILABLE, "the driver is lost",
                      TENON_ERROR_DEVICE_LOST | TENON_ERROR_PROCESS_LOST};
      }
      *out = own<tenon_device>(new Device(*own<Provider>(provider), kind));
      return;
    }
    fail(TENON_NOT_FOUND, "there is no device '", view(id), "'");
  });
}
void device_close(tenon_device* device) { delete own<Device>(device); }

tenon_status device_domains(tenon_device* device, const tenon_domain_sink* sink, tenon_error* error) {
  tenon_domain_info info{};
  info.struct_size = sizeof(info);
  info.id = kDeviceDomain;
  info.alignment = kAlignment;
  info.max_buffer_bytes = own<Device>(device)->kind.max_buffer_bytes;
  info.flags = own<Device>(device)->kind.domain_flags;
  info.name = to_str("device memory");
  return sink->add(sink->context, &info, error);
}

tenon_status allocate(tenon_device* device, uint32_t domain, uint64_t bytes, tenon_stream*,
                      tenon_buffer** out_buffer, void** out_address, tenon_error* error) {
  return guard(error, [&] {
    require(domain == kDeviceDomain, TENON_INVALID_ARGUMENT, "there is no memory domain ", domain);
    *out_buffer = own<Device>(device)->memory.allocate(bytes);
    *out_address = nullptr;
  });
}
void free_buffer(tenon_device* device, tenon_buffer* buffer, tenon_stream*) {
  own<Device>(device)->memory.free(buffer);
}

tenon_status map(tenon_device* device, tenon_buffer* buffer, uint64_t byte_offset, uint64_t bytes,
                 void** out_address, tenon_error* error) {
  return guard(error, [&] {
    require(own<Device>(device)->kind.domain_flags == TENON_DOMAIN_HOST_VISIBLE, TENON_INTERNAL,
            "the host maps memory that is not host-visible");
    *out_address = own<Device>(device)->memory.open(buffer, byte_offset, bytes);
  });
}
void unmap(tenon_device* device, tenon_buffer* buffer, void*) { own<Device>(device)->memory.close(buffer); }

/// Does the work now, or enqueues it if there is a stream.
template <class Work>
void submit(tenon_stream* stream, Work work) {
  if (stream == nullptr) return work();
  own<Stream>(stream)->enqueue(std::move(work));
}

tenon_status copy(tenon_device* device, const tenon_location* destination, const tenon_location* source,
                  uint64_t bytes, tenon_stream* stream, tenon_error* error) {
  return guard(error, [&] {
    auto work = [&memory = own<Device>(device)->memory, to = *destination, from = *source, bytes] {
      Access access(memory);
      const auto open = [&](const tenon_location& place) {
        return place.domain == TENON_DOMAIN_HOST ? static_cast<std::byte*>(place.data)
                                                 : access.open(place.buffer, place.byte_offset, bytes);
      };
      std::memmove(open(to), open(from), bytes);
    };
    own<Device>(device)->check_lost();
    submit(stream, work);
  });
}

tenon_status instance_create(tenon_device* device, const tenon_instance_params* params, tenon_instance** out,
                             tenon_error* error) {
  return guard(error, [&] {
    auto instance = std::make_unique<Instance>(*own<Device>(device), *params);
    instance->maybe_fail("instance");
    *out = own<tenon_instance>(instance.release());
  });
}
void instance_destroy(tenon_instance* instance) { delete own<Instance>(instance); }

tenon_status capability(tenon_instance* instance, const tenon_graph* graph, const tenon_claim_sink* sink,
                        tenon_error* error) {
  return guard(error, [&] {
    own<Instance>(instance)->maybe_fail("capability");
    offer(*own<Instance>(instance), graph, sink);
  });
}

tenon_status compile(tenon_instance* instance, const tenon_compile_args* args, tenon_program** out,
                     tenon_error* error) {
  return guard(error, [&] { *out = own<tenon_program>(new Program(*own<Instance>(instance), *args)); });
}
void program_destroy(tenon_program* program) { delete own<Program>(program); }

tenon_status prepare(tenon_program* program, tenon_prepare_args* args, tenon_prepared** out,
                     tenon_error* error) {
  return guard(error, [&] { *out = own<tenon_prepared>(new Prepared(*own<Program>(program), *args)); });
}
void prepared_destroy(tenon_prepared* prepared) { delete own<Prepared>(prepared); }

tenon_status bind(const tenon_bind_args* args, tenon_binding** out, tenon_error* error) {
  return guard(error, [&] { *out = own<tenon_binding>(new Binding(*args)); });
}
void unbind(tenon_binding* binding) { delete own<Binding>(binding); }

/// Checks that a device with TENON_SERIALIZE_DEVICE gets one Run at a time.
class OneAtATime {
 public:
  explicit OneAtATime(Device& device) : device_(device) {
    const bool alone = ++device_.running == 1;
    if (alone || device_.kind.serialize != TENON_SERIALIZE_DEVICE) return;
    --device_.running;
    fail(TENON_INTERNAL, "the host runs twice at once on a device that asks for one Run at a time");
  }
  ~OneAtATime() { --device_.running; }
  OneAtATime(const OneAtATime&) = delete;
  OneAtATime& operator=(const OneAtATime&) = delete;

 private:
  Device& device_;
};

tenon_status run(const tenon_run_args* args, tenon_error* error) {
  return guard(error, [&] {
    auto* binding = own<Binding>(args->binding);
    Instance& instance = own<Program>(args->program)->instance;
    require(binding != nullptr, TENON_INTERNAL, "the host runs without a binding");
    const OneAtATime alone(instance.device);
    instance.device.check_lost();
    instance.maybe_fail("run");
    instance.maybe_fail("memory");
    instance.maybe_wait("wait_run", args->cancel);
    instance.maybe_fail("lost");
    instance.maybe_fail("lost_process");
    require(!binding->busy.exchange(true), TENON_INTERNAL, "the host runs a binding that is still at work");
    submit(args->stream, [binding, &instance] {
      struct Done {
        Binding* binding;
        ~Done() { binding->busy = false; }
      } done{binding};
      instance.maybe_fail("run_async");
      binding->execute();
    });
  });
}

tenon_status stream_create(tenon_instance* instance, tenon_stream** out, tenon_error* error) {
  return guard(error,
               [&] { *out = own<tenon_stream>(new Stream(own<Instance>(instance)->options.latency_us)); });
}
void stream_destroy(tenon_stream* stream) { delete own<Stream>(stream); }
tenon_status stream_flush(tenon_stream* stream, tenon_error* error) {
  return guard(error, [&] { own<Stream>(stream)->flush(); });
}
tenon_status stream_wait_event(tenon_stream* stream, tenon_event* event, tenon_error* error) {
  return guard(error, [&] {
    // A copy, because the event may be recorded again before the stream gets here.
    own<Stream>(stream)->enqueue([at = *own<Event>(event)]() mutable { at.wait(-1); });
  });
}
tenon_status event_create(tenon_instance*, tenon_event** out, tenon_error* error) {
  return guard(error, [&] { *out = own<tenon_event>(new Event); });
}
void event_destroy(tenon_event* event) { delete own<Event>(event); }
tenon_status event_record(tenon_event* event, tenon_stream* stream, tenon_error* error) {
  return guard(error, [&] { own<Stream>(stream)->record(*own<Event>(event)); });
}
tenon_status event_wait(tenon_event* event, int64_t timeout_ns, tenon_error* error) {
  return guard(error, [&] { own<Event>(event)->wait(timeout_ns); });
}

tenon_status quiesce(tenon_provider* provider, int64_t, tenon_error* error) {
  return guard(error, [&] {
    require(own<Provider>(provider)->devices_open == 0, TENON_FAILED_PRECONDITION, "a device is still open");
  });
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
  api.map = map;
  api.unmap = unmap;
  api.copy = copy;
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
  api.quiesce = quiesce;
  return api;
}
constexpr tenon_ep_api kApi = make_api();

void copy_text(char* to, size_t room, std::string_view text) {
  const size_t n = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
}

constexpr uint32_t sanitizer() {
#if defined(__SANITIZE_ADDRESS__)
  return TENON_SANITIZER_ADDRESS;
#elif defined(__SANITIZE_THREAD__)
  return TENON_SANITIZER_THREAD;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return TENON_SANITIZER_ADDRESS;
#elif __has_feature(thread_sanitizer)
  return TENON_SANITIZER_THREAD;
#else
  return TENON_SANITIZER_NONE;
#endif
#else
  return TENON_SANITIZER_NONE;
#endif
}

}  // namespace
}  // namespace accelerator

extern "C" TENON_EP_EXPORT tenon_status tenon_ep_negotiate(tenon_ep_negotiation* io) {
  using namespace accelerator;
  if (io == nullptr || io->struct_size < sizeof(*io)) return TENON_INVALID_ARGUMENT;
  if (TENON_EP_ABI_MAJOR < io->host_major_lowest || TENON_EP_ABI_MAJOR > io->host_major_highest) {
    copy_text(io->reason, sizeof(io->reason), "built for another major of the ABI");
    return TENON_FAILED_PRECONDITION;
  }
  if (io->host_major_highest == TENON_EP_ABI_MAJOR && io->host_minor < TENON_EP_ABI_MINOR) {
    copy_text(io->reason, sizeof(io->reason), "built for a later minor of the ABI");
    return TENON_FAILED_PRECONDITION;
  }
  g_host = io->host;
  io->major = TENON_EP_ABI_MAJOR;
  io->minor = TENON_EP_ABI_MINOR;
  io->sanitizer = sanitizer();
  copy_text(io->provider_id, sizeof(io->provider_id), TENON_PROVIDER_ID);
  copy_text(io->provider_version, sizeof(io->provider_version), TENON_PROVIDER_VERSION);
  io->api = &kApi;
  return TENON_OK;
}
