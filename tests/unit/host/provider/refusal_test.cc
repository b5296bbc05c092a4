#include "host/provider/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace tenon::provider {
namespace {

TEST(Refusal, EveryCodeHasNameCauseAndCure) {
  std::set<std::string_view> names;
  int code = 1;
  for (;; ++code) {
    auto refusal = static_cast<Refusal>(code);
    std::string_view name = refusal_name(refusal);
    if (name.empty()) break;
    EXPECT_EQ(name.substr(0, 2), "E_");
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_FALSE(refusal_cause(refusal).empty());
    EXPECT_FALSE(refusal_cure(refusal).empty());
    EXPECT_EQ(refusal_from_name(name), refusal);
  }
  EXPECT_EQ(code, 27) << "26 codes are promised; update this with the reference page";
  EXPECT_EQ(refusal_from_name("E_NONSENSE"), Refusal::kNone);
}

TEST(Refusal, AsStatus) {
  Status status = refuse(Refusal::kArch, "the library is for vax");
  EXPECT_EQ(status.kind(), ErrorKind::kProviderRefused);
  EXPECT_EQ(status.refusal(), "E_ARCH");
  EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("the library is for vax. Cause: "));
  EXPECT_THAT(std::string(refuse(Refusal::kDepMissing, "x", "install acme").message()),
              ::testing::EndsWith("Cure: install acme"));
}

}  // namespace
}  // namespace tenon::provider
