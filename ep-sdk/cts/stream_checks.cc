// Checks of bindings, streams and events.
#include <chrono>
#include <thread>

#include "ep-sdk/cts/bench.h"

namespace tenon::cts {
namespace {

/// A stream and an event of the instance.
class Queue {
 public:
  explicit Queue(const Subject& subject) : subject_(subject) {
    call("stream_create", subject.api.stream_create, subject.instance, &stream);
    call("event_create", subject.api.event_create, subject.instance, &event);
  }
  ~Queue() {
    destroy("event_destroy", subject_.api.event_destroy, event);
    destroy("stream_destroy", subject_.api.stream_destroy, stream);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void record() { call("event_record", subject_.api.event_record, event, stream); }
  void flush() { call("stream_flush", subject_.api.stream_flush, stream); }
  void wait() { call("event_wait", subject_.api.event_wait, event, int64_t{-1}); }
  CallResult poll() { return try_call("event_wait", subject_.api.event_wait, event, int64_t{0}); }
  void finish() {
    record();
    flush();
    wait();
  }

  tenon_stream* stream = nullptr;
  tenon_event* event = nullptr;

 private:
  const Subject& subject_;
};

void require_streams(const Subject& subject) {
  if (!subject.has_streams()) throw NotApplicable("the provider has no streams");
}

/// The first claimed probe that is plain.
Claimed plain_claim(const Target& target, const Subject& subject) {
  return first_claimed(claimed_probes(target, subject), "probe of plain tensors",
                       [](const Claimed& claimed) { return is_plain(claimed); });
}

/// The elements of the tensor in reverse order.
std::vector<uint8_t> turned(const Tensor& tensor) {
  const size_t element = tensor.bytes.size() / static_cast<size_t>(tensor.size());
  std::vector<uint8_t> out;
  for (size_t i = tensor.bytes.size(); i >= element; i -= element)
    out.insert(out.end(), tensor.bytes.begin() + static_cast<long>(i - element),
               tensor.bytes.begin() + static_cast<long>(i));
  return out;
}

Claimed with_turned_input(const Claimed& claimed) {
  Claimed out = claimed;
  out.graph.values[0].tensor.bytes = turned(claimed.graph.values[0].tensor);
  return out;
}

}  // namespace

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
  const uint32_t domain = subject.domains[0].id;
  std::vector<uint8_t> from(4096), to(4096, 0);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 31);
  tenon_buffer *one = nullptr, *two = nullptr;
  void* address = nullptr;
  call("allocate", subject.api.allocate, subject.device, domain, uint64_t{4096}, queue.stream, &one,
       &address);
  call("allocate", subject.api.allocate, subject.device, domain, uint64_t{4096}, queue.stream, &two,
       &address);
  copy_bytes(subject, {domain, 0, one, nullptr, 0}, {TENON_DOMAIN_HOST, 0, nullptr, from.data(), 0}, 4096,
             queue.stream);
  copy_bytes(subject, {domain, 0, two, nullptr, 0}, {domain, 0, one, nullptr, 0}, 4096, queue.stream);
  copy_bytes(subject, {TENON_DOMAIN_HOST, 0, nullptr, to.data(), 0}, {domain, 0, two, nullptr, 0}, 4096,
             queue.stream);
  queue.finish();
  subject.api.free(subject.device, one, queue.stream);
  subject.api.free(subject.device, two, queue.stream);
  queue.finish();
  if (to != from)
    throw Failed(
        "copies host to buffer, buffer to buffer and buffer to host on one stream do not return the original "
        "bytes",
        cure);
}

TENON_CHECK("R49", "event_wait returns when all work before the event is done, and may be called again") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  require_streams(subject);
  const Claimed claimed = plain_claim(target, subject);
  const std::vector<Tensor> expected = run_claim(subject, claimed);
  Queue queue(subject);
  const Program program(subject, claimed.graph, claimed.claim);
  const Prepared prepared(program);
  RunSetup setup;
  setup.stream = queue.stream;
  Execution execution(prepared, setup);
  for (int i = 0; i < 10; ++i) {
    execution.fill_outputs(0xC7);
    execution.run();
    queue.record();
    queue.flush();
    const CallResult early = queue.poll();
    if (!early.ok() && early.status != TENON_DEADLINE_EXCEEDED)
      throw Failed("event_wait with no time gives status " + std::to_string(early.status) + ": " + early.text,
                   "return DEADLINE_EXCEEDED when the work is not done in time");
    queue.wait();
    require_equal(execution.outputs(), expected, "after event_wait",
                  "return when all work before the event is done");
    queue.wait();
    if (!queue.poll().ok())
      throw Failed("event_wait succeeded, but a later event_wait on the same event does not",
                   "keep an event done until it is recorded again");
  }
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
  queue.record();
  queue.flush();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const CallResult result = queue.poll();
  if (!result.ok())
    throw Failed("a second after the flush the work is not done: " + result.text,
                 "submit to the device in stream_flush");
}

TENON_NOT_TESTABLE("R51",
                   "the kit cannot make a device get lost; test this where the driver can be made to fail");

}  // namespace tenon::cts
