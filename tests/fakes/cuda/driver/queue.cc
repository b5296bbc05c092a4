#include "queue.h"

#include <unistd.h>

#include <vector>

#include "capture.h"
#include "memory.h"
#include "process.h"
#include "tests/fakes/cuda/device/futex.h"

namespace fake_cuda {
namespace {

constexpr int kPatience = 2000;  // looks before a thread sleeps

struct Held {
  Device* device;
  uint32_t queue;
  uint64_t number, place;
};
std::vector<Held>& held() {
  static auto* const held = new std::vector<Held>();
  return *held;
}

void give_back_done() {
  std::erase_if(held(), [](const Held& it) {
    if (!is_done(*it.device, it.queue, it.number)) return false;
    driver().arena.give_back(it.place);
    return true;
  });
}

/// Waits until `done()`.
template <class Done>
void wait_until(Call& call, Device& device, Done done) {
  for (int patience = kPatience; patience > 0; --patience) {
    if (done()) return;
  }
  DeviceState& state = *device.state;
  while (!done()) {
    if (const CUresult code = check_alive(device); code != CUDA_SUCCESS) refuse(code);
    call.lock().unlock();
    ++state.waiters;
    const uint32_t seen = state.progress.load();
    if (!done() && state.error.load() == 0) futex_wait(state.progress, seen, 50);
    --state.waiters;
    call.lock().lock();
  }
}

void put(Call& call, Stream& stream, CommandBuffer& command) {
  Device& device = *stream.device;
  Queue& queue = device.queue(stream.queue);
  const uint64_t bytes = command.size();
  uint64_t skipped = 0;
  const auto has_room = [&] {
    const uint64_t left = kRingBytes - queue.written % kRingBytes;
    skipped = left < bytes ? left : 0;
    return queue.written + skipped + bytes - queue.read.load() <= kRingBytes;
  };
  wait_until(call, device, has_room);
  if (!has_room()) return put(call, stream, command);  // another thread was faster
  if (skipped > 0) reinterpret_cast<Command*>(&queue.ring[queue.written % kRingBytes])->bytes = 0;
  queue.written += skipped;
  command.head().number = ++stream.last;
  std::memcpy(&queue.ring[queue.written % kRingBytes], command.data(), bytes);
  queue.written += bytes;
  queue.submitted.store(stream.last);
  if (queue.sleeping.load() == 0) return;
  ++queue.doorbell;
  futex_wake(queue.doorbell);
}

void put_wait(Call& call, Stream& stream, const Stream& other) {
  if (is_done(*other.device, other.queue, other.last)) {
    if (driver().settings.races) join(stream.clock, clock_of(other));
    return;
  }
  WaitCommand wait;
  wait.device = other.device->index;
  wait.queue = other.queue;
  wait.until = other.last;
  CommandBuffer command(Do::kWait, wait);
  command.finish();
  if (driver().settings.races) join(stream.clock, clock_of(other));
  put(call, stream, command);
}

/// The null stream and the streams that were not created as CU_STREAM_NON_BLOCKING wait for each other.
void order_with_null(Call& call, Stream& stream) {
  Device& device = *stream.device;
  if (stream.blocks()) return put_wait(call, stream, device.null_stream());
  if (!stream.is_null()) return;
  for (const auto& entry : device.streams) {
    if (entry.second->blocks()) put_wait(call, stream, *entry.second);
  }
}

}  // namespace

Clock clock_of(const Stream& stream) {
  Clock clock = stream.clock;
  clock[{stream.device->index, stream.queue}] = stream.last;
  return clock;
}

bool is_done(const Device& device, uint32_t queue, uint64_t number) {
  return device.queue(queue).completed.load() >= number;
}

uint64_t enqueue(Call& call, Stream& stream, CommandBuffer command) {
  order_with_null(call, stream);
  std::vector<ClockEntry> clock;
  if (driver().settings.races) {
    join(stream.clock, driver().host_clock);
    for (const auto& [queue, number] : stream.clock) clock.push_back({queue.first, queue.second, number});
  }
  command.finish_with(clock);
  put(call, stream, command);
  if (!held().empty()) give_back_done();
  return stream.last;
}

uint64_t submit(Call& call, Stream& stream, CommandBuffer command, CUgraphNodeType type, std::string label,
                std::vector<Event*> events) {
  if (stream.capture != nullptr) {
    add_node(stream, std::move(command), type, std::move(label), std::move(events));
    return 0;
  }
  refuse_implicit(stream);
  if (!label.empty()) ++driver().counts[label];
  return enqueue(call, stream, std::move(command));
}

void host_knows(const Clock& clock) {
  if (!driver().settings.races) return;
  join(driver().host_clock, clock);
  for (const auto& [queue, number] : driver().host_clock)
    driver().shared->devices[queue.first].host_knows[queue.second].store(number);
}

void wait_for(Call& call, Device& device, uint32_t queue, uint64_t number) {
  wait_until(call, device, [&] { return is_done(device, queue, number); });
  if (const CUresult code = error_of(device); code != CUDA_SUCCESS) refuse(code);
  settle_pools(device);
}

void wait_for_stream(Call& call, Stream& stream) {
  if (stream.is_null()) order_with_null(call, stream);
  const Clock clock = driver().settings.races ? clock_of(stream) : Clock();
  wait_for(call, *stream.device, stream.queue, stream.last);
  host_knows(clock);
}

void wait_for_device(Call& call, Device& device) {
  std::vector<std::pair<uint32_t, uint64_t>> all;
  Clock clock;
  for (const auto& [queue, stream] : device.streams) {
    all.emplace_back(queue, stream->last);
    if (driver().settings.races) join(clock, clock_of(*stream));
  }
  for (const uint32_t queue : device.ending_queues) {
    all.emplace_back(queue, device.queue(queue).submitted.load());
    clock[{device.index, queue}] = all.back().second;
  }
  for (const auto& [queue, number] : all) wait_for(call, device, queue, number);
  host_knows(clock);
}

void wait_for_log(Call& call, Device& device) {
  DeviceState& state = *device.state;
  const uint64_t written = state.log_written.load();
  if (state.log_done.load() >= written) return;
  ++state.log_bell;
  futex_wake(state.log_bell);
  wait_until(call, device, [&] { return state.log_done.load() >= written; });
}

void give_back_after(Device& device, uint32_t queue, uint64_t number, uint64_t place) {
  held().push_back({&device, queue, number, place});
}

}  // namespace fake_cuda
