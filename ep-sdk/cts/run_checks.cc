// Checks of run.
#include <algorithm>
#include <chrono>

#include "ep-sdk/cts/allocation_watch.h"
#include "ep-sdk/cts/bench.h"
#include "ep-sdk/cts/queue.h"

namespace tenon::cts {
namespace {

void require_same_bytes(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const std::string& what,
                        const std::string& cure) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].bytes != b[i].bytes || a[i].strings != b[i].strings)
      throw Failed("output " + std::to_string(i) + " " + what, cure);
  }
}

/// claimed_probes() and the claimed large_probes(), whose loops can be cut and cancelled.
std::vector<Claimed> claimed_with_large(const Target& target, const Subject& subject) {
  std::vector<Claimed> all = claimed_probes(target, subject);
  for (const Probe& probe : large_probes()) {
    GraphCase graph = graph_of(probe.node);
    const Offer offer = ask(subject, graph);
    if (offer.claims.size() == 1) all.push_back({probe, std::move(graph), offer.claims[0]});
  }
  return all;
}

}  // namespace

TENON_CHECK("operators.probes", "claimed probes of the kit give the results that their operators define") {
  each_claimed(target, [](const Subject& subject, const Claimed& claimed) {
    if (claimed.probe.has_expected)
      require_equal(run_claim(subject, claimed), claimed.probe.node.outputs, "the result is wrong",
                    "see the operator's definition");
  });
}

TENON_CHECK("R39", "a Run writes all bytes of its outputs, nothing around them, and no input") {
  each_claimed(target, [](const Subject& subject, const Claimed& claimed) {
    const Program program(subject, claimed.graph, claimed.claim);
    const Prepared prepared(program);
    std::vector<Tensor> first;
    for (const uint8_t fill : {0x00, 0xC7, 0xFF}) {
      RunSetup setup;
      setup.fill = fill;
      setup.seal_inputs = true;
      Execution execution(prepared, setup);
      execution.run();
      execution.check_surroundings();
      const std::vector<Tensor> outputs = execution.outputs();
      if (first.empty()) first = outputs;
      require_equal(outputs, first, "the result depends on what the output held before",
                    "write every byte of every output");
    }
  });
}

TENON_CHECK("R40",
            "each string, object and output known only after running is made exactly once through the host; "
            "no other output is") {
  bool any = false;
  each_claimed(target, [&](const Subject& subject, const Claimed& claimed) {
    const Program program(subject, claimed.graph, claimed.claim);
    const Prepared prepared(program);
    any = any || has_sequence_or_string(claimed) ||
          std::count(prepared.at_run.begin(), prepared.at_run.end(), true) != 0;
    Execution execution(prepared);
    for (int i = 0; i < 3; ++i) {
      execution.run();
      execution.outputs();
    }
  });
  if (live_values() != 0)
    throw Failed(std::to_string(live_values()) + " values are left after all Runs",
                 "release what you do not hand over");
  if (!any) throw NotApplicable("no probe makes an output through the host");
}

TENON_CHECK("R41", "in the third Run the provider's own code allocates no memory and takes no mutex") {
  if (!can_watch()) throw NotApplicable("this build of the kit cannot count allocations and locks");
  std::string found;
  each_claimed(target, [&](const Subject& subject, const Claimed& claimed) {
    const Program program(subject, claimed.graph, claimed.claim);
    const Prepared prepared(program);
    const Watched seen = watch_third_run(prepared, target.module_path());
    if (seen.allocations == 0 && seen.locks == 0) return;
    found += (found.empty() ? "" : "; ") + claimed.probe.name + " allocates memory " +
             std::to_string(seen.allocations) + " times and takes a mutex " + std::to_string(seen.locks) +
             " times";
  });
  if (!found.empty())
    throw Failed("in a Run " + found,
                 "do that in compile, prepare or bind; ask for a workspace or for scratch memory");
}

