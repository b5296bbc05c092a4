// struct tenon_host_instance: what the host offers to an instance outside of Runs: shared objects that are made
// once, such as packed weights, and blobs on disk.
#pragma once

#include <string>

#include "host/services/blob_cache.h"
#include "host/services/shared_cache.h"
#include "tenon/ep.h"

/// Passed to the provider at instance_create. Lives as long as the instance.
struct tenon_host_instance {
  /// Prefixes of the provider's keys. They keep the objects and blobs of different instances apart: by library hash,
  /// device, options, precision and determinism, and the objects also by the opened device (Device::generation).
  std::string shared_prefix, blob_prefix;
  tenon::runtime::SharedCache* shared = nullptr;
  tenon::runtime::BlobCache* blobs = nullptr;  // null: there is no cache, and get finds nothing
  tenon::runtime::BlobLimits blob_limits = {};
};
