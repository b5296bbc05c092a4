// Checks of points: waiting for them on the host and on another stream, and errors of work before them.
#include <chrono>

#include "ep-sdk/cts/bench.h"
#include "ep-sdk/cts/buffer.h"
#include "ep-sdk/cts/queue.h"

namespace tenon::cts {
namespace {

constexpr uint8_t kGuard = 0xC7;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Calls point_wait with no time. Throws Failed when it takes time.
CallResult quick_poll(Queue& queue, uint64_t point) {
  const auto begin = std::chrono::steady_clock::now();
  CallResult result = queue.poll(point);
  if (const double seconds = seconds_since(begin); seconds > 0.5)
    throw Failed("point_wait with no time takes " + std::to_string(seconds) + " s",
                 "only ask whether the work is done when timeout_ns is 0");
  if (!result.ok() && result.status != TENON_DEADLINE_EXCEEDED)
    throw Failed("point_wait with no time gives status " + std::to_string(result.status) + ": " + result.text,
                 "return DEADLINE_EXCEEDED when the work is not done in time");
  return result;
}

/// Throws Failed unless points that the stream did not give are refused.
void require_unknown(Queue& queue, uint64_t point) {
  for (const int64_t timeout_ns : {int64_t{0}, int64_t{-1}}) {
    const CallResult result = queue.try_wait(point, timeout_ns);
    if (result.status != TENON_INVALID_ARGUMENT)
      throw Failed("point_wait for point " + std::to_string(point) +
                       ", which the stream did not give, returns " + "status " +
                       std::to_string(result.status),
                   "return INVALID_ARGUMENT for 0 and for numbers above the last point");
  }
}

/// Enqueues one Run of a claim. If its work fails late, judges the report of the error. Whether it failed so.
bool check_late_error(const Subject& subject, Queue& queue, const Claimed& claimed) {
  const Program program(subject, claimed.graph, claimed.claim);
  const Prepared prepared(program);
  RunSetup setup;
  setup.stream = queue.stream;
  Execution execution(prepared, setup);
  if (!execution.try_run().ok()) return false;  // the provider tells at once
  const uint64_t point = queue.point();
  queue.flush();
  const CallResult result = queue.try_wait(point);
  if (result.ok()) return false;
  const std::string what = "the error of enqueued work (" + result.text + ")";
  if ((result.flags & TENON_ERROR_ASYNC) == 0)
    throw Failed(what + " comes without TENON_ERROR_ASYNC",
                 "set the flag, so that the host blames no other node");
  if (result.where.empty())
    throw Failed(what + " does not name the work", "write the node of the work into `where`");
  const CallResult again = queue.try_wait(point);
  const uint64_t later = queue.point();
  queue.flush();
  const CallResult after = queue.try_wait(later);
  if (!again.ok() || !after.ok())
    throw Failed(what + " is reported more than once", "forget an error when a point_wait has reported it");
  return true;
}

/// Two streams: `second` works after a point of `first`. The first one is kept busy before.
struct Pair {
  const Subject& subject;
  Queue first, second;
  tenon_instance* instance;  // of the second stream

