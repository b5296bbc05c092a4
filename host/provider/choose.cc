#include "host/provider/choose.h"

#include <algorithm>

namespace tenon::provider {

std::vector<Entry*> candidates(const Entries& entries, std::string_view id, const VersionRange& range) {
  std::vector<Entry*> out;
  for (const std::shared_ptr<Entry>& entry : entries) {
    const Manifest* manifest = entry->manifest.get();
    if (manifest != nullptr && manifest->id == id && range.contains(manifest->version))
      out.push_back(entry.get());
  }
  // Entries are in search order. The stable sort keeps that order for equal versions.
  std::stable_sort(out.begin(), out.end(), [](const Entry* a, const Entry* b) {
    if (a->is_explicit() != b->is_explicit()) return a->is_explicit();
    return a->manifest->version > b->manifest->version;
  });
  return out;
}

const Entry* earlier_twin(const Entries& entries, const Entry& entry) {
  if (!entry.manifest) return nullptr;
  for (const std::shared_ptr<Entry>& other : entries) {
    if (other.get() == &entry) return nullptr;
    bool same = other->manifest && other->manifest->id == entry.manifest->id &&
                other->manifest->version == entry.manifest->version;
    if (same && other->ok()) return other.get();
  }
  return nullptr;
}

Entry* first_accepted(const std::vector<Entry*>& candidates) {
  auto found =
      std::find_if(candidates.begin(), candidates.end(), [](const Entry* entry) { return entry->ok(); });
  return found == candidates.end() ? nullptr : *found;
}

}  // namespace tenon::provider
