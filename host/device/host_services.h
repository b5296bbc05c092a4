// struct tenon_host_instance: what the host offers to an instance outside of Runs: shared objects that are made
// once, such as packed weights, and blobs on disk.
#pragma once

#include <string>

#include "host/services/blob_cache.h"
#include "host/services/shared_cache.h"
#include "tenon/ep.h"

/// Passed to the provider at instance_create. Lives as long as the instance.
struct tenon_host_instance {
  /// Prefix of the provider's keys: library hash, device and options. Keeps the objects of different instances apart.
  std::string key_prefix;
  tenon::runtime::SharedCache* shared = nullptr;
  tenon::runtime::BlobCache* blobs = nullptr;  // null: there is no cache, and get finds nothing
};
