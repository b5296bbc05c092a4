#include "host/device/idle_memory.h"

#include <mutex>
#include <utility>
#include <vector>

#include "host/base/fork.h"

namespace tenon::runtime {

struct IdleMemoryEntry {
  explicit IdleMemoryEntry(IdleMemory* registered) : object(registered) {}
  const uint32_t fork = fork_count();
  std::mutex mutex;  // held during a call of drop_idle
  IdleMemory* object;
};

namespace {

struct Entries {
  std::mutex mutex;
  std::vector<std::shared_ptr<IdleMemoryEntry>> all;
};
Entries& entries() {
  static constinit PerProcess<Entries> made;
  return made.get();
}

}  // namespace

IdleMemory::Registration::Registration(IdleMemory& object)
    : entry_(std::make_shared<IdleMemoryEntry>(&object)) {
  const std::lock_guard lock(entries().mutex);
  entries().all.push_back(entry_);
}

IdleMemory::Registration::~Registration() {
  if (entry_->fork != fork_count()) return;  // another thread of the parent may hold the mutex for ever
  {
    const std::lock_guard lock(entries().mutex);
    std::erase(entries().all, entry_);
  }
  const std::lock_guard lock(entry_->mutex);  // waits for a call that is under way
  entry_->object = nullptr;
}

bool drop_idle_memory(const Device& device) {
  std::vector<std::shared_ptr<IdleMemoryEntry>> all;
  {
    const std::lock_guard lock(entries().mutex);
    all = entries().all;
  }
  bool dropped = false;
  for (const std::shared_ptr<IdleMemoryEntry>& entry : all) {
    const std::lock_guard lock(entry->mutex);
    if (entry->object != nullptr && entry->object->drop_idle(device)) dropped = true;
  }
  return dropped;
}

}  // namespace tenon::runtime
