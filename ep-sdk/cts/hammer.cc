#include "ep-sdk/cts/hammer.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <latch>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include "ep-sdk/cts/host_table.h"
#include "ep-sdk/cts/outcome.h"

namespace tenon::cts {
namespace {

constexpr size_t kThreads = 8, kLeastRounds = 3;
constexpr std::chrono::milliseconds kTime(130);  // the hammers together take about a second

/// The hammer of each function. A function of TENON_EP_SLOTS that is not named here does not compile below.
namespace by {
using enum Hammer;
constexpr Hammer provider_create = kNone, provider_destroy = kNone, enumerate_devices = kNone,
                 quiesce = kNone;
constexpr Hammer device_open = kDevices, device_close = kDevices, device_domains = kDevices,
                 device_memory = kDevices, device_trim = kDevices, instance_create = kDevices,
                 instance_destroy = kDevices, get_extension = kDevices;
constexpr Hammer allocate = kMemory, free = kMemory, copy = kMemory;
constexpr Hammer map = kMaps, unmap = kMaps;
constexpr Hammer capability = kPrograms, compile = kPrograms, program_destroy = kPrograms,
                 prepare = kPrograms, prepared_destroy = kPrograms, bind = kPrograms, unbind = kPrograms;
constexpr Hammer run = kRuns;
constexpr Hammer stream_create = kStreams, stream_destroy = kStreams, stream_flush = kStreams,
                 stream_point = kStreams, stream_wait = kStreams, point_wait = kStreams,
                 stream_times = kStreams;
constexpr Hammer record_begin = kRecordings, record_end = kRecordings, recording_run = kRecordings,
                 recording_destroy = kRecordings;
}  // namespace by

enum class Threads { INIT, ANY, STREAM, BUFFER, RUN };

struct Slot {
  const char* function;
  Threads threads;
  Hammer hammer;
};

constexpr Slot kSlots[] = {
#define TENON_CTS_SLOT(function, need, threads, time) {#function, Threads::threads, by::function},
    TENON_EP_SLOTS(TENON_CTS_SLOT)
#undef TENON_CTS_SLOT
};

static_assert(std::all_of(std::begin(kSlots), std::end(kSlots),
                          [](const Slot& slot) {
                            return (slot.threads == Threads::INIT) == (slot.hammer == Hammer::kNone);
                          }),
              "each function that threads may call at once has a hammer, and no other");

/// The functions of one hammer that the provider has.
std::vector<std::string> functions_of(Hammer by, const tenon_ep_api& api) {
  std::vector<bool> present;
#define TENON_CTS_PRESENT(function, need, threads, time) present.push_back(api.function != nullptr);
  TENON_EP_SLOTS(TENON_CTS_PRESENT)
#undef TENON_CTS_PRESENT
  std::vector<std::string> out;
  for (size_t i = 0; i < present.size(); ++i) {
    if (present[i] && kSlots[i].hammer == by) out.emplace_back(kSlots[i].function);
  }
  return out;
}

}  // namespace

Hammering::Hammering(Hammer by, const tenon_ep_api& api)
    : reported_(std::exchange(host_state().report_activity, nullptr)) {
  for (std::string& function : functions_of(by, api)) {
    wanted_.push_back(std::make_unique<Wanted>());
    wanted_.back()->function = std::move(function);
  }
  if (reported_ != nullptr) reported_("calls from several threads at once");
  host_state().before_call = [this](const char* function) {
    for (const auto& wanted : wanted_) {
      if (wanted->function == function) ++wanted->calls;
    }
  };
}

Hammering::~Hammering() {
  host_state().before_call = nullptr;
  host_state().report_activity = reported_;
}

void Hammering::on_threads(const std::function<void(size_t, size_t)>& round) const {
  std::mutex mutex;
  std::atomic<bool> failed{false};
  std::string cause, cure;
  const auto fail = [&](const std::string& what, const std::string& advice) {
    const std::lock_guard lock(mutex);
    if (failed.exchange(true)) return;
    cause = what, cure = advice;
  };
  std::latch start(kThreads);
  const auto work = [&](size_t thread) {
    start.arrive_and_wait();
    const auto end = std::chrono::steady_clock::now() + kTime;
    try {
      for (size_t i = 0; !failed && (i < kLeastRounds || std::chrono::steady_clock::now() < end); ++i)
        round(thread, i);
    } catch (const Failed& e) {
      fail(e.what(), e.cure);
    } catch (const std::exception& e) {
      fail(e.what(), "");
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  if (failed)
    throw Failed("from eight threads at once: " + cause,
                 cure.empty() ? "lock what calls share; see the tags of TENON_EP_SLOTS" : cure);
}

void Hammering::require_all_called() const {
  for (const auto& wanted : wanted_) {
    if (wanted->calls == 0) throw std::logic_error("the kit does not hammer " + wanted->function);
  }
}

}  // namespace tenon::cts
