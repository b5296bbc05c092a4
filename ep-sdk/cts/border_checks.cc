// Checks of every call: the table, errors and structs at the border, and the state of the process afterwards.

#include <mutex>
#include <thread>

#include "ep-sdk/cts/bench.h"
#include "ep-sdk/cts/process_state.h"

namespace tenon::cts {
namespace {

constexpr const char* kNobody = "no-such-device";

/// Opens a provider, runs all claimed probes, makes one call fail, and destroys everything.
void live(const Target& target, const Bench& bench) {
  std::unique_ptr<Subject> subject = bench.make_subject();
  subject->open();
  for (const Claimed& claimed : claimed_probes(target, *subject)) run_claim(*subject, claimed);
  subject->destroy_instance();
  subject->close_device();
  tenon_device* device = nullptr;
  subject->try_open(kNobody, &device);
  if (device != nullptr) subject->api.device_close(device);
  subject->destroy_provider();
}

/// Makes calls that must fail: unknown device, unknown domain, huge size.
void make_errors(Subject& subject) {
  tenon_device* device = nullptr;
  const CallResult opened = subject.try_open(kNobody, &device);
  if (opened.ok() && device != nullptr) subject.api.device_close(device);
  if (subject.domains.empty()) return;
  for (const auto& [domain, bytes] :
       {std::pair<uint32_t, uint64_t>{4711, 64}, {subject.domains[0].id, 1ull << 60}}) {
    tenon_allocation made;
    if (try_allocate(subject, domain, bytes, &made).ok()) free_memory(subject, made.buffer);
  }
}

/// A struct as a newer host knows it: with words after those of this header.
template <class T>
struct Newer {
  T known{};
  uint64_t later[4] = {0xC7, 0xC7, 0xC7, 0xC7};

  Newer() { known.struct_size = sizeof(Newer); }
  void require_kept(const char* function) const {
    for (const uint64_t word : later) {
      if (word != 0xC7)
        host_state().violate(11, std::string(function) + " writes beyond the fields of its header");
    }
  }
};

/// Passes structs with more fields than this header has to the functions of a device.
void check_longer_structs(const Subject& subject) {
  if (subject.api.device_memory != nullptr) {
    Newer<tenon_memory_info> info;
    call("device_memory", subject.api.device_memory, subject.device, &info.known);
    info.require_kept("device_memory");
  }
  if (subject.has_streams()) {
    const Newer<tenon_stream_params> params;
    tenon_stream* stream = nullptr;
    call("stream_create", subject.api.stream_create, subject.instance, &params.known, &stream);
    destroy("stream_destroy", subject.api.stream_destroy, stream);
  }
  if (subject.domains.empty()) return;
  Newer<tenon_allocate_params> wanted;
  wanted.known.domain = subject.domains[0].id;
  wanted.known.bytes = 64;
  Newer<tenon_allocation> made;
  const tenon_allocate_params* given = &wanted.known;
  call("allocate", subject.api.allocate, subject.device, given, &made.known);
  made.require_kept("allocate");
  std::vector<uint8_t> bytes(64, 1);
  Newer<tenon_copy_params> copy;
  copy.known.destination = {subject.domains[0].id, 0, nullptr, made.known.buffer, nullptr, 0};
  copy.known.source = host_at(bytes.data());
  copy.known.bytes = bytes.size();
  const tenon_copy_params* copied = &copy.known;
  call("copy", subject.api.copy, subject.device, copied);
  free_memory(subject, made.known.buffer);
}

}  // namespace

TENON_CHECK("R6", "using the provider does not change the table") {
  const Bench bench(target, Bench::Open::kNothing);
  const tenon_ep_api before = bench.api();
  live(target, bench);
  tenon_ep_negotiation again = own_offer();
  if (negotiate(bench.module, &again) != TENON_OK || again.api != bench.io.api)
    throw Failed("negotiation gives another table than before", "give the same static table each time");
  const tenon_ep_api after = bench.api();
  if (std::memcmp(&before, &after, sizeof before) != 0)
    throw Failed("the table changed while the provider was in use", "make it a constant");
}

TENON_CHECK("R7.null_slots",
            "a host without logging, shared objects, a cache, lent threads, names of constants and traces is "
            "enough") {
  const Bench bench(target, Bench::Open::kInstance, &poor_host_table());
  for (const Claimed& claimed : claimed_probes(target, *bench.subject)) {
    if (host_state().report_activity != nullptr)
      host_state().report_activity("the probe " + claimed.probe.name);
    try {
      run_claim(*bench.subject, claimed);
    } catch (const CallFailed& failed) {
      throw Failed("with optional host functions NULL, " + claimed.probe.name + ": " + failed.what(),
                   "test each optional host function for NULL before the call, and work without it");
    }
  }
}

TENON_CHECK("R8", "no exception, signal or exit leaves a function, not even when a call fails") {
  const Bench bench(target, Bench::Open::kNothing);
  std::unique_ptr<Subject> subject = bench.make_subject();
  try {
    subject->open();
    make_errors(*subject);
    for (const Claimed& claimed : claimed_probes(target, *subject)) run_claim(*subject, claimed);
  } catch (const CallFailed&) {
    // A function may answer with any status.
  } catch (const NotApplicable&) {
  }
  subject->destroy_instance();
  subject->close_device();
  subject->destroy_provider();
  require_no_violation(8);
}

TENON_CHECK("R9",
            "no call changes directory, environment, locale, signal handlers, floating-point mode or "
            "standard streams") {
  std::map<std::string, std::string> before;
  std::string found;
  host_state().before_call = [&](const char*) { before = process_state(); };
  host_state().after_call = [&](const char* function) {
    const std::string text = difference(before, process_state());
    if (found.empty() && !text.empty()) found = std::string(function) + " changes the " + text;
  };
  const auto at_first = process_state();
  {
    const Bench bench(target, Bench::Open::kNothing);
    live(target, bench);
  }
  host_state().before_call = host_state().after_call = nullptr;
  const char* cure = "restore it before the call returns, or do not change it";
  if (!found.empty()) throw Failed(found, cure);
  const std::string text = difference(at_first, process_state());
  if (!text.empty()) throw Failed("loading, negotiating or using the provider changes the " + text, cure);
}

TENON_CHECK("R10", "the caller's error is left alone on success and filled on failure") {
  const Bench bench(target);
  make_errors(*bench.subject);
  for (const Claimed& claimed : claimed_probes(target, *bench.subject)) run_claim(*bench.subject, claimed);
  // The caller may pass no error.
  tenon_device* device = nullptr;
  report_activity("device_open with no error struct");
  const tenon_device_params params{sizeof(tenon_device_params), 0, {kNobody, std::strlen(kNobody)}};
  bench.api().device_open(bench.subject->provider, &params, &device, nullptr);
  require_no_violation(10);
}

TENON_CHECK("R11",
            "of a longer or shorter struct, only fields that host and provider know are read and written") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  for (const Claimed& claimed : claimed_probes(target, subject)) {
    const Program program(subject, claimed.graph, claimed.claim);
    PrepareSetup setup;
    setup.extra_struct_bytes = 256;
    const Prepared prepared(program, setup);
  }
  // The tenon_error of an older host ends before its texts. A protected page follows it.
  GuardedMemory memory(16);
  auto* error = reinterpret_cast<tenon_error*>(memory.data());
  std::memset(memory.data(), 0, 16);
  error->struct_size = 16;
  tenon_device* device = nullptr;
  const tenon_device_params params{sizeof(tenon_device_params), 0, {kNobody, std::strlen(kNobody)}};
  guarded_call("device_open with a tenon_error of 16 bytes",
               [&] { subject.api.device_open(subject.provider, &params, &device, error); });
  check_longer_structs(subject);
  require_no_violation(11);
}

