// struct tenon_host_instance: the services that an instance has from the host beside Runs: objects made once
// for all who ask (packed weights), and blobs kept on disk.
#pragma once

#include <string>

#include "host/services/blob_cache.h"
#include "host/services/shared_cache.h"
#include "tenon/ep.h"

/// Given to the provider at instance_create; lives as long as the instance.
struct tenon_host_instance {
  /// Put in front of a provider's keys: library hash, device and options, so that nobody else's objects are
  /// met.
  std::string key_prefix;
  tenon::runtime::SharedCache* shared = nullptr;
  tenon::runtime::BlobCache* blobs = nullptr;  // null: there is no cache, get finds nothing
};
