// R13: functions of the table, called from several threads at once as their tags allow.
#include <algorithm>
#include <deque>
#include <mutex>

#include "ep-sdk/cts/bench.h"
#include "ep-sdk/cts/buffer.h"
#include "ep-sdk/cts/hammer.h"
#include "ep-sdk/cts/queue.h"
#include "ep-sdk/cts/step.h"

namespace tenon::cts {
namespace {

constexpr const char* kCure = "lock what calls share; see the tags of TENON_EP_SLOTS";
constexpr size_t kMostClaims = 8;

void require_same(const std::vector<uint8_t>& found, const std::vector<uint8_t>& given, const char* what) {
  if (found != given) throw Failed(std::string(what) + " does not hold what this thread wrote", kCure);
}

/// Bytes that no other thread writes in a round near this one.
std::vector<uint8_t> own_bytes(size_t thread, size_t round) {
  return counted(1000 + 4096 * (round % 3), thread + 8 * round);
}

/// Asks for the memory of the device, and trims it.
void look_after(const Subject& subject) {
  if (subject.api.device_memory != nullptr) {
    tenon_memory_info info{};
    info.struct_size = sizeof info;
    call("device_memory", subject.api.device_memory, subject.device, &info);
  }
  if (subject.api.device_trim != nullptr) call("device_trim", subject.api.device_trim, subject.device);
}

void ask_for_extension(const Subject& subject) {
  if (subject.api.get_extension == nullptr) return;
  constexpr std::string_view kNone = "tenon.cts/1";
  guarded_call("get_extension", [&] {
    subject.api.get_extension(subject.provider, {kNone.data(), kNone.size()}, 1);
  });
}

/// A program that the threads share, and what its Runs give.
struct Shared {
  Claimed claimed;
  std::vector<Tensor> expected;
  Program program;
  Prepared prepared;
  std::mutex mutex;

