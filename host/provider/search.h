// Where manifests are looked for, in order.
#pragma once

#include <string>
#include <vector>

#include "host/provider/registry.h"

namespace tenon::provider {

struct Found {
  Place place;
  std::string path;  // absolute
};

/// Files that are looked at in one folder; more is a mistake of the installation.
inline constexpr size_t kMaxManifestsPerFolder = 1024;

/// All manifest files of all places, in search order, each file once. What is skipped and why goes to
/// `notices`; the folders that were looked at to `folders`.
std::vector<Found> search_manifests(const RegistryOptions& options, std::vector<std::string>& notices,
                                    std::vector<std::string>& folders);

}  // namespace tenon::provider
