// Lists the memory domains of an open device and checks them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tenon/ep.h"

namespace tenon::provider {

/// A copy of tenon_domain_info.
struct DomainInfo {
  uint32_t id = 0;
  uint32_t flags = 0;  // TENON_DOMAIN_x
  uint32_t alignment = 0;
  uint64_t max_buffer_bytes = 0;
  std::string name;
};

/// Calls device_domains and copies the domains that it adds. On failure returns the provider's code and fills
/// `out_error`. A domain that breaks rule R17 by itself is refused while the provider adds it.
tenon_status list_domains(const tenon_ep_api& api, tenon_device* device, std::vector<DomainInfo>& out_domains,
                          tenon_error& out_error);

/// Rule R17 for all domains of a device together: each id is used once, at most one has STAGING. Also for each of
/// them: a number that is not the host's, an alignment that is a power of two, HOST_ADDRESS beside STAGING. INTERNAL;
/// the message begins with "R17".
Status check_domains(const std::vector<DomainInfo>& domains);

}  // namespace tenon::provider
