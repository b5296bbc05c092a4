#include "host/provider/domain_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::provider {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kStaging = TENON_DOMAIN_STAGING | TENON_DOMAIN_HOST_ADDRESS;

DomainInfo domain(uint32_t id, uint32_t flags = 0, uint32_t alignment = 64) {
  return {id, flags, alignment, 0, "memory"};
}
std::string refusal(const std::vector<DomainInfo>& domains) { return check_domains(domains).to_string(); }

TEST(DomainList, WhatIsAllowed) {
  EXPECT_EQ(refusal({}), "OK");
  EXPECT_EQ(refusal({domain(1, TENON_DOMAIN_DEVICE_ADDRESS), domain(2, kStaging),
                     domain(3, TENON_DOMAIN_MAPPABLE)}),
            "OK");
}

TEST(DomainList, R17) {
  EXPECT_THAT(refusal({domain(TENON_DOMAIN_HOST)}),
              HasSubstr("R17: memory domain 0 ('memory') has the number of"));
  EXPECT_THAT(refusal({domain(1, 0, 48)}), HasSubstr("R17: memory domain 1 ('memory') has the alignment 48"));
  EXPECT_THAT(refusal({domain(1), domain(1)}),
              HasSubstr("has a number that another domain of the device has"));
  EXPECT_THAT(refusal({domain(1, TENON_DOMAIN_STAGING)}),
              HasSubstr("has the flag STAGING without HOST_ADDRESS"));
  EXPECT_THAT(refusal({domain(1, kStaging), domain(2, kStaging)}),
              HasSubstr("R17: memory domain 2 ('memory') has the flag STAGING, as domain 1 has"));
}

tenon_status add_one(tenon_device* device, const tenon_domain_sink* sink, tenon_error* error) {
  return sink->add(sink->context, reinterpret_cast<const tenon_domain_info*>(device), error);
}

TEST(DomainList, TheProviderLearnsAtOnceWhatIsWrong) {
  tenon_ep_api api{};
  api.device_domains = add_one;
  tenon_domain_info info{};
  info.struct_size = sizeof(info);
  info.id = 3;
  info.alignment = 256;
  info.flags = kStaging;
  info.name = {"pinned", 6};
  auto* const device = reinterpret_cast<tenon_device*>(&info);  // what add_one adds
  std::vector<DomainInfo> domains;
  tenon_error error{};
  error.struct_size = sizeof(error);
  ASSERT_EQ(list_domains(api, device, domains, error), TENON_OK);
  ASSERT_EQ(domains.size(), 1u);
  EXPECT_EQ(domains[0].name, "pinned");
  EXPECT_EQ(domains[0].flags, kStaging);
  info.flags = TENON_DOMAIN_STAGING;
  EXPECT_EQ(list_domains(api, device, domains, error), TENON_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("R17"));
  EXPECT_EQ(domains.size(), 1u);
}

}  // namespace
}  // namespace tenon::provider
