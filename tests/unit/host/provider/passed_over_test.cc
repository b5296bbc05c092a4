// Each way to be passed over is told with version, code, reason and cure. Those of refusals are in defects_test.cc.
#include "host/provider/passed_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "host/provider/registry.h"
#include "host/selection/select.h"
#include "tests/unit/host/device/fake_provider.h"
#include "tests/unit/host/provider/provider_folder.h"

namespace tenon::provider {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// good 1.0.0 and 1.1.0.
struct TwoVersions {
  ProviderFolder folder;
  TwoVersions() {
    folder.add("good");
    folder.add("good-next");
  }
};

std::vector<PassedOver> from(const RegistryOptions& options) {
  ProviderRegistry registry(options);
  (void)registry.load("good");
  return registry.passed_over(nullptr);
}

std::vector<PassedOver> higher_version_refused() {
  const TwoVersions two;
  RegistryOptions options = two.folder.options();
  options.versions["good"] = "<1.1";
  return from(options);
}

std::vector<PassedOver> overridden() {
  const TwoVersions two;
  ProviderFolder given;
  RegistryOptions options = two.folder.options();
  options.registered = {given.add("good")};
  return from(options);
}

std::vector<PassedOver> unnamed() {
  ProviderFolder folder;
  folder.add("good");
  RegistryOptions options = folder.options();
  options.discovery.search = *std::exchange(options.system_dirs, std::vector<std::string>());
  return from(options);
}

std::vector<PassedOver> by_name() {
  ProviderFolder folder;
  ProviderFolder::edit(folder.add("good"), "/priority", -1);
  ProviderRegistry registry(folder.options());
  EXPECT_THAT(registry.ids(true), IsEmpty());
  EXPECT_THAT(registry.ids(), ::testing::ElementsAre("good"));
  return registry.passed_over(nullptr);
}

/// What no selection is made of, for there is no other provider: the error tells.
std::vector<PassedOver> told_by(ProviderRegistry& registry, const std::string& toml, Skip skip) {
  config::Config config;
  EXPECT_TRUE(config.apply_toml(toml, "test.toml").ok());
  const std::string error = runtime::select_instances(config, registry).status().to_string();
  EXPECT_THAT(error, HasSubstr("no provider can be used"));
  EXPECT_THAT(error, HasSubstr(str_cat("is not used (", skip_name(skip), ")")));
  return {passed_over("any", "", skip, error)};
}

std::vector<PassedOver> unusable() {
  const auto registry = runtime::test::make_registry({"accelerator"});
  return told_by(*registry,
                 "select.order = ['accelerator']\nselect.fallback = 'next'\n"
                 "provider.accelerator.options.fault = 'instance'",
                 Skip::kUnusable);
}

std::vector<PassedOver> emulated() {
  ProviderFolder folder;
  folder.add("emulated");
  ProviderRegistry registry(folder.options());
  return told_by(registry, "", Skip::kEmulated);
}

struct Way {
  Skip skip;
  std::vector<PassedOver> (*arrange)();
  std::string reason, instead;
};

const std::vector<Way> kWays = {
    {Skip::kVersion, higher_version_refused, "provider.good.version is '<1.1'", "good 1.0.0"},
    {Skip::kOverridden, overridden, "an explicit path comes first", "good 1.0.0"},
    {Skip::kUnnamed, unnamed, "it is found in the place 'discovery.search' only", ""},
    {Skip::kByName, by_name, "below 0", ""},
    {Skip::kUnusable, unusable, "injected fault 'instance'", ""},
    {Skip::kEmulated, emulated, "software-emulated", ""},
};

#define TENON_SKIP_ROW(enumerator, name, cure) Skip::enumerator,
TEST(PassedOver, EachWayIsTold) {
  for (const Skip skip : {TENON_SKIPS(TENON_SKIP_ROW)}) {
    const auto way =
        std::find_if(kWays.begin(), kWays.end(), [&](const Way& each) { return each.skip == skip; });
    ASSERT_NE(way, kWays.end()) << skip_name(skip) << " has no row";
    bool found = false;
    for (const PassedOver& each : way->arrange()) {
      if (each.code != skip_name(skip)) continue;
      found = true;
      EXPECT_THAT(each.text(), HasSubstr(way->reason));
      EXPECT_EQ(each.instead, way->instead);
      EXPECT_FALSE(each.cure.empty());
    }
    EXPECT_TRUE(found) << skip_name(skip);
  }
}
#undef TENON_SKIP_ROW

TEST(PassedOver, WhatNobodyWouldExpectIsNot) {
  const TwoVersions two;
  EXPECT_THAT(from(two.folder.options()), IsEmpty()) << "the lower version";
  ProviderRegistry registry(two.folder.options());
  const std::vector<std::string> others = {"other"};
  EXPECT_THAT(registry.passed_over(&others), IsEmpty()) << "an order that does not name it";
}

TEST(PassedOver, IsOneLine) {
  PassedOver each = passed_over("acme", "1.2.0", Skip::kVersion, "why");
  each.instead = "acme 1.1.0";
  EXPECT_EQ(each.text(),
            "provider acme 1.2.0 is not used (S_VERSION), acme 1.1.0 is: why; change provider.<id>.version "
            "so that it includes this version");
}

}  // namespace
}  // namespace tenon::provider
