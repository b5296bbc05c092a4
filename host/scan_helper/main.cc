// tenon-scan: maps one provider library, negotiates with it and lists its devices. It is a process of its own
// because the library may crash or hang. Only libtenon starts it.
//
//   tenon-scan LIBRARY MANIFEST_FOLDER ID VERSION CPU_SECONDS [SONAME...]
//
// It writes the verdict to descriptor 3 (see scan_wire.h) and ends at once with code 0. It ends with 2 for wrong
// arguments and with 3 when it cannot write. Any other exit code, and any signal, comes from the library.
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string>

#include "host/base/sanitizer.h"
#include "host/provider/device_list.h"
#include "host/provider/host_provider.h"
#include "host/provider/library.h"
#include "host/provider/negotiate.h"
#include "host/provider/scan_wire.h"
#include "host/scan_helper/confine.h"

namespace tenon::scan {
namespace {

using provider::Refusal;
using provider::ScanVerdict;

struct Arguments {
  std::string file, folder, id, version;
  unsigned cpu_seconds = 0;
  int first_soname = 0;
};

void send(std::string_view rest) {
  while (!rest.empty()) {
    ssize_t written = ::write(provider::kVerdictDescriptor, rest.data(), rest.size());
    if (written <= 0) _exit(3);
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

void at(const char* activity) { send(str_cat("at ", activity, "\n")); }

ScanVerdict refused(Refusal code, std::string reason) { return {code, std::move(reason), false, {}, {}}; }
ScanVerdict ran_out_of_memory(std::string reason) {
  return {Refusal::kNone, std::move(reason), true, {}, {}};
}

std::string text_of(const tenon_error& error, tenon_status status) {
  std::string text = provider::bounded_text(error.message, sizeof error.message);
  return text.empty() ? str_cat("status ", status, " without a message") : text;
}

// The part of the host's table that a provider may use before a session exists.
tenon_host_api scan_host() {
  tenon_host_api api{};
  api.struct_size = sizeof api;
  api.abi_minor = TENON_EP_ABI_MINOR;
  api.log = [](tenon_host_provider*, uint32_t, tenon_str, tenon_str) {};
  api.parallel_for = [](tenon_run*, int64_t n, int64_t, tenon_range_fn fn, void* context) {
    if (n > 0) fn(context, 0, 0, n);
  };
  api.worker_count = [](tenon_run*) { return 1u; };
  api.get_extension = [](tenon_str, uint32_t) -> const void* { return nullptr; };
  return api;
}

ScanVerdict try_devices(const Arguments& arguments, const provider::Agreement& agreed) {
  tenon_host_provider host{arguments.id, arguments.version};
  tenon_error error{};
  error.struct_size = sizeof error;
  tenon_provider* handle = nullptr;
  at("provider_create");
  tenon_status status = provider::create_provider(agreed.api, TENON_NEGOTIATE_SCAN, &host, arguments.file,
                                                  arguments.folder, &handle, error);
  if (status == TENON_RESOURCE_EXHAUSTED)
    return ran_out_of_memory("provider_create: " + text_of(error, status));
  if (status != TENON_OK) return refused(Refusal::kSelftest, "provider_create: " + text_of(error, status));
  ScanVerdict verdict;
  verdict.build_id = agreed.build_id;
  at("enumerate_devices");
  status = provider::list_devices(agreed.api, handle, verdict.devices, error);
  if (status == TENON_RESOURCE_EXHAUSTED)
    return ran_out_of_memory("enumerate_devices: " + text_of(error, status));
  bool no_device = status == TENON_NOT_FOUND || status == TENON_UNAVAILABLE;
  if (status != TENON_OK) {
    return refused(no_device ? Refusal::kNoDevice : Refusal::kSelftest,
                   "enumerate_devices: " + text_of(error, status));
  }
  at("provider_destroy");
  agreed.api.provider_destroy(handle);
  if (verdict.devices.empty()) return refused(Refusal::kNoDevice, "the provider found no device");
  return verdict;
}

ScanVerdict try_library(const Arguments& arguments, int argument_count, char** words) {
  at("the loader, which also runs initialisers");
  std::string missing;  // collects all of them, so that one installation is enough
  for (int i = arguments.first_soname; i < argument_count; ++i) {
    Status found = provider::try_system_library(words[i]);
    if (found.ok()) continue;
    if (found.kind() == ErrorKind::kOutOfMemory) return ran_out_of_memory(std::string(found.message()));
    missing +=
        str_cat(missing.empty() ? "" : "; ", "the library '", words[i], "' is missing: ", found.message());
  }
  if (!missing.empty()) return refused(Refusal::kDepMissing, std::move(missing));
  Result<std::shared_ptr<provider::Library>> library = provider::Library::open(arguments.file);
  if (!library) {
    const std::string message(library.error().message());
    if (library.error().kind() == ErrorKind::kOutOfMemory) return ran_out_of_memory(message);
    return refused(provider::load_refusal(message), message);
  }
  auto entry = reinterpret_cast<tenon_ep_negotiate_fn>((*library)->function("tenon_ep_negotiate"));
  if (entry == nullptr) return refused(Refusal::kNoEntry, "the library does not export tenon_ep_negotiate");
  static const tenon_host_api host = scan_host();
  at("tenon_ep_negotiate");
  Result<provider::Negotiation> talk = provider::negotiate(entry, TENON_NEGOTIATE_SCAN, &host,
                                                           {arguments.id, arguments.version, kHostSanitizer});
  if (!talk) return ran_out_of_memory(std::string(talk.error().message()));
  if (talk->refusal != Refusal::kNone) return refused(talk->refusal, std::move(talk->reason));
  ScanVerdict verdict = try_devices(arguments, talk->agreement);
  // Not closed: that would run the library's finalisers, which also never run for a provider that is not unloadable.
  new std::shared_ptr<provider::Library>(std::move(*library));
  return verdict;
}

}  // namespace
}  // namespace tenon::scan

int main(int argument_count, char** words) {
  using namespace tenon::scan;
  if (argument_count < 6) return 2;
  Arguments arguments{
      words[1], words[2], words[3], words[4], static_cast<unsigned>(std::strtoul(words[5], nullptr, 10)), 6};
  confine(tenon::provider::kVerdictDescriptor, arguments.cpu_seconds);
  try {
    const ScanVerdict verdict = try_library(arguments, argument_count, words);
    send(tenon::str_cat("verdict ", tenon::provider::write_verdict(verdict), "\n"));
  } catch (const std::bad_alloc&) {  // from this program: no exception leaves a library's functions
    send("verdict ");
    send(tenon::provider::kOutOfMemoryVerdict);
    send("\n");
  }
  _exit(0);
}