  Shared(const Subject& subject, const Claimed& given)
      : claimed(given),
        expected(run_claim(subject, given)),
        program(subject, claimed.graph, claimed.claim),
        prepared(program) {}
};

/// Keeps Runs apart as `serialize` of the device asks for.
class Turn {
 public:
  Turn(const Subject& subject, Shared& shared) {
    static std::mutex device;
    if (subject.device_info.serialize == TENON_SERIALIZE_DEVICE) {
      lock_ = std::unique_lock(device);
    } else if (subject.device_info.serialize == TENON_SERIALIZE_PROGRAM) {
      lock_ = std::unique_lock(shared.mutex);
    }
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

std::deque<Shared> share_claims(const Target& target, const Subject& subject) {
  std::deque<Shared> out;
  for (const Claimed& claimed : claimed_probes(target, subject)) {
    if (out.size() < kMostClaims) out.emplace_back(subject, claimed);
  }
  return out;
}

/// Copies bytes to a buffer and back on the queue, and waits.
void copy_through(const Subject& subject, Queue& queue, std::vector<uint8_t> given) {
  std::vector<uint8_t> back(given.size());
  {
    const Buffer buffer(subject, subject.domains[0], given.size(), queue.stream);
    copy_bytes(subject, buffer.at(0), host_at(given.data()), given.size(), queue.stream);
    copy_bytes(subject, host_at(back.data()), buffer.at(0), given.size(), queue.stream);
  }
  queue.finish();
  require_same(back, given, "host memory after copies on a stream of this thread alone");
}

/// Whether `run` records this claim.
bool is_recordable(const Subject& subject, const Shared& shared) {
  Queue queue(subject);
  RunSetup setup;
  setup.stream = queue.stream;
  Execution execution(shared.prepared, setup);
  queue.record_begin();
  const CallResult result = execution.try_run();
  queue.record_drop();
  return result.ok();
}

}  // namespace

TENON_CHECK("R13", "capability, compile, prepare and bind work on eight threads at once") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  std::deque<Shared> all = share_claims(target, subject);
  std::vector<std::string> answers;
  for (const Shared& shared : all) answers.push_back(ask(subject, shared.claimed.graph).to_string());
  const Hammering hammering(Hammer::kPrograms, subject.api);
  hammering.on_threads([&](size_t thread, size_t round) {
    const size_t i = (thread + round) % all.size();
    const Claimed& claimed = all[i].claimed;
    if (ask(subject, claimed.graph).to_string() != answers[i])
      throw Failed("capability answers differently", kCure);
    const Program program(subject, claimed.graph, claimed.claim);
    const Prepared prepared(program);
    const Execution own(prepared), shared(all[i].prepared);
  });
  hammering.require_all_called();
}

TENON_CHECK("R13.devices",
            "devices, their domains and instances can be made and ended on eight threads at once") {
  const Bench bench(target, Bench::Open::kProvider);
  enter(Step::kInstance);
  Subject& subject = *bench.subject;
  const std::vector<DeviceInfo> devices = subject.enumerate();
  std::vector<DeviceInfo> usable;
  for (const DeviceInfo& device : devices) {
    tenon_device* opened = nullptr;
    if (!subject.try_open(device.stable_id, &opened).ok()) continue;
    usable.push_back(device);
    destroy("device_close", subject.api.device_close, opened);
  }
  if (usable.empty()) throw NotApplicable("no device can be opened on this machine");
  const Hammering hammering(Hammer::kDevices, subject.api);
  // A host has a device open once. So threads open different devices, or take turns.
  std::deque<std::mutex> turns(usable.size());
  hammering.on_threads([&](size_t thread, size_t round) {
    ask_for_extension(subject);
    const size_t i = (thread + round) % usable.size();
    const std::lock_guard lock(turns[i]);
    look_after(*subject.open_on(usable[i]));
  });
  subject.open_device();
  hammering.on_threads([&](size_t, size_t) {
    if (subject.read_domains().size() != subject.domains.size())
      throw Failed("device_domains gives other domains", kCure);
    look_after(subject);
    tenon_instance* instance = subject.make_instance();
    destroy("instance_destroy", subject.api.instance_destroy, instance);
  });
  hammering.require_all_called();
}

TENON_CHECK("R13.memory", "allocate, free and copy work on eight threads at once") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  require_domains(subject);
  const Hammering hammering(Hammer::kMemory, subject.api);
  hammering.on_threads([&](size_t thread, size_t round) {
    const Domain& domain = subject.domains[round % subject.domains.size()];
    const std::vector<uint8_t> own = own_bytes(thread, round);
    const Buffer one(subject, domain, own.size());
    one.write(own);
    const Buffer two(subject, domain, own.size());
    two.write(std::vector<uint8_t>(own.size(), 0xC7));
    require_same(one.read(own.size()), own, "a buffer");
    copy_bytes(subject, two.at(0), one.at(0), own.size());
    require_same(two.read(own.size()), own, "a buffer after a copy from another one");
    if (thread == 0) look_after(subject);
  });
  hammering.require_all_called();
}

TENON_CHECK("R13.maps", "eight threads map buffers of their own at once") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  const auto mappable = std::find_if(subject.domains.begin(), subject.domains.end(),
                                     [](const Domain& domain) { return domain.is_mappable(); });
  if (mappable == subject.domains.end()) throw NotApplicable("no domain is mappable");
  const auto mapped = [&](const Buffer& buffer, uint64_t bytes, uint32_t flags, const auto& body) {
    const tenon_map_params params{sizeof(tenon_map_params), flags, buffer.handle, 0, bytes};
    void* address = nullptr;
    call("map", subject.api.map, subject.device, &params, &address);
    body(static_cast<uint8_t*>(address));
    guarded_call("unmap", [&] { subject.api.unmap(subject.device, buffer.handle, address); });
  };
  const Hammering hammering(Hammer::kMaps, subject.api);
  hammering.on_threads([&](size_t thread, size_t round) {
    const std::vector<uint8_t> own = own_bytes(thread, round);
    const Buffer buffer(subject, *mappable, own.size());
    mapped(buffer, own.size(), TENON_MAP_WRITE | TENON_MAP_DISCARD,
           [&](uint8_t* to) { std::copy(own.begin(), own.end(), to); });
    require_same(buffer.read(own.size()), own, "a buffer after a map");
    std::vector<uint8_t> seen;
    mapped(buffer, own.size(), TENON_MAP_READ, [&](uint8_t* from) { seen.assign(from, from + own.size()); });
    require_same(seen, own, "a map");
  });
  hammering.require_all_called();
}

