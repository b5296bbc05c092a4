// Checks of times: of work on a device, and of spans inside a claim.
#include <algorithm>
#include <set>

#include "ep-sdk/cts/bench.h"
#include "ep-sdk/cts/buffer.h"
#include "ep-sdk/cts/queue.h"
#include "tenon/ep/trace.hpp"

namespace tenon::cts {
namespace {

constexpr uint64_t kClockNs = 2'000'000;  // what the two clocks may differ by
constexpr uint64_t kCopyBytes = 4096;

void require_times(const Subject& subject) {
  if (subject.api.stream_times == nullptr) throw NotApplicable("the provider measures no work");
}

/// The ids of the spans, each once, in their order.
std::vector<uint64_t> ids_of(const std::vector<WorkTime>& times) {
  std::vector<uint64_t> out;
  for (const WorkTime& work : times) {
    if (out.empty() || out.back() != work.work_id) out.push_back(work.work_id);
  }
  return out;
}

std::string text_of(const std::vector<uint64_t>& ids) {
  std::string out;
  for (const uint64_t id : ids) out += (out.empty() ? "" : ", ") + std::to_string(id);
  return out.empty() ? "none" : out;
}

/// Judges what stream_times gave for work between two times of the host.
void require_well_formed(const std::vector<WorkTime>& times, uint64_t begin_ns, uint64_t end_ns) {
  uint64_t last = 0;
  for (const WorkTime& work : times) {
    const std::string what = "the span '" + work.name + "' ";
    if (work.name.empty()) throw Failed("a span has no name", "name the node, kernel or copy");
    if (work.begin_ns > work.end_ns) throw Failed(what + "ends before it begins", "give begin and end");
    if (work.begin_ns < last)
      throw Failed(what + "begins before the one that was given before it",
                   "give spans in the order of begin");
    if (work.begin_ns + kClockNs < begin_ns || work.end_ns > end_ns + kClockNs)
      throw Failed(what + "is not between the call that enqueued it and the end of the wait",
                   "convert times of the device to CLOCK_MONOTONIC of the host");
    last = work.begin_ns;
  }
}

void require_none(Queue& queue, const std::string& when) {
  if (const std::vector<WorkTime> more = queue.times(); !more.empty())
    throw Failed("stream_times gives the span '" + more[0].name + "' " + when,
                 "give each piece of work of a TIMED stream once");
}

/// Runs and copies on a stream that measures, and their spans.
void check_enqueued(const Subject& subject, const Prepared& prepared) {
  Queue queue(subject, nullptr, TENON_STREAM_TIMED);
  require_none(queue, "before any work");
  std::vector<uint64_t> ids;
  std::vector<std::unique_ptr<Execution>> runs;
  RunSetup setup;
  setup.stream = queue.stream;
  for (setup.work_id = 11; setup.work_id < 14; ++setup.work_id) {
    runs.push_back(std::make_unique<Execution>(prepared, setup));
    ids.push_back(setup.work_id);
  }
  std::vector<uint8_t> bytes(kCopyBytes);
  std::unique_ptr<Buffer> buffer;
  if (!subject.domains.empty()) buffer = std::make_unique<Buffer>(subject, subject.domains[0], kCopyBytes);
  for (int round = 0; round < 2; ++round) {
    const uint64_t begin_ns = ep::now_ns();
    for (const auto& run : runs) run->run();
    if (buffer != nullptr) {
      copy_bytes(subject, buffer->at(0), host_at(bytes.data()), kCopyBytes, queue.stream, 14);
      if (round == 0) ids.push_back(14);
    }
    queue.finish();
    const uint64_t end_ns = ep::now_ns();
    const std::vector<WorkTime> times = queue.times();
    require_well_formed(times, begin_ns, end_ns);
    if (ids_of(times) != ids)
      throw Failed("the spans have the work ids " + text_of(ids_of(times)) + " and not " + text_of(ids),
                   "give at least one span for each call, with its work_id, in the order of the calls");
    require_none(queue, "again");
  }
}

}  // namespace

TENON_CHECK("R59", "stream_times gives the work of a TIMED stream once, in order, on the clock of the host") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  require_times(subject);
  const Claimed claimed = plain_claim(target, subject);
  const Program program(subject, claimed.graph, claimed.claim);
  const Prepared prepared(program);
  check_enqueued(subject, prepared);
  Queue plain(subject);
  RunSetup setup;
  setup.stream = plain.stream;
  Execution execution(prepared, setup);
  execution.run();
  plain.finish();
  require_none(plain, "for a stream without TIMED");
}

TENON_CHECK("R59.recordings", "work that a TIMED stream recorded is measured each time that it runs on one") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  require_times(subject);
  if (!subject.has_recordings()) throw NotApplicable("the provider has no recordings");
  const Claimed claimed = plain_claim(target, subject);
  const Program program(subject, claimed.graph, claimed.claim);
  const Prepared prepared(program);
  Queue queue(subject, nullptr, TENON_STREAM_TIMED);
  RunSetup setup;
  setup.stream = queue.stream;
  setup.work_id = 21;
  Execution first(prepared, setup);
  setup.work_id = 22;
  Execution second(prepared, setup);
  queue.record_begin();
  if (const CallResult recorded = first.try_run(); !recorded.ok()) {
    queue.record_drop();
    throw NotApplicable("not recordable: " + claimed.probe.name);
  }
  second.run();
  tenon_recording* recording = queue.record_end();
  require_none(queue, "for work that is only recorded");
  const std::vector<uint64_t> each{21, 22}, together{0};
  for (int round = 0; round < 2; ++round) {
    const uint64_t begin_ns = ep::now_ns();
    queue.run(recording);
    queue.finish();
    const uint64_t end_ns = ep::now_ns();
    const std::vector<WorkTime> times = queue.times();
    require_well_formed(times, begin_ns, end_ns);
    if (ids_of(times) != each && ids_of(times) != together)
      throw Failed("the spans of a recording of the work 21, 22 have the work ids " + text_of(ids_of(times)),
                   "give the spans of the recorded calls with their work_id, or one of all with work_id 0");
  }
  destroy_recording(subject, recording);
}

TENON_CHECK("R60", "spans that a provider adds to a trace are within the call of run") {
  host_state().traces = true;
  each_claimed(target, [](const Subject& subject, const Claimed& claimed) { run_claim(subject, claimed); });
  require_no_violation(60);
  if (host_state().spans == 0) throw NotApplicable("the provider adds no spans to the trace of a Run");
}

}  // namespace tenon::cts
