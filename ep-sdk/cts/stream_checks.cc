// Checks of bindings and streams.
#include <chrono>
#include <thread>

#include "ep-sdk/cts/bench.h"
#include "ep-sdk/cts/buffer.h"
#include "ep-sdk/cts/queue.h"

namespace tenon::cts {

TENON_CHECK("R46", "a binding uses the addresses that it was given until unbind, and not after it") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  if (subject.api.bind == nullptr) throw NotApplicable("the provider has no bind function");
  const Claimed claimed = plain_claim(target, subject);
  const std::vector<Tensor> expected = run_claim(subject, claimed);
  const Program program(subject, claimed.graph, claimed.claim);
  const Prepared prepared(program);
  const char* cure = "keep addresses in the binding, not in what is prepared";
  auto first = std::make_unique<Execution>(prepared);
  Execution second(prepared);
  first->run();
  first->fill_outputs(0x11);
  second.run();
  require_equal(second.outputs(), expected, "a second binding", cure);
  first->run();
  require_equal(first->outputs(), expected, "the first binding after a second was made", cure);
  first.reset();  // unbinds and frees the memory
  second.fill_outputs(0x22);
  second.run();
  require_equal(second.outputs(), expected, "a binding after another was undone and its memory freed", cure);
}

TENON_CHECK("R47", "without a stream, run and copy are finished when they return") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  int waits = 5;  // number of long waits; few, to keep the check short
  for (const Claimed& claimed : claimed_probes(target, subject)) {
    if (!is_plain(claimed)) continue;
    const Program program(subject, claimed.graph, claimed.claim);
    const Prepared prepared(program);
    Execution execution(prepared);
    execution.run();
    const std::vector<Tensor> at_once = execution.outputs();
    std::this_thread::sleep_for(std::chrono::milliseconds(waits-- > 0 ? 100 : 1));
    require_equal(at_once, execution.outputs(), claimed.probe.name + " read at once and a little later",
                  "wait for the device before run and copy return");
  }
}

TENON_CHECK("R48", "work on one stream takes effect in the order in which it was enqueued") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  require_streams(subject);
  const Claimed claimed = plain_claim(target, subject), other = with_turned_input(claimed);
  const std::vector<Tensor> expected = run_claim(subject, claimed),
                            expected_other = run_claim(subject, other);
  Queue queue(subject);
  const Program program(subject, claimed.graph, claimed.claim),
      program_other(subject, other.graph, other.claim);
  const Prepared prepared(program), prepared_other(program_other);
  RunSetup setup;
  setup.stream = queue.stream;
  // Only one Run at a time may use a binding, so each Run has its own.
  std::vector<std::unique_ptr<Execution>> runs;
  for (int i = 0; i < 20; ++i) {
    runs.push_back(std::make_unique<Execution>(i % 2 == 0 ? prepared : prepared_other, setup));
    runs.back()->run();
  }
  queue.finish();
  const char* cure = "let queued work see what was enqueued before it";
  for (size_t i = 0; i < runs.size(); ++i)
    require_equal(runs[i]->outputs(), i % 2 == 0 ? expected : expected_other, "twenty Runs on one stream",
                  cure);
  if (subject.domains.empty()) return;
  // Host to buffer, buffer to buffer, buffer to host: each copy needs the one before.
  std::vector<uint8_t> from = counted(4096), to(4096, 0);
  {
    const Buffer one(subject, subject.domains[0], from.size(), queue.stream),
        two(subject, subject.domains[0], from.size(), queue.stream);
    copy_bytes(subject, one.at(0), host_at(from.data()), from.size(), queue.stream);
    copy_bytes(subject, two.at(0), one.at(0), from.size(), queue.stream);
    copy_bytes(subject, host_at(to.data()), two.at(0), from.size(), queue.stream);
    queue.finish();
  }
  queue.finish();
  if (to != from)
    throw Failed(
        "copies host to buffer, buffer to buffer and buffer to host on one stream do not return the original "
        "bytes",
        cure);
}

TENON_CHECK("R50", "after stream_flush the work begins without another call") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  require_streams(subject);
  const Claimed claimed = plain_claim(target, subject);
  Queue queue(subject);
  const Program program(subject, claimed.graph, claimed.claim);
  const Prepared prepared(program);
  RunSetup setup;
  setup.stream = queue.stream;
  Execution execution(prepared, setup);
  execution.run();
  queue.finish();  // one-time work of the driver is done now
  execution.run();
  const uint64_t end = queue.point();
  queue.flush();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const CallResult result = queue.poll(end);
  if (!result.ok())
    throw Failed("a second after the flush the work is not done: " + result.text,
                 "submit to the device in stream_flush");
}

TENON_NOT_TESTABLE("R51",
                   "the kit cannot make a device get lost; test this where the driver can be made to fail");

}  // namespace tenon::cts
