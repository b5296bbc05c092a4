// Searches the places of manifests in order.
#pragma once

#include <string>
#include <vector>

#include "host/provider/registry.h"

namespace tenon::provider {

struct Found {
  Place place;
  std::string path;  // absolute
};

/// Most manifests per folder; more are skipped with a notice.
inline constexpr size_t kMaxManifestsPerFolder = 1024;

/// All manifest files of all places, in search order, each file once. `notices` gets what was skipped and why,
/// `folders` the folders that were searched.
std::vector<Found> search_manifests(const RegistryOptions& options, std::vector<std::string>& notices,
                                    std::vector<std::string>& folders);

}  // namespace tenon::provider