  Pair(const Subject& of, tenon_instance* other)
      : subject(of), first(of), second(of, other), instance(other == nullptr ? of.instance : other) {}
};

/// A node on one stream reads what a node on another one wrote.
void check_order_of_runs(Pair& pair, const Claimed& claimed, const std::string& streams) {
  const Subject& subject = pair.subject;
  const std::vector<Tensor> middle = run_claim(subject, claimed);
  Claimed next = claimed;
  next.graph.values[0].tensor.bytes = middle[0].bytes;
  const std::vector<Tensor> expected = run_claim(subject, next);
  const Program program(subject, claimed.graph, claimed.claim);
  const Program other(subject, next.graph, next.claim, pair.instance);
  const Prepared prepared(program), other_prepared(other);
  if (prepared.at_run[0] || claimed.claim.is_shape_input(0)) return;
  RunSetup setup;
  setup.stream = pair.first.stream;
  std::vector<std::unique_ptr<Execution>> lead;
  for (int i = 0; i < 16; ++i) lead.push_back(std::make_unique<Execution>(prepared, setup));
  Execution writer(prepared, setup);
  setup.stream = pair.second.stream;
  setup.first_input = &writer.raw_output(0);
  if (setup.first_input->domain != next.claim.domain_of(0, false)) return;
  Execution reader(other_prepared, setup);
  for (int i = 0; i < 5; ++i) {
    writer.fill_outputs(kGuard);
    reader.fill_outputs(kGuard);
    for (const auto& run : lead) run->run();
    writer.run();
    const uint64_t point = pair.first.point();
    pair.first.flush();
    pair.second.wait_for(pair.first, point);
    reader.run();
    pair.second.finish();
    const std::vector<Tensor> read = reader.outputs();
    pair.first.finish();
    require_equal(read, expected, "a Run on a stream that waits for another one, " + streams,
                  "let work that is enqueued after stream_wait begin after that point");
  }
}

/// A copy on one stream reads what a copy on another one wrote. `from` and `to`: the devices of the streams.
void check_order_of_copies(const Subject& from, Queue& first, const Subject& to, Queue& second,
                           const std::string& streams) {
  constexpr uint64_t kBytes = 1 << 16;
  const Buffer one(from, from.domains[0], kBytes), two(to, to.domains[0], kBytes);
  for (size_t i = 0; i < 5; ++i) {
    std::vector<uint8_t> given = counted(kBytes, i), between(kBytes, kGuard), back(kBytes, kGuard);
    for (int busy = 0; busy < 16; ++busy)
      copy_bytes(from, one.at(0), host_at(given.data()), kBytes, first.stream);
    copy_bytes(from, host_at(between.data()), one.at(0), kBytes, first.stream);
    const uint64_t point = first.point();
    first.flush();
    second.wait_for(first, point);
    copy_bytes(to, two.at(0), host_at(between.data()), kBytes, second.stream);
    copy_bytes(to, host_at(back.data()), two.at(0), kBytes, second.stream);
    second.finish();
    const bool ordered = back == given;
    first.finish();
    if (!ordered)
      throw Failed("a copy on a stream that waits for another one, " + streams + ", reads old bytes",
                   "let work that is enqueued after stream_wait begin after that point");
  }
}

}  // namespace

TENON_CHECK("R49",
            "points of a stream increase, and point_wait returns when all work before its point is done") {
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
  uint64_t last = 0;
  for (int i = 0; i < 10; ++i) {
    execution.fill_outputs(kGuard);
    execution.run();
    const uint64_t point = queue.point();
    if (point <= last)
      throw Failed("stream_point gives " + std::to_string(point) + " after " + std::to_string(last),
                   "count the points of a stream from 1");
    last = point;
    queue.flush();
    quick_poll(queue, point);
    queue.wait(point);
    require_equal(execution.outputs(), expected, "after point_wait",
                  "return when all work before the point is done");
    queue.wait(point);
    if (!quick_poll(queue, point).ok())
      throw Failed("point_wait succeeded, but a later point_wait for the same point does not",
                   "keep a point done");
  }
  require_unknown(queue, 0);
  for (const uint64_t more : {1, 1000}) require_unknown(queue, last + more);
}

TENON_CHECK("R49.errors",
            "an error of enqueued work is reported once, by point_wait, with the place of the work") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  require_streams(subject);
  const Claimed good = plain_claim(target, subject);
  Queue queue(subject);
  bool any = check_late_error(subject, queue, good);  // as a provider that a test makes fail
  for (const Probe& probe : failing_probes()) {
    const GraphCase graph = graph_of(probe.node);
    const Offer offer = ask(subject, graph);
    if (offer.claims.size() != 1 || !check_late_error(subject, queue, {probe, graph, offer.claims[0]}))
      continue;
    any = true;
    const std::vector<Tensor> expected = run_claim(subject, good);
    const Program program(subject, good.graph, good.claim);
    const Prepared prepared(program);
    RunSetup setup;
    setup.stream = queue.stream;
    Execution execution(prepared, setup);
    execution.run();
    queue.finish();
    require_equal(execution.outputs(), expected, "a Run on a stream whose earlier work failed",
                  "go on with later work when the error was reported");
  }
  require_no_violation(49);
  if (!any) throw NotApplicable("no enqueued work of the kit fails");
}

TENON_CHECK("R55",
            "work that waits for a point of another stream begins after it, whoever made that stream") {
  const Bench bench(target);
  Subject& subject = *bench.subject;
  require_streams(subject);
  std::vector<Claimed> all = claimed_probes(target, subject);
  std::erase_if(all, [](const Claimed& claimed) { return !keeps_shape(claimed); });
  if (all.empty() && subject.domains.empty())
    throw NotApplicable(
        "the provider claims no operator that keeps type and shape, and has no memory to copy");
  OtherInstance other(subject);
  for (tenon_instance* instance : {static_cast<tenon_instance*>(nullptr), other.get()}) {
    const std::string streams = instance == nullptr ? "of one instance" : "of another instance";
    Pair pair(subject, instance);
    if (!all.empty()) check_order_of_runs(pair, all[0], streams);
    if (!subject.domains.empty()) check_order_of_copies(subject, pair.first, subject, pair.second, streams);
  }
  other.destroy();
  if (subject.domains.empty()) return;
  const std::unique_ptr<Subject> second =
      subject.open_other([](const Subject& found) { return !found.domains.empty(); });
  if (second == nullptr) return;
  Queue here(subject), there(*second);
  check_order_of_copies(subject, here, *second, there, "of another device");
}

}  // namespace tenon::cts
