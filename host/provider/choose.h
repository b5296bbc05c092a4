// Which manifest an id stands for, when several are installed.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "host/provider/entry.h"

namespace tenon::provider {

using Entries = std::vector<std::shared_ptr<Entry>>;

/// The entries of `id` whose version is in `range`, best first: explicit places before the others, then the
/// higher version, then the earlier place. Refused ones are among them.
std::vector<Entry*> candidates(const Entries& entries, std::string_view id, const VersionRange& range);

/// The entry of an equal version that comes before `entry` in the search order and is not refused, or null.
const Entry* earlier_twin(const Entries& entries, const Entry& entry);

/// The first candidate that is not refused, or null.
Entry* first_accepted(const std::vector<Entry*>& candidates);

}  // namespace tenon::provider