TENON_CHECK("R42", "a bool is 0 or 1, and the padding of packed elements is zero") {
  bool any = false;
  each_claimed(target, [&](const Subject& subject, const Claimed& claimed) {
    if (!is_plain(claimed)) return;
    RunSetup setup;
    setup.fill = 0xFF;
    for (const Tensor& output : run_claim(subject, claimed, setup)) {
      const uint64_t bits = ep::dtype_bits(output.dtype);
      if (output.dtype == TENON_BOOL) {
        any = true;
        if (std::any_of(output.bytes.begin(), output.bytes.end(), [](uint8_t b) { return b > 1; }))
          throw Failed(
              "a bool is " + std::to_string(*std::max_element(output.bytes.begin(), output.bytes.end())),
              "write 0 or 1");
      } else if (bits % 8 != 0 && !output.bytes.empty()) {
        any = true;
        const uint64_t used = bits * static_cast<uint64_t>(output.size()) % 8;
        if (used != 0 && (output.bytes.back() >> used) != 0)
          throw Failed("the last byte of packed elements is not padded with zero bits", "write zeros");
      }
    }
  });
  if (!any) throw NotApplicable("no probe with bool or packed outputs is claimed");
}

TENON_CHECK("R43", "arguments, descriptors and scratch memory are not used after run has returned") {
  each_claimed(target, [](const Subject& subject, const Claimed& claimed) {
    const std::vector<Tensor> expected = run_claim(subject, claimed);
    RunSetup setup;
    setup.spoil_arguments = true;
    const Program program(subject, claimed.graph, claimed.claim);
    const Prepared prepared(program);
    Execution execution(prepared, setup);
    execution.run();
    require_equal(execution.outputs(), expected, "when arguments change after run",
                  "copy what is needed later");
    if (!subject.has_streams()) return;
    Queue queue(subject);
    setup.stream = queue.stream;
    Execution queued(prepared, setup);
    queued.run();
    queue.finish();
    require_equal(queued.outputs(), expected, "when arguments change before the stream is flushed",
                  "copy what enqueued work needs");
  });
}

TENON_CHECK("R44",
            "results do not depend on how parallel_for cuts its range, or on which thread a piece runs") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  bool any = false;
  for (const Claimed& claimed : claimed_with_large(target, subject)) {
    const Program program(subject, claimed.graph, claimed.claim);
    const Prepared prepared(program);
    Execution execution(prepared);
    host_state().pieces = 1;
    const int64_t calls = host_state().parallel_calls;
    execution.run();
    if (host_state().parallel_calls == calls) continue;
    any = true;
    const std::vector<Tensor> whole = execution.outputs();
    for (const int pieces : {2, 3, 7, 64}) {
      for (const int order : {0, 1, 2}) {
        host_state().pieces = pieces;
        host_state().backwards = order == 1;
        host_state().threaded = order == 2;
        execution.fill_outputs(0xC7);
        execution.run();
        require_same_bytes(execution.outputs(), whole,
                           "of " + claimed.probe.name + " differs when a loop is cut into " +
                               std::to_string(pieces) +
                               (order == 1   ? " pieces, run backwards"
                                : order == 2 ? " pieces, run on threads"
                                             : " pieces"),
                           "let each piece depend on its own range alone");
      }
    }
    host_state().threaded = false;
  }
  if (!any) throw NotApplicable("no probe calls parallel_for");
}

TENON_CHECK("R45", "a Run whose cancel flag is set returns soon, with CANCELLED or OK") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  for (const Claimed& claimed : claimed_with_large(target, subject)) {
    const Program program(subject, claimed.graph, claimed.claim);
    const Prepared prepared(program);
    uint32_t cancel = 1;
    RunSetup setup;
    setup.cancel = &cancel;
    Execution execution(prepared, setup);
    const auto begin = std::chrono::steady_clock::now();
    const CallResult result = execution.try_run();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (!result.ok() && result.status != TENON_CANCELLED)
      throw Failed(claimed.probe.name + " with its cancel flag set gives status " +
                       std::to_string(result.status) + ": " + result.text,
                   "return CANCELLED");
    if (seconds > 10)
      throw Failed(
          claimed.probe.name + " runs on for " + std::to_string(seconds) + " s with its cancel flag set",
          "read `cancel` regularly");
    cancel = 0;
    const CallResult again = execution.try_run();
    if (!again.ok())
      throw Failed("after a cancelled Run of " + claimed.probe.name + " the next one fails: " + again.text,
                   "leave nothing behind when a Run is cancelled");
  }
}

}  // namespace tenon::cts
