// Checks of recordings.
#include <algorithm>

#include "ep-sdk/cts/bench.h"
#include "ep-sdk/cts/buffer.h"
#include "ep-sdk/cts/queue.h"

namespace tenon::cts {
namespace {

constexpr uint8_t kGuard = 0xC7;
constexpr uint64_t kBytes = 4096;

void require_recordings(const Subject& subject) {
  if (!subject.has_recordings()) throw NotApplicable("the provider has no recordings");
}

bool holds_guard(const std::vector<uint8_t>& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b == kGuard; });
}

void require_guard(Execution& execution, const std::string& when) {
  for (const Tensor& output : execution.outputs()) {
    if (!holds_guard(output.bytes))
      throw Failed(when + " the outputs are written", "do recorded work at recording_run, and not before");
  }
}

/// Records one Run of the claim and runs the recording. False when the provider cannot record it.
bool check_recorded_run(const Subject& subject, const Claimed& claimed) {
  const std::vector<Tensor> expected = run_claim(subject, claimed);
  const Program program(subject, claimed.graph, claimed.claim);
  const Prepared prepared(program);
  const bool placed = std::count(prepared.at_run.begin(), prepared.at_run.end(), true) == 0;
  if (!placed) return false;
  const Claimed turned = with_turned_input(claimed);
  const bool can_turn =
      !program.inputs().empty() && program.inputs()[0] == 0 && !claimed.claim.is_shape_input(0);
  const std::vector<Tensor> expected_turned = can_turn ? run_claim(subject, turned) : expected;
  Queue queue(subject), elsewhere(subject);
  RunSetup setup;
  setup.stream = queue.stream;
  setup.fill = kGuard;
  Execution execution(prepared, setup);

  queue.record_begin();
  const CallResult recorded = execution.try_run();
  queue.record_drop();
  if (recorded.status == TENON_UNIMPLEMENTED) return false;
  if (!recorded.ok())
    throw Failed(
        "run gives status " + std::to_string(recorded.status) + " while its stream records: " + recorded.text,
        "record the work, or answer UNIMPLEMENTED: the host then enqueues it in each Run");
  queue.finish();
  require_guard(execution, "after a recording was dropped,");
  queue.record_begin();
  execution.run();
  require_guard(execution, "while a Run is recorded,");
  tenon_recording* recording = queue.record_end();
  queue.finish();
  require_guard(execution, "before a recording is run,");

  const Tensor &plain = claimed.graph.values[0].tensor, &other = turned.graph.values[0].tensor;
  const char* cure = "let each recording_run do all recorded work once, with what its memory holds then";
  for (Queue* on : {&queue, &elsewhere, &queue}) {
    for (const bool turn : {false, true}) {
      if (can_turn) execution.write_input(0, turn ? other.bytes.data() : plain.bytes.data());
      execution.fill_outputs(kGuard);
      on->run(recording);
      on->finish();
      require_equal(execution.outputs(), turn ? expected_turned : expected,
                    std::string("a recording, run on ") +
                        (on == &queue ? "the stream that recorded it" : "another stream") +
                        (turn ? " with other inputs" : ""),
                    cure);
    }
  }
  destroy_recording(subject, recording);
  if (can_turn) execution.write_input(0, plain.bytes.data());
  execution.fill_outputs(kGuard);
  execution.run();
  queue.finish();
  require_equal(execution.outputs(), expected, "a Run on a stream that recorded before",
                "end the recording in record_end");
  return true;
}

/// The host's ends of recorded copies: staging memory where the device has some.
class HostEnd {
 public:
  explicit HostEnd(const Subject& subject) : bytes_(kBytes, kGuard) {
    for (const Domain& domain : subject.domains) {
      if (domain.is_staging()) staging_ = std::make_unique<Buffer>(subject, domain, kBytes);
    }
    set(bytes_);
  }
  tenon_location place() { return staging_ ? staging_->at(0) : host_at(bytes_.data()); }
  void set(const std::vector<uint8_t>& bytes) { std::copy(bytes.begin(), bytes.end(), data()); }
  std::vector<uint8_t> get() { return {data(), data() + kBytes}; }

