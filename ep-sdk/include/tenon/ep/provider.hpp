// The table of a provider, made from its classes: TENON_PROVIDER(Traits).
//
// Traits names the classes and the provider itself. A function of the table calls the member beside it; functions whose
// class or member is absent stay NULL. Members throw Error (fail()); no exception crosses the border.
//
//   Traits       kId, kVersion, and optionally kBuildId
//                kMinMinor                         optional: the oldest minor of the ABI that a host may have, from MIN_MINOR
//                                                  of tenon_add_provider(); it is in TENON_PROVIDER_MIN_MINOR
//                static std::string refuse()        optional: why this machine or process cannot run it; empty: it can
//                static void enter()                optional: called first in every function that can fail
//   Provider     Provider(const tenon_provider_params&)                      provider_create
//                void devices(const DeviceSink&)                             enumerate_devices
//                void quiesce(int64_t timeout_ns)                            quiesce, optional
//                const void* extension(std::string_view id, uint32_t least)  get_extension, optional
//   Device       Device(Provider&, std::string_view stable_id)               device_open
//                void domains(const DomainSink&)                             device_domains, optional like all below
//                Allocation allocate(uint32_t domain, uint64_t bytes, Stream*)
//                void free(tenon_buffer*, Stream*)
//                void copy(const tenon_location& to, const tenon_location& from, uint64_t bytes, Stream*)
//                  with times also `uint64_t work_id` at the end
//                void* map(tenon_buffer*, uint64_t byte_offset, uint64_t bytes, uint32_t flags)
//                void unmap(tenon_buffer*, void* address)                    map and unmap: both or none
//                tenon_memory_info memory()                                  device_memory
//                void trim()                                                 device_trim
//   Instance     Instance(Device&, const tenon_instance_params&)             instance_create
//                void offer(const tenon_graph*, const tenon_claim_sink*)     capability
//   Program      Program(Instance&, const tenon_compile_args&)               compile
//                P prepare(tenon_prepare_args&)                              prepare; P: a unique_ptr
//                void run(const tenon_run_args&)                             run, when there is no Binding
//                const std::string& place()                                  optional: stands in the errors of its Runs
//   Binding      Binding(const tenon_bind_args&)                             bind, optional
//                void run(const tenon_run_args&)                             run
//   Stream       Stream(Instance&)                                           stream_create, optional
//                  with times Stream(Instance&, const tenon_stream_params&)
//                void flush(); uint64_t point()                              stream_flush, stream_point
//                void wait(Stream& other, uint64_t point)                    stream_wait
//                void wait_point(uint64_t point, int64_t timeout_ns)         point_wait
//                void times(const TimeSink&)                                 stream_times, optional
//                void record_begin()                                         with Recording
//                std::unique_ptr<Recording> record_end()                     with Recording; also ends it when it throws
//   Recording    void run(Stream&)                                           recording_run, optional
//
// Work that fails after the call that enqueued it is reported by wait_point: Error{code, text, TENON_ERROR_ASYNC, place}.
// A destructor is the function that destroys. Structs of arguments, other than those of prepare and run, are copies whose
// fields beyond the host's size are zero. Of what a member returns, the host's struct takes what it has room for.
#ifndef TENON_EP_PROVIDER_HPP_
#define TENON_EP_PROVIDER_HPP_

#include <memory>

#include "tenon/ep/negotiate.hpp"
#include "tenon/ep/sinks.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// Memory that a device gave. `address` is NULL in a domain without HOST_ADDRESS and DEVICE_ADDRESS.
struct Allocation {
  tenon_buffer* buffer = nullptr;
  void* address = nullptr;
};

namespace detail {

template <class Traits>
struct StreamOf {
  using type = void;
};
template <class Traits>
requires requires { typename Traits::Stream; }
struct StreamOf<Traits> {
  using type = typename Traits::Stream;
};

}  // namespace detail

template <class T>
class Provider {
 public:
  static tenon_status negotiate(tenon_ep_negotiation* io) noexcept {
    return ep::negotiate(io, {.id = T::kId,
                              .version = T::kVersion,
                              .build_id = build_id(),
                              .api = &kApi,
                              .refuse = refuse,
                              .min_minor = min_minor()});
  }

 private:
  using Stream = typename detail::StreamOf<T>::type;
  using PreparedPtr =
      decltype(std::declval<typename T::Program&>().prepare(std::declval<tenon_prepare_args&>()));

