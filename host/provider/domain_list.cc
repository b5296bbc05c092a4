#include "host/provider/domain_list.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <string_view>

#include "host/base/error_struct.h"
#include "host/provider/negotiate.h"

namespace tenon::provider {
namespace {

constexpr size_t kMaxDomains = 64;

Status broken(const DomainInfo& domain, std::string_view how) {
  return internal_error("R17: memory domain ", domain.id, " ('", domain.name, "') ", how);
}

Status check_domain(const DomainInfo& domain) {
  if (domain.id == TENON_DOMAIN_HOST) return broken(domain, "has the number of the host's domain");
  if (!std::has_single_bit(domain.alignment))
    return broken(domain, str_cat("has the alignment ", domain.alignment, ", which is not a power of two"));
  const bool staging = (domain.flags & TENON_DOMAIN_STAGING) != 0;
  if (staging && (domain.flags & TENON_DOMAIN_HOST_ADDRESS) == 0)
    return broken(domain, "has the flag STAGING without HOST_ADDRESS");
  return ok_status();
}

tenon_status add_domain(void* context, const tenon_domain_info* given, tenon_error* error) noexcept {
  return guarded(error, [&]() -> Status {
    auto& domains = *static_cast<std::vector<DomainInfo>*>(context);
    if (given == nullptr || given->struct_size < sizeof(uint32_t))
      return invalid_input("R17: a memory domain without struct_size");
    if (domains.size() >= kMaxDomains)
      return invalid_input("R17: more than ", kMaxDomains, " memory domains");
    tenon_domain_info info{};
    std::memcpy(&info, given, std::min<size_t>(given->struct_size, sizeof(info)));
    std::string name =
        info.name.data ? bounded_text(info.name.data, std::min<uint64_t>(info.name.size, 256)) : "";
    DomainInfo domain{info.id, info.flags, info.alignment, info.max_buffer_bytes, std::move(name)};
    if (Status wrong = check_domain(domain); !wrong.ok()) return invalid_input(wrong.message());
    domains.push_back(std::move(domain));
    return ok_status();
  });
}

}  // namespace

tenon_status list_domains(const tenon_ep_api& api, tenon_device* device, std::vector<DomainInfo>& out_domains,
                          tenon_error& out_error) {
  if (api.device_domains == nullptr) return TENON_OK;
  tenon_domain_sink sink{};
  sink.struct_size = sizeof(sink);
  sink.context = &out_domains;
  sink.add = add_domain;
  return api.device_domains(device, &sink, &out_error);
}

Status check_domains(const std::vector<DomainInfo>& domains) {
  const DomainInfo* staging = nullptr;
  for (size_t i = 0; i < domains.size(); ++i) {
    const DomainInfo& domain = domains[i];
    RETURN_IF_ERROR(check_domain(domain));
    const auto same = [&](const DomainInfo& other) { return other.id == domain.id; };
    if (std::any_of(domains.begin(), domains.begin() + static_cast<ptrdiff_t>(i), same))
      return broken(domain, "has a number that another domain of the device has");
    if ((domain.flags & TENON_DOMAIN_STAGING) == 0) continue;
    if (staging != nullptr)
      return broken(
          domain, str_cat("has the flag STAGING, as domain ", staging->id, " has; one at most may have it"));
    staging = &domain;
  }
  return ok_status();
}

}  // namespace tenon::provider
