#include "races.h"

#include <algorithm>

#include "channel.h"

namespace fake_cuda::device {
namespace {

const char* verb(int kinds) {
  if ((kinds & kWrite) != 0) return "writes";
  return (kinds & kAtomic) != 0 ? "changes" : "reads";
}

[[noreturn]] void report(const Access& one, const Touch& by_one, const Access& other, const Touch& by_other,
                         const char* why) {
  const uint64_t begin = std::max(by_one.begin, by_other.begin), end = std::min(by_one.end, by_other.end);
  fail(CUDA_ERROR_LAUNCH_FAILED, "race: %s %s what %s %s, 0x%llx to 0x%llx, and %s", one.name.c_str(),
       verb(by_one.kinds), other.name.c_str(), verb(by_other.kinds), static_cast<unsigned long long>(begin),
       static_cast<unsigned long long>(end), why);
}

uint64_t known_of(const Clock& clock, uint32_t queue) {
  for (const auto& [other, number] : clock) {
    if (other == queue) return number;
  }
  return 0;
}

}  // namespace

// What runs now cannot be known to what has run before, so only the other way round is asked.
void Races::check(uint32_t queue, uint64_t number, Clock clock, std::vector<Access> accesses) {
  const std::lock_guard lock(mutex_);
  for (const auto& [other_queue, all] : done_) {
    if (other_queue == queue) continue;
    const uint64_t known = known_of(clock, other_queue);
    for (auto before = all.rbegin(); before != all.rend() && before->number > known; ++before) {
      for (const Access& one : before->accesses) {
        for (const Access& other : accesses) {
          Touch by_one, by_other;
          if (find_conflict(one.touches, other.touches, &by_one, &by_other))
            report(one, by_one, other, by_other, "no event orders their streams");
        }
      }
    }
  }
  last_[queue] = std::move(clock);
  done_[queue].push_back({number, std::move(accesses)});
  if (++count_ > limit_) forget();
}

void Races::pass(uint32_t queue, Clock clock) {
  const std::lock_guard lock(mutex_);
  last_[queue] = std::move(clock);
}

// Whatever is enqueued from now on comes after what the host has waited for. What is enqueued already, and has not run, comes
// after what the last command of its queue came after.
void Races::forget() {
  const DeviceState& state = *g_channel.state;
  count_ = 0;
  for (auto& [queue, all] : done_) {
    uint64_t known = state.host_knows[queue];
    for (uint32_t other = 0; other < kMaxQueues; ++other) {
      const Queue& at = state.queues[other];
      if (other == queue || at.completed == at.submitted) continue;
      const auto last = last_.find(other);
      known = std::min(known, last == last_.end() ? 0 : known_of(last->second, queue));
    }
    while (!all.empty() && all.front().number <= known) all.pop_front();
    count_ += all.size();
  }
  limit_ = std::max<size_t>(64, count_ * 2);
}

void check_nodes(const std::vector<Access>& accesses, const std::vector<size_t>& ends,
                 const unsigned char* ordered) {
  const auto begin_of = [&](size_t node) { return node == 0 ? 0 : ends[node - 1]; };
  const auto compare = [&](size_t one, size_t other) {
    Touch by_one, by_other;
    if (find_conflict(accesses[one].touches, accesses[other].touches, &by_one, &by_other))
      report(accesses[one], by_one, accesses[other], by_other, "nothing orders these nodes of the graph");
  };
  for (size_t later = 1; later < ends.size(); ++later) {
    for (size_t earlier = 0; earlier < later; ++earlier) {
      if (ordered[later * ends.size() + earlier] != 0) continue;
      for (size_t i = begin_of(earlier); i < ends[earlier]; ++i) {
        for (size_t j = begin_of(later); j < ends[later]; ++j) compare(i, j);
      }
    }
  }
}

}  // namespace fake_cuda::device