  static constexpr bool kBinds = requires { typename T::Binding; };
  static constexpr bool kStreams = !std::is_void_v<Stream>;
  static constexpr bool kRecords = requires { typename T::Recording; };
  static constexpr bool kTimes = requires { &Stream::times; };
  static constexpr bool kReadsStreamParams =
      std::is_constructible_v<Stream, typename T::Instance&, const tenon_stream_params&>;
  static_assert(kReadsStreamParams || !kTimes, "times need the flags of tenon_stream_params");
  static_assert(kStreams || !kRecords, "Recording needs a Stream");
  static_assert(
      kRecords || !requires { &Stream::record_begin; }, "a Stream that records needs a Recording");
  static constexpr bool kOwnsMemory = requires(typename T::Device & device, const DomainSink& sink) {
    device.domains(sink);
  };
  // By name, so that another signature is an error and not an absent function.
  static constexpr bool kMaps = requires { &T::Device::map; }
  || requires { &T::Device::unmap; };
  static_assert(kOwnsMemory || !kMaps, "map needs the domains of the device");

  static constexpr std::string_view build_id() {
    if constexpr (requires { T::kBuildId; }) {
      return T::kBuildId;
    } else {
      return {};
    }
  }
  static constexpr uint32_t min_minor() {
    if constexpr (requires { T::kMinMinor; }) {
      static_assert(T::kMinMinor >= TENON_EP_ABI_OLDEST_MINOR && T::kMinMinor <= TENON_EP_ABI_MINOR,
                    "kMinMinor is not a minor of this SDK");
      return T::kMinMinor;
    } else {
      return TENON_EP_ABI_OLDEST_MINOR;
    }
  }
  static std::string refuse() {
    std::string reason;
    if constexpr (requires { T::refuse(); }) reason = T::refuse();
    return reason;
  }

  /// Runs `body` at the border; `place` stands in its errors.
  template <class Body>
  static tenon_status call(tenon_error* error, std::string_view place, Body&& body) noexcept {
    try {
      if constexpr (requires { T::enter(); }) T::enter();
      body();
      return TENON_OK;
    } catch (...) {
      return report(error, place);
    }
  }
  template <class Body>
  static tenon_status call(tenon_error* error, Body&& body) noexcept {
    return call(error, {}, body);
  }
  template <class Object, class Handle, class... Args>
  static tenon_status make(Handle** out, tenon_error* error, Args&&... args) noexcept {
    return call(error, [&] {
      *out = reinterpret_cast<Handle*>(std::make_unique<Object>(std::forward<Args>(args)...).release());
    });
  }
  static std::string_view place_of(tenon_program* program) {
    if constexpr (requires(typename T::Program & p) { p.place(); }) {
      return as<typename T::Program>(program)->place();
    } else {
      return {};
    }
  }
  template <class Object, class Handle>
  static Object* as(Handle* handle) {
    return reinterpret_cast<Object*>(handle);
  }
  template <class Object, class Handle>
  static void destroy(Handle* handle) noexcept {
    delete as<Object>(handle);
  }

  // ---- Provider, devices, instances ----

  static tenon_status provider_create(const tenon_provider_params* params, tenon_provider** out,
                                      tenon_error* error) {
    return make<typename T::Provider>(out, error, read_struct(params));
  }
  static tenon_status enumerate_devices(tenon_provider* provider, const tenon_device_sink* sink,
                                        tenon_error* error) {
    return call(error, [&] { as<typename T::Provider>(provider)->devices(DeviceSink(sink)); });
  }
  static tenon_status device_open(tenon_provider* provider, const tenon_device_params* params,
                                  tenon_device** out, tenon_error* error) {
    return make<typename T::Device>(out, error, *as<typename T::Provider>(provider),
                                    view(read_struct(params).stable_id));
  }
  static tenon_status instance_create(tenon_device* device, const tenon_instance_params* params,
                                      tenon_instance** out, tenon_error* error) {
    return make<typename T::Instance>(out, error, *as<typename T::Device>(device), read_struct(params));
  }
  static tenon_status quiesce(tenon_provider* provider, int64_t timeout_ns, tenon_error* error) {
    return call(error, [&] { as<typename T::Provider>(provider)->quiesce(timeout_ns); });
  }
  static const void* get_extension(tenon_provider* provider, tenon_str id, uint32_t least) noexcept {
    return as<typename T::Provider>(provider)->extension(view(id), least);
  }

  // ---- From a graph to a Run ----