TENON_CHECK("R12", "reserved words are zero, numbers without meaning are not supported") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  const std::vector<Claimed> all = claimed_probes(target, subject);
  for (const Claimed& claimed : all) {
    for (const uint32_t dtype : {29u, 4711u, 0xFFFFFFFFu}) {
      GraphCase graph = claimed.graph;
      for (GraphCase::Value& value : graph.values) {
        if (value.tensor.constant) continue;
        value.tensor.dtype = dtype;
      }
      if (!ask(subject, graph).claims.empty())
        throw Failed(
            claimed.probe.node.op_type + " is claimed with elements of type " + std::to_string(dtype),
            "claim the types you know, decline all others");
    }
    GraphCase graph = claimed.graph;
    for (GraphCase::Value& value : graph.values) {
      if (!value.tensor.constant) value.tensor.kind = 77;
    }
    if (!ask(subject, graph).claims.empty())
      throw Failed(claimed.probe.node.op_type + " is claimed with values of kind 77",
                   "claim the kinds you know");
  }
  require_no_violation(12);
}

TENON_CHECK("R14", "nothing borrowed is used after the call") {
  const Bench plain(target);
  const std::vector<Claimed> all = claimed_probes(target, *plain.subject);
  std::vector<std::vector<Tensor>> expected;
  for (const Claimed& claimed : all) expected.push_back(run_claim(*plain.subject, claimed));
  host_state().scramble = true;
  const std::unique_ptr<Subject> subject = plain.make_subject();
  subject->open();
  for (size_t i = 0; i < all.size(); ++i) {
    RunSetup setup;
    setup.spoil_arguments = true;
    require_equal(run_claim(*subject, all[i], setup), expected[i],
                  all[i].probe.name + ", when borrowed memory changes after the call",
                  "copy what is needed later");
  }
  host_state().scramble = false;
  require_no_violation(14);
}

}  // namespace tenon::cts
