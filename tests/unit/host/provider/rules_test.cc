// The rules of ep-sdk/RULES.md that are checked before a provider is loaded, each by a member of the defect
// zoo. The test's name is the rule's number; what is checked later stands in
// tests/unit/host/device/rules_test.cc.
#include <gtest/gtest.h>

#include "tests/unit/host/provider/provider_folder.h"

namespace tenon::provider {
namespace {

Refusal refusal_of(const std::string& defect) {
  ProviderFolder folder;
  const std::string manifest = folder.add(defect);
  RegistryOptions options = folder.options();
  options.discovery.scan_timeout = 60;
  ProviderRegistry registry(options);
  for (const ProviderInfo& info : registry.list(CheckLevel::kScan)) {
    if (info.manifest_path == manifest) return info.refusal;
  }
  return Refusal::kNone;
}

TEST(LoadRules, NoneBrokenIsFine) { EXPECT_EQ(refusal_of("good"), Refusal::kNone); }

TEST(LoadRules, R1) {
  EXPECT_EQ(refusal_of("no_entry"), Refusal::kNoEntry);
  EXPECT_EQ(refusal_of("two_exports"), Refusal::kExports);
  EXPECT_EQ(refusal_of("unique_symbol"), Refusal::kExports);
}

TEST(LoadRules, R2) {
  EXPECT_EQ(refusal_of("constructor_aborts"), Refusal::kScanCrash);
  EXPECT_EQ(refusal_of("negotiate_crashes"), Refusal::kScanCrash);
}

TEST(LoadRules, R3) {
  EXPECT_EQ(refusal_of("future_major"), Refusal::kAbiTooNew);
  EXPECT_EQ(refusal_of("old_minor"), Refusal::kAbiTooOld);
  EXPECT_EQ(refusal_of("other_identity"), Refusal::kNegotiate);
  EXPECT_EQ(refusal_of("no_note"), Refusal::kNoteMismatch);
}

TEST(LoadRules, R4) { EXPECT_EQ(refusal_of("negotiate_refuses"), Refusal::kNegotiate); }

TEST(LoadRules, R5) {
  EXPECT_EQ(refusal_of("no_table"), Refusal::kNegotiate);
  EXPECT_EQ(refusal_of("short_struct"), Refusal::kNegotiate);
  EXPECT_EQ(refusal_of("null_slot"), Refusal::kSlotMissing);
  EXPECT_EQ(refusal_of("half_stream"), Refusal::kSlotMissing);
}

TEST(LoadRules, R8) {
  EXPECT_EQ(refusal_of("negotiate_throws"), Refusal::kNegotiate);
  EXPECT_EQ(refusal_of("enumerate_throws"), Refusal::kSelftest);
  EXPECT_EQ(refusal_of("negotiate_exits"), Refusal::kScanCrash);
  EXPECT_EQ(refusal_of("destroy_crashes"), Refusal::kScanCrash);
}

}  // namespace
}  // namespace tenon::provider