  static tenon_status capability(tenon_instance* instance, const tenon_graph* graph,
                                 const tenon_claim_sink* sink, tenon_error* error) {
    return call(error, [&] { as<typename T::Instance>(instance)->offer(graph, sink); });
  }
  static tenon_status compile(tenon_instance* instance, const tenon_compile_args* args, tenon_program** out,
                              tenon_error* error) {
    return make<typename T::Program>(out, error, *as<typename T::Instance>(instance), read_struct(args));
  }
  static tenon_status prepare(tenon_program* program, tenon_prepare_args* args, tenon_prepared** out,
                              tenon_error* error) {
    return call(error, place_of(program), [&] {
      *out = reinterpret_cast<tenon_prepared*>(as<typename T::Program>(program)->prepare(*args).release());
    });
  }
  static void prepared_destroy(tenon_prepared* prepared) noexcept {
    const PreparedPtr owned(as<typename PreparedPtr::element_type>(prepared));
  }
  static tenon_status run(const tenon_run_args* args, tenon_error* error) noexcept {
    return call(error, place_of(args->program), [&] {
      if constexpr (kBinds) {
        require(args->binding != nullptr, TENON_INTERNAL, "the host runs without a binding");
        as<typename T::Binding>(args->binding)->run(*args);
      } else {
        as<typename T::Program>(args->program)->run(*args);
      }
    });
  }
  static tenon_status bind(const tenon_bind_args* args, tenon_binding** out, tenon_error* error) {
    return call(error, place_of(args->program),
                [&] { *out = reinterpret_cast<tenon_binding*>(new typename T::Binding(read_struct(args))); });
  }

  // ---- Memory ----

  static tenon_status device_domains(tenon_device* device, const tenon_domain_sink* sink,
                                     tenon_error* error) {
    return call(error, [&] { as<typename T::Device>(device)->domains(DomainSink(sink)); });
  }
  static tenon_status device_memory(tenon_device* device, tenon_memory_info* out, tenon_error* error) {
    return call(error, [&] { write_struct(out, as<typename T::Device>(device)->memory()); });
  }
  static tenon_status device_trim(tenon_device* device, tenon_error* error) {
    return call(error, [&] { as<typename T::Device>(device)->trim(); });
  }
  static tenon_status allocate(tenon_device* device, const tenon_allocate_params* params,
                               tenon_allocation* out, tenon_error* error) {
    return call(error, [&] {
      const tenon_allocate_params wanted = read_struct(params);
      const Allocation made =
          as<typename T::Device>(device)->allocate(wanted.domain, wanted.bytes, as<Stream>(wanted.stream));
      write_struct(out, tenon_allocation{0, 0, made.buffer, made.address});
    });
  }
  static void free(tenon_device* device, tenon_buffer* buffer, tenon_stream* stream) noexcept {
    as<typename T::Device>(device)->free(buffer, as<Stream>(stream));
  }
  static tenon_status copy(tenon_device* device, const tenon_copy_params* params, tenon_error* error) {
    return call(error, [&] {
      const tenon_copy_params wanted = read_struct(params);
      auto& to = *as<typename T::Device>(device);
      auto* const stream = as<Stream>(wanted.stream);
      if constexpr (kTimes) {
        to.copy(wanted.destination, wanted.source, wanted.bytes, stream, wanted.work_id);
      } else {
        to.copy(wanted.destination, wanted.source, wanted.bytes, stream);
      }
    });
  }
  static tenon_status map(tenon_device* device, const tenon_map_params* params, void** out_address,
                          tenon_error* error) {
    return call(error, [&] {
      const tenon_map_params wanted = read_struct(params);
      *out_address =
          as<typename T::Device>(device)->map(wanted.buffer, wanted.byte_offset, wanted.bytes, wanted.flags);
    });
  }
  static void unmap(tenon_device* device, tenon_buffer* buffer, void* address) noexcept {
    as<typename T::Device>(device)->unmap(buffer, address);
  }

  // ---- Streams and recordings ----

