// A complete provider with one device and no operators. With -DDEFECT_x it has one defect. Defects of
// manifests and files are made by the tests.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>

#include "tenon/ep.h"
#include "tenon/ep/negotiate.hpp"

namespace {

[[maybe_unused]] void hang() {
  while (true) pause();
}

tenon_status unimplemented(tenon_error* error) {
  if (error != nullptr) std::strcpy(error->message, "this provider runs nothing");
  return TENON_UNIMPLEMENTED;
}

int provider_storage, device_storage;

tenon_status provider_create(const tenon_provider_params*, tenon_provider** out_provider,
                             tenon_error* error) {
#if defined(DEFECT_CREATE_FAILS)
  std::strcpy(error->message, "the firmware is too old");
  return TENON_FAILED_PRECONDITION;
#elif defined(DEFECT_CREATE_THROWS)
  throw std::runtime_error("create failed");
#elif defined(DEFECT_CREATE_BAD_ALLOC)
  throw std::bad_alloc();
#endif
  (void)error;
  *out_provider = reinterpret_cast<tenon_provider*>(&provider_storage);
  return TENON_OK;
}

void provider_destroy(tenon_provider*) {
#if defined(DEFECT_DESTROY_CRASHES)
  raise(SIGSEGV);
#endif
}

tenon_status enumerate_devices(tenon_provider*, const tenon_device_sink* sink, tenon_error* error) {
#if defined(DEFECT_ENUMERATE_HANGS)
  hang();
#elif defined(DEFECT_ENUMERATE_CRASHES)
  raise(SIGSEGV);
#elif defined(DEFECT_ENUMERATE_THROWS)
  throw std::runtime_error("no driver");
#elif defined(DEFECT_ENUMERATE_EXHAUSTED)
  return TENON_RESOURCE_EXHAUSTED;
#elif defined(DEFECT_ENUMERATE_EXITS)
  _exit(0);
#elif defined(DEFECT_NO_DEVICE)
  return TENON_OK;
#elif defined(DEFECT_LEAVES_CHILD)
  static char child[32];  // the device's name holds its process id
  const pid_t pid = fork();
  if (pid == 0) hang();
  std::snprintf(child, sizeof child, "%d", static_cast<int>(pid));
#endif
  tenon_device_info info{};
  info.struct_size = sizeof info;
  info.kind = TENON_DEVICE_OTHER;
  info.stable_id = {"first", 5};
#if defined(DEFECT_LEAVES_CHILD)
  info.name = {child, std::strlen(child)};
#else
  info.name = {"Nothing", 7};
#endif
  info.vendor = {"Tests", 5};
#if defined(DEFECT_EMULATED)
  info.flags = TENON_DEVICE_SOFTWARE_EMULATED;
#endif
  return sink->add(sink->context, &info, error);
}

tenon_status device_open(tenon_provider*, [[maybe_unused]] const tenon_device_params* params,
                         tenon_device** out_device, tenon_error* error) {
#if defined(DEFECT_OPEN_FAILS)
  const bool opens = false;
#else
  const bool opens = std::string_view(params->stable_id.data, params->stable_id.size) == "first";
#endif
  if (!opens) return unimplemented(error);
  *out_device = reinterpret_cast<tenon_device*>(&device_storage);
  return TENON_OK;
}
void device_close(tenon_device*) {}
tenon_status instance_create(tenon_device*, const tenon_instance_params*, tenon_instance**,
                             tenon_error* error) {
  return unimplemented(error);
}
void instance_destroy(tenon_instance*) {}
tenon_status capability(tenon_instance*, const tenon_graph*, const tenon_claim_sink*, tenon_error* error) {
  return unimplemented(error);
}
[[maybe_unused]] tenon_status compile(tenon_instance*, const tenon_compile_args*, tenon_program**,
                                      tenon_error* error) {
  return unimplemented(error);
}
void program_destroy(tenon_program*) {}
tenon_status prepare(tenon_program*, tenon_prepare_args*, tenon_prepared**, tenon_error* error) {
  return unimplemented(error);
}
void prepared_destroy(tenon_prepared*) {}
[[maybe_unused]] tenon_status run(const tenon_run_args*, tenon_error* error) { return unimplemented(error); }

tenon_ep_api make_api() {
  tenon_ep_api api{};
  api.struct_size = sizeof api;
  api.abi_minor = TENON_EP_ABI_MINOR;
  api.provider_create = provider_create;
  api.provider_destroy = provider_destroy;
  api.enumerate_devices = enumerate_devices;
  api.device_open = device_open;
  api.device_close = device_close;
  api.instance_create = instance_create;
  api.instance_destroy = instance_destroy;
  api.capability = capability;
  api.program_destroy = program_destroy;
  api.prepare = prepare;
  api.prepared_destroy = prepared_destroy;
#if !defined(DEFECT_NULL_SLOT)
  api.compile = compile;
  api.run = run;
#endif
#if defined(DEFECT_HALF_STREAM)
  api.stream_create = [](tenon_instance*, const tenon_stream_params*, tenon_stream**, tenon_error* error) {
    return unimplemented(error);
  };
#elif defined(DEFECT_HALF_RECORD)
  api.record_begin = [](tenon_stream*, tenon_error* error) { return unimplemented(error); };
#elif defined(DEFECT_HALF_TIMES)
  api.stream_times = [](tenon_stream*, const tenon_time_sink*, tenon_error* error) {
    return unimplemented(error);
  };
#elif defined(DEFECT_HALF_MAP)
  api.map = [](tenon_device*, const tenon_map_params*, void**, tenon_error* error) {
    return unimplemented(error);
  };
#endif
#if defined(DEFECT_SHORT_STRUCT)
  api.struct_size = 64;
#endif
  return api;
}

const tenon_ep_api kApi = make_api();

#if defined(DEFECT_CONSTRUCTOR_ABORTS)
const int kAborted = (abort(), 0);
#elif defined(DEFECT_CONSTRUCTOR_HANGS)
const int kHung = (hang(), 0);
#elif defined(DEFECT_CONSTRUCTOR_EXITS)
const int kExited = (std::exit(0), 0);
#endif

}  // namespace

