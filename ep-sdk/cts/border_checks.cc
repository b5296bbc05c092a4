// Checks of every call: the table, errors and structs at the border, and the state of the process afterwards.
#include <sys/mman.h>

#include <mutex>
#include <thread>

#include "ep-sdk/cts/bench.h"
#include "ep-sdk/cts/process_state.h"

namespace tenon::cts {
namespace {

/// Opens a provider, runs all claimed probes, makes one call fail, and destroys everything.
void live(const Target& target, const Bench& bench) {
  std::unique_ptr<Subject> subject = bench.make_subject();
  subject->open();
  for (const Claimed& claimed : claimed_probes(target, *subject)) run_claim(*subject, claimed);
  subject->destroy_instance();
  subject->close_device();
  tenon_device* device = nullptr;
  const char* nobody = "no-such-device";
  try_call("device_open", subject->api.device_open, subject->provider, tenon_str{nobody, 14}, &device);
  if (device != nullptr) subject->api.device_close(device);
  subject->destroy_provider();
}

/// Makes calls that must fail: unknown device, unknown domain, huge size.
void make_errors(Subject& subject) {
  tenon_device* device = nullptr;
  const char* nobody = "no-such-device";
  const CallResult opened =
      try_call("device_open", subject.api.device_open, subject.provider, tenon_str{nobody, 14}, &device);
  if (opened.ok() && device != nullptr) subject.api.device_close(device);
  if (subject.domains.empty()) return;
  for (const auto& [domain, bytes] :
       {std::pair<uint32_t, uint64_t>{4711, 64}, {subject.domains[0].id, 1ull << 60}}) {
    tenon_buffer* buffer = nullptr;
    void* address = nullptr;
    const CallResult result = try_call("allocate", subject.api.allocate, subject.device, domain, bytes,
                                       static_cast<tenon_stream*>(nullptr), &buffer, &address);
    if (result.ok()) subject.api.free(subject.device, buffer, nullptr);
  }
}

}  // namespace

TENON_CHECK("R6", "using the provider does not change the table") {
  const Bench bench(target, Bench::Open::kNothing);
  const tenon_ep_api before = bench.api();
  live(target, bench);
  tenon_ep_negotiation again = own_offer();
  if (negotiate(bench.module, &again) != TENON_OK || again.api != bench.io.api)
    throw Failed("negotiation gives another table than before", "give the same static table each time");
  if (std::memcmp(&before, &bench.api(), sizeof before) != 0)
    throw Failed("the table changed while the provider was in use", "make it a constant");
}

TENON_CHECK("R7.null_slots", "a host without logging, shared objects, a cache and lent threads is enough") {
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
  const char* nobody = "no-such-device";
  bench.api().device_open(bench.subject->provider, {nobody, 14}, &device, nullptr);
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
  const char* nobody = "no-such-device";
  guarded_call("device_open with a tenon_error of 16 bytes", [&] {
    subject.api.device_open(subject.provider, {nobody, 14}, &device, error);
  });
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

TENON_CHECK("R13", "functions that any thread may call work on other threads, at the same time") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  const std::vector<Claimed> all = claimed_probes(target, subject);
  const std::string expected = ask(subject, all[0].graph).to_string();
  std::mutex mutex;
  std::string found;
  const auto work = [&] {
    try {
      for (int i = 0; i < 5; ++i) {
        if (ask(subject, all[0].graph).to_string() != expected)
          throw Failed("capability answers differently");
        for (const Claimed& claimed : all) {
          const Program program(subject, claimed.graph, claimed.claim);
          const Prepared prepared(program);
        }
      }
    } catch (const std::exception& e) {
      const std::lock_guard lock(mutex);
      found = e.what();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (!found.empty())
    throw Failed("from four threads at once: " + found,
                 "lock what the instance shares; see the tags of TENON_EP_SLOTS");
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