  static tenon_status stream_create(tenon_instance* instance, const tenon_stream_params* params,
                                    tenon_stream** out, tenon_error* error) {
    auto& of = *as<typename T::Instance>(instance);
    if constexpr (kReadsStreamParams) {
      return make<Stream>(out, error, of, read_struct(params));
    } else {
      static_cast<void>(params);
      return make<Stream>(out, error, of);
    }
  }
  static tenon_status stream_flush(tenon_stream* stream, tenon_error* error) {
    return call(error, [&] { as<Stream>(stream)->flush(); });
  }
  static tenon_status stream_point(tenon_stream* stream, uint64_t* out_point, tenon_error* error) {
    return call(error, [&] { *out_point = as<Stream>(stream)->point(); });
  }
  static tenon_status stream_wait(tenon_stream* stream, tenon_stream* other, uint64_t point,
                                  tenon_error* error) {
    return call(error, [&] { as<Stream>(stream)->wait(*as<Stream>(other), point); });
  }
  static tenon_status point_wait(tenon_stream* stream, uint64_t point, int64_t timeout_ns,
                                 tenon_error* error) {
    return call(error, [&] { as<Stream>(stream)->wait_point(point, timeout_ns); });
  }
  static tenon_status stream_times(tenon_stream* stream, const tenon_time_sink* sink, tenon_error* error) {
    return call(error, [&] { as<Stream>(stream)->times(TimeSink(sink)); });
  }
  static tenon_status record_begin(tenon_stream* stream, tenon_error* error) {
    return call(error, [&] { as<Stream>(stream)->record_begin(); });
  }
  static tenon_status record_end(tenon_stream* stream, tenon_recording** out, tenon_error* error) {
    return call(error, [&] {
      std::unique_ptr<typename T::Recording> made = as<Stream>(stream)->record_end();
      if (out != nullptr) *out = reinterpret_cast<tenon_recording*>(made.release());
    });
  }
  static tenon_status recording_run(tenon_recording* recording, tenon_stream* stream, tenon_error* error) {
    return call(error, [&] { as<typename T::Recording>(recording)->run(*as<Stream>(stream)); });
  }

  static constexpr tenon_ep_api make_api() {
    tenon_ep_api api{};
    api.struct_size = sizeof(api);
    api.abi_minor = TENON_EP_ABI_MINOR;
    api.provider_create = provider_create;
    api.provider_destroy = destroy<typename T::Provider, tenon_provider>;
    api.enumerate_devices = enumerate_devices;
    api.device_open = device_open;
    api.device_close = destroy<typename T::Device, tenon_device>;
    if constexpr (kOwnsMemory) {
      api.device_domains = device_domains;
      api.allocate = allocate;
      api.free = free;
      api.copy = copy;
    }
    if constexpr (requires(typename T::Device & device) { device.memory(); })
      api.device_memory = device_memory;
    if constexpr (requires(typename T::Device & device) { device.trim(); }) api.device_trim = device_trim;
    if constexpr (kMaps) {
      api.map = map;
      api.unmap = unmap;
    }
    api.instance_create = instance_create;
    api.instance_destroy = destroy<typename T::Instance, tenon_instance>;
    api.capability = capability;
    api.compile = compile;
    api.program_destroy = destroy<typename T::Program, tenon_program>;
    api.prepare = prepare;
    api.prepared_destroy = prepared_destroy;
    if constexpr (kBinds) {
      api.bind = bind;
      api.unbind = destroy<typename T::Binding, tenon_binding>;
    }
    api.run = run;
    if constexpr (kStreams) {
      api.stream_create = stream_create;
      api.stream_destroy = destroy<Stream, tenon_stream>;
      api.stream_flush = stream_flush;
      api.stream_point = stream_point;
      api.stream_wait = stream_wait;
      api.point_wait = point_wait;
    }
    if constexpr (kTimes) api.stream_times = stream_times;
    if constexpr (kRecords) {
      api.record_begin = record_begin;
      api.record_end = record_end;
      api.recording_run = recording_run;
      api.recording_destroy = destroy<typename T::Recording, tenon_recording>;
    }
    if constexpr (requires(typename T::Provider & provider) { provider.quiesce(int64_t{}); })
      api.quiesce = quiesce;
    if constexpr (requires(typename T::Provider & provider) { provider.extension(std::string_view(), 0u); })
      api.get_extension = get_extension;
    return api;
  }
  static constexpr tenon_ep_api kApi = make_api();
};

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

/// Defines the library's one exported function.
#define TENON_PROVIDER(...)                                                              \
  extern "C" TENON_EP_EXPORT tenon_status tenon_ep_negotiate(tenon_ep_negotiation* io) { \
    return ::tenon::ep::Provider<__VA_ARGS__>::negotiate(io);                            \
  }

#endif  // TENON_EP_PROVIDER_HPP_
