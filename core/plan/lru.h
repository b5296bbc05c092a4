// A small cache that drops the least recently used entry, bounded by entries and bytes. Not thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

#include "core/plan/signature.h"

namespace tenon::plan {

/// Values are shared pointers, so a value in use survives its removal from the cache.
template <class T>
class Lru {
 public:
  /// 0 means no limit. The newest entry stays even when it is larger than `max_bytes`.
  Lru(size_t max_entries, uint64_t max_bytes) : max_entries_(max_entries), max_bytes_(max_bytes) {}

  /// Null when there is no entry.
  std::shared_ptr<T> find(const Signature& signature) {
    const auto at = index_.find(signature);
    if (at == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, at->second);
    return at->second->value;
  }

  void insert(const Signature& signature, std::shared_ptr<T> value, uint64_t bytes) {
    erase(signature);
    entries_.push_front({signature, std::move(value), bytes});
    index_[signature] = entries_.begin();
    bytes_ += bytes;
    while (entries_.size() > 1 && over_limit()) erase(entries_.back().signature);
  }

  void erase(const Signature& signature) {
    const auto at = index_.find(signature);
    if (at == index_.end()) return;
    const auto entry = at->second;
    index_.erase(at);
    bytes_ -= entry->bytes;
    entries_.erase(entry);
  }

  void clear() {
    index_.clear();
    entries_.clear();
    bytes_ = 0;
  }

  size_t size() const { return entries_.size(); }
  uint64_t bytes() const { return bytes_; }

  /// Visits the most recently used entry first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Entry& entry : entries_) visit(entry.signature, *entry.value);
  }

 private:
  struct Entry {
    Signature signature;
    std::shared_ptr<T> value;
    uint64_t bytes;
  };

  bool over_limit() const {
    return (max_entries_ != 0 && entries_.size() > max_entries_) || (max_bytes_ != 0 && bytes_ > max_bytes_);
  }

  size_t max_entries_;
  uint64_t max_bytes_;
  uint64_t bytes_ = 0;
  std::list<Entry> entries_;
  std::unordered_map<Signature, typename std::list<Entry>::iterator, SignatureHash> index_;
};

}  // namespace tenon::plan
