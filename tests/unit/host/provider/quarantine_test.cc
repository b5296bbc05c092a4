#include "host/provider/quarantine.h"

#include <gtest/gtest.h>

#include "tests/unit/host/provider/provider_folder.h"

namespace tenon::provider {
namespace {

const std::string kHash(64, 'a');

QuarantineRecord record() {
  return {kHash, "acme", "1.0.0", "/x/acme.so", "E_SCAN_CRASH", "died \xff \"here\"", 0, 0};
}

TEST(Quarantine, SetsAsideAtTheThirdStrike) {
  ProviderFolder folder;
  Quarantine quarantine(folder.state());
  EXPECT_TRUE(quarantine.list().empty());
  ASSERT_EQ(quarantine.strike(record()).to_string(), "OK");
  ASSERT_TRUE(quarantine.strike(record()).ok());
  EXPECT_FALSE(quarantine.set_aside(kHash).has_value());
  ASSERT_TRUE(quarantine.strike(record()).ok());
  ASSERT_TRUE(quarantine.set_aside(kHash).has_value());
  QuarantineRecord kept = *Quarantine(folder.state()).set_aside(kHash);
  EXPECT_EQ(kept.strikes, 3);
  EXPECT_EQ(kept.provider_id, "acme");
  EXPECT_EQ(kept.reason, "died \xEF\xBF\xBD \"here\"");
  EXPECT_GT(kept.last_seconds, 0);
  EXPECT_TRUE(quarantine.remove(kHash).ok());
  EXPECT_FALSE(quarantine.set_aside(kHash).has_value());
  EXPECT_EQ(quarantine.remove(kHash).code(), StatusCode::kNotFound);
  EXPECT_EQ(quarantine.remove(kHash).kind(), ErrorKind::kInvalidInput) << "the caller's mistake";
}

TEST(Quarantine, BrokenRecordsAndNamesCountAsNone) {
  ProviderFolder folder;
  folder.write("state/quarantine/" + kHash + ".json", "{ broken");
  Quarantine quarantine(folder.state());
  EXPECT_TRUE(quarantine.list().empty());
  EXPECT_FALSE(quarantine.remove("../../etc/passwd").ok());
  EXPECT_TRUE(quarantine.strike({"../x", "", "", "", "", "", 0, 0}).ok());
}

TEST(Quarantine, WithoutAFolderNothingIsKept) {
  Quarantine quarantine("");
  EXPECT_TRUE(quarantine.strike(record()).ok());
  EXPECT_TRUE(quarantine.list().empty());
}

}  // namespace
}  // namespace tenon::provider