 private:
  uint8_t* data() { return staging_ ? static_cast<uint8_t*>(staging_->address) : bytes_.data(); }
  std::vector<uint8_t> bytes_;
  std::unique_ptr<Buffer> staging_;
};

/// Records copies through the buffer to `out`, and runs them with several inputs.
void check_way_through(const Subject& subject, const Domain& domain) {
  Queue queue(subject);
  const Buffer buffer(subject, domain, kBytes);
  HostEnd in(subject), out(subject);
  const auto record = [&] {
    queue.record_begin();
    copy_bytes(subject, buffer.at(0), in.place(), kBytes, queue.stream);
    copy_bytes(subject, out.place(), buffer.at(0), kBytes, queue.stream);
  };
  const char* cure = "do recorded copies at recording_run, and not before";
  in.set(counted(kBytes));
  record();
  queue.record_drop();
  queue.finish();
  if (!holds_guard(out.get())) throw Failed("copies of a dropped recording are done", cure);
  record();
  tenon_recording* recording = queue.record_end();
  queue.finish();
  if (!holds_guard(out.get())) throw Failed("copies are done while they are recorded", cure);
  for (size_t i = 1; i < 4; ++i) {
    in.set(counted(kBytes, i));
    queue.run(recording);
    queue.finish();
    if (out.get() != counted(kBytes, i))
      throw Failed("recorded copies do not copy what their memory holds when the recording is run",
                   "keep addresses in a recording, and no bytes");
  }
  destroy_recording(subject, recording);
}

/// Records copies that exchange two buffers: to do them twice, or in another order, is seen.
void check_exchange(const Subject& subject, const Domain& domain) {
  Queue queue(subject);
  const Buffer one(subject, domain, kBytes), two(subject, domain, kBytes), between(subject, domain, kBytes);
  std::vector<uint8_t> first = counted(kBytes, 1), second = counted(kBytes, 2);
  one.write(first);
  two.write(second);
  queue.record_begin();
  copy_bytes(subject, between.at(0), one.at(0), kBytes, queue.stream);
  copy_bytes(subject, one.at(0), two.at(0), kBytes, queue.stream);
  copy_bytes(subject, two.at(0), between.at(0), kBytes, queue.stream);
  tenon_recording* recording = queue.record_end();
  for (int i = 0; i < 4; ++i) {
    queue.run(recording);
    queue.finish();
    std::swap(first, second);
    if (one.read(kBytes) != first || two.read(kBytes) != second)
      throw Failed(
          "a recording that exchanges two buffers does not exchange them in its Run " + std::to_string(i),
          "let each recording_run do all recorded work once, in order");
  }
  destroy_recording(subject, recording);
}

}  // namespace

TENON_CHECK("R56", "recorded Runs are done at each recording_run, with the inputs of then, and not before") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  require_recordings(subject);
  bool any = false;
  std::string refused;
  for (const Claimed& claimed : claimed_probes(target, subject)) {
    if (!is_plain(claimed)) continue;
    report_activity("the probe " + claimed.probe.name);
    try {
      if (check_recorded_run(subject, claimed)) {
        any = true;
      } else {
        refused += (refused.empty() ? "" : ", ") + claimed.probe.name;
      }
    } catch (const Failed& failed) {
      throw Failed(claimed.probe.name + ": " + failed.what(), failed.cure);
    }
  }
  if (!any)
    throw NotApplicable("not recordable: " + (refused.empty() ? "no plain probe is claimed" : refused));
}

TENON_CHECK("R56.copies",
            "recorded copies are done at each recording_run, once and in order, and not before") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  require_recordings(subject);
  require_domains(subject);
  for (const Domain& domain : subject.domains) {
    check_way_through(subject, domain);
    check_exchange(subject, domain);
  }
}

}  // namespace tenon::cts
