// The host's side of a provider handle, which ep.h leaves opaque.
#pragma once

#include <string>

/// Given to the provider at provider_create, and back to the host in `log`. Lives as long as the provider.
struct tenon_host_provider {
  std::string id;
  std::string version;
};
