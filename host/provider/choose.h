// Chooses a manifest for an id when several are installed.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "host/provider/entry.h"

namespace tenon::provider {

using Entries = std::vector<std::shared_ptr<Entry>>;

/// The entries of `id` whose version is in `range`, best first: explicit places before others, then the higher
/// version, then the earlier place. Refused entries are included.
std::vector<Entry*> candidates(const Entries& entries, std::string_view id, const VersionRange& range);

/// The accepted entry with the same id and version that comes before `entry` in the search order, or null.
const Entry* earlier_twin(const Entries& entries, const Entry& entry);

/// The first candidate that was not refused, or null.
Entry* first_accepted(const std::vector<Entry*>& candidates);

}  // namespace tenon::provider
