#include "host/services/shared_cache.h"

#include <utility>

#include "host/base/fork.h"

namespace tenon::runtime {

SharedCache::~SharedCache() {
  for (auto& [key, entry] : entries_) {
    if (entry.made && entry.release != nullptr) entry.release(entry.object);
  }
}

SharedCache& SharedCache::process() {
  static constinit PerProcess<SharedCache> cache;
  return cache.get();
}

tenon_status SharedCache::get(const std::string& key, tenon_make_fn make, void* context,
                              tenon_release_fn release, void** out_object, tenon_error* error) {
  std::unique_lock lock(mutex_);
  Entry& entry = entries_[key];  // stays valid: its count is not zero
  ++entry.count;
  changed_.wait(lock, [&] { return !entry.making; });
  if (!entry.made) {
    entry.making = true;
    lock.unlock();
    void* object = nullptr;
    const tenon_status status = make(context, &object, error);
    lock.lock();
    entry.making = false;
    entry.made = status == TENON_OK;
    entry.object = object;
    entry.release = release;
    changed_.notify_all();
    if (status != TENON_OK) {
      if (--entry.count == 0) entries_.erase(key);
      return status;
    }
  }
  *out_object = entry.object;
  return TENON_OK;
}

void SharedCache::release(const std::string& key) {
  Entry last;
  {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(key);
    if (at == entries_.end() || --at->second.count != 0) return;
    last = at->second;
    entries_.erase(at);
  }
  if (last.made && last.release != nullptr) last.release(last.object);
}

size_t SharedCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace tenon::runtime
