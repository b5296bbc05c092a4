// The host's side of a provider handle, which ep.h leaves opaque.
#pragma once

#include <string>

/// Passed to the provider at provider_create; the provider passes it to the host's `log`. Lives as long as the
/// provider.
struct tenon_host_provider {
  std::string id;
  std::string version;
};