TENON_CHECK("R13.runs", "eight threads run the same programs at once, as `serialize` of the device allows") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  std::deque<Shared> all = share_claims(target, subject);
  const Hammering hammering(Hammer::kRuns, subject.api);
  hammering.on_threads([&](size_t thread, size_t round) {
    Shared& shared = all[(thread / 2 + round) % all.size()];
    Execution execution(shared.prepared);
    for (int i = 0; i < 3; ++i) {
      {
        const Turn turn(subject, shared);
        execution.run();
      }
      require_equal(execution.outputs(), shared.expected, shared.claimed.probe.name, kCure);
    }
    execution.check_surroundings();
    if (thread == 0 && subject.api.device_trim != nullptr)
      call("device_trim", subject.api.device_trim, subject.device);
  });
  hammering.require_all_called();
}

TENON_CHECK("R13.streams",
            "eight threads use streams of their own at once, and wait for points of one stream") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  require_streams(subject);
  Shared shared(subject, plain_claim(target, subject));
  const bool measures = subject.api.stream_times != nullptr;
  Queue common(subject);
  const uint64_t reached = common.point();
  common.flush();
  const Hammering hammering(Hammer::kStreams, subject.api);
  hammering.on_threads([&](size_t thread, size_t round) {
    common.wait(reached);
    Queue first(subject, nullptr, measures ? uint32_t{TENON_STREAM_TIMED} : 0), second(subject);
    RunSetup setup;
    setup.stream = first.stream;
    setup.work_id = 1;
    Execution execution(shared.prepared, setup);
    {
      const Turn turn(subject, shared);
      execution.run();
      const uint64_t point = first.point();
      first.flush();
      second.wait_for(first, point);
      if (!subject.domains.empty()) copy_through(subject, second, own_bytes(thread, round));
      second.finish();
      first.wait(point);
      if (measures && first.times().empty()) throw Failed("stream_times gives nothing", kCure);
    }
    require_equal(execution.outputs(), shared.expected, shared.claimed.probe.name, kCure);
  });
  hammering.require_all_called();
}

TENON_CHECK("R13.recordings", "eight threads record on streams of their own and run the recordings at once") {
  const Bench bench(target);
  const Subject& subject = *bench.subject;
  if (!subject.has_recordings()) throw NotApplicable("the provider has no recordings");
  Shared shared(subject, plain_claim(target, subject));
  const bool recordable = is_recordable(subject, shared);
  const Hammering hammering(Hammer::kRecordings, subject.api);
  hammering.on_threads([&](size_t, size_t) {
    Queue queue(subject);
    RunSetup setup;
    setup.stream = queue.stream;
    Execution execution(shared.prepared, setup);
    const Turn turn(subject, shared);
    queue.record_begin();
    if (recordable) execution.run();
    tenon_recording* recording = queue.record_end();
    for (int i = 0; i < 2; ++i) {
      execution.fill_outputs(0xC7);
      queue.run(recording);
      queue.finish();
      if (recordable) require_equal(execution.outputs(), shared.expected, shared.claimed.probe.name, kCure);
    }
    destroy_recording(subject, recording);
  });
  hammering.require_all_called();
}

}  // namespace tenon::cts