#if defined(DEFECT_NO_ENTRY)
#define tenon_ep_negotiate another_name
extern "C" tenon_status another_name(tenon_ep_negotiation* io);
#endif

#if defined(DEFECT_TWO_EXPORTS)
extern "C" __attribute__((visibility("default"))) int another_export() { return 1; }
#elif defined(DEFECT_UNIQUE_SYMBOL)
// What gcc makes of an inline variable with default visibility. In assembly, for all compilers.
__asm__(
    ".pushsection .data\n"
    ".globl tenon_test_unique\n"
    ".type tenon_test_unique, @gnu_unique_object\n"
    ".size tenon_test_unique, 4\n"
    "tenon_test_unique: .long 0\n"
    ".popsection\n");
#elif defined(DEFECT_NEEDS_ABSENT)
extern "C" int tenon_test_absent();
#endif

extern "C" tenon_status tenon_ep_negotiate(tenon_ep_negotiation* io) {
#if defined(DEFECT_NEGOTIATE_CRASHES)
  raise(SIGSEGV);
#elif defined(DEFECT_NEGOTIATE_THROWS)
  throw std::runtime_error("thrown across the border");
#elif defined(DEFECT_NEGOTIATE_EXITS)
  std::exit(0);
#elif defined(DEFECT_NEGOTIATE_REFUSES)
  std::strcpy(io->reason, "the licence has expired");
  return TENON_PERMISSION_DENIED;
#elif defined(DEFECT_NEGOTIATE_EXHAUSTED)
  std::strcpy(io->reason, "the table of kernels needs more");
  return TENON_RESOURCE_EXHAUSTED;
#elif defined(DEFECT_NEGOTIATE_BAD_ALLOC)
  throw std::bad_alloc();
#elif defined(DEFECT_NEEDS_ABSENT)
  io->reserved_out = static_cast<uint32_t>(tenon_test_absent());
#endif
#if defined(DEFECT_WRITES_BEYOND)
  std::memset(&io->major, 0, io->struct_size - offsetof(tenon_ep_negotiation, major));
#endif
#if !defined(DEFECT_ANY_HOST)
  if (io->struct_size < sizeof(*io)) return TENON_INVALID_ARGUMENT;
  bool fits = io->host_major == TENON_EP_ABI_MAJOR && io->host_minor >= TENON_EP_ABI_OLDEST_MINOR &&
              io->host_oldest_minor <= TENON_EP_ABI_MINOR;
#if defined(DEFECT_EXACT_MINOR)
  fits = fits && io->host_minor == TENON_EP_ABI_MINOR;
#elif defined(DEFECT_READS_BEYOND)
  // Takes the table for one of the next minor.
  [[maybe_unused]] static volatile unsigned char later;
  if (io->host != nullptr) later = reinterpret_cast<const unsigned char*>(io->host + 1)[8];
#endif
  if (!fits) {
#if !defined(DEFECT_SILENT_REFUSAL)
    std::strcpy(io->reason, "built for another ABI");
#endif
    return TENON_FAILED_PRECONDITION;
  }
#endif
  io->major = TENON_EP_ABI_MAJOR;
  io->minor = std::min<uint32_t>(io->host_minor, TENON_EP_ABI_MINOR);
  io->sanitizer = tenon::ep::own_sanitizer();
#if defined(DEFECT_FUTURE_MAJOR)
  io->major = TENON_EP_ABI_MAJOR + 1;
#elif defined(DEFECT_OLD_MINOR)
  io->minor = TENON_EP_ABI_MINOR - 1;
#elif defined(DEFECT_OTHER_SANITIZER)
  io->sanitizer = TENON_SANITIZER_MEMORY;
#endif
  std::strcpy(io->provider_id, TENON_PROVIDER_ID);
  std::strcpy(io->provider_version, TENON_PROVIDER_VERSION);
#if defined(DEFECT_OTHER_IDENTITY)
  std::strcpy(io->provider_id, "somebody-else");
#endif
  std::strcpy(io->build_id, "test");
  io->api = &kApi;
#if defined(DEFECT_NO_TABLE)
  io->api = nullptr;
#endif
  return TENON_OK;
}
