#include "host/services/timetable.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tenon::runtime {
namespace {

namespace fs = std::filesystem;

class TimetableTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder); }
  const fs::path folder =
      fs::path(::testing::TempDir()) /
      (std::string("times_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
  BlobCache cache{folder.string()};
};

TEST_F(TimetableTest, WhatIsStoredIsReadAgain) {
  Timetable table;
  table.set("add", 12);
  table.set("conv", 1);
  ASSERT_TRUE(table.store(cache, "cpu", {}).ok());
  EXPECT_EQ(Timetable::read(&cache, "cpu").times(), table.times());
  EXPECT_TRUE(Timetable::read(&cache, "gpu").times().empty());
  EXPECT_TRUE(Timetable::read(nullptr, "cpu").times().empty());
  EXPECT_EQ(*Timetable::read(&cache, "cpu").find("add"), 12);
  EXPECT_EQ(Timetable::read(&cache, "cpu").find("relu"), nullptr);
}

TEST_F(TimetableTest, LaterTimesWinAndOthersStay) {
  Timetable first, second;
  first.set("add", 12);
  first.set("conv", 1);
  second.set("add", 13);
  ASSERT_TRUE(first.store(cache, "cpu", {}).ok());
  ASSERT_TRUE(second.store(cache, "cpu", {}).ok());
  const Timetable read = Timetable::read(&cache, "cpu");
  EXPECT_EQ(*read.find("add"), 13);
  EXPECT_EQ(*read.find("conv"), 1);
}

TEST_F(TimetableTest, WhatIsDamagedOrOfAnotherFormIsEmpty) {
  const char* const blobs[] = {"tenon times 2\nadd 12\n", "tenon times 1\nadd\n",
                               "tenon times 1\nadd 12",   "tenon times 1\nadd x\n",
                               "tenon times 1\nadd 0\n",  "tenon times 1\nok 1\nadd -3\n",
                               "nothing of this kind",    "tenon times 1\nadd 99999999999999999999\n"};
  for (const char* blob : blobs) {
    ASSERT_TRUE(cache.put("cpu", blob, {}).ok());
    EXPECT_TRUE(Timetable::read(&cache, "cpu").times().empty()) << blob;
  }
  Timetable table;
  table.set("add", 12);
  ASSERT_TRUE(table.store(cache, "cpu", {}).ok()) << "over a blob of another form";
  EXPECT_EQ(Timetable::read(&cache, "cpu").times().size(), 1u);
  const fs::path file = fs::directory_iterator(folder)->path();
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(-2, std::ios::end).put('9');
  EXPECT_TRUE(Timetable::read(&cache, "cpu").times().empty()) << "one digit was changed";
}

TEST_F(TimetableTest, LimitsAreKept) {
  Timetable table;
  table.set(std::string(1000, 'n'), 12);
  const Status status = table.store(cache, "cpu", {100, 0});
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.to_string().find("limits.cache_blob_bytes"), std::string::npos);
}

}  // namespace
}  // namespace tenon::runtime
