#include "host/services/blob_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "host/services/blob_file.h"

namespace tenon::runtime {
namespace {

namespace fs = std::filesystem;

class BlobCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder = fs::path(::testing::TempDir()) / (std::string("blobs_") + info->name());
    fs::remove_all(folder);
  }
  void TearDown() override { fs::remove_all(folder); }
  std::string directory() const { return (folder / "sub").string(); }
  fs::path only_file() const { return fs::directory_iterator(folder / "sub")->path(); }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder / "sub"), fs::directory_iterator()));
  }
  fs::path folder;
};

TEST_F(BlobCacheTest, WhatIsPutIsFoundAgain) {
  const std::string blob(1000, 'b');
  {
    BlobCache cache(directory());
    EXPECT_FALSE(cache.get("key").ok());
    ASSERT_TRUE(cache.put("key", blob, {}).ok());
    ASSERT_TRUE(cache.put("key", blob, {}).ok());
  }
  BlobCache cache(directory());
  const auto found = cache.get("key");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, blob);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(found->data()) % 64, 0u);
  cache.done(*found);
  EXPECT_FALSE(cache.get("other").ok());
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(fs::status(folder / "sub").permissions(), fs::perms::owner_all);
}

TEST_F(BlobCacheTest, DamageIsAbsence) {
  BlobCache cache(directory());
  ASSERT_TRUE(cache.put("key", std::string(1000, 'b'), {}).ok());
  const fs::path file = only_file();
  {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(500);
    out.put('x');
  }
  EXPECT_EQ(cache.get("key").error().code(), StatusCode::kNotFound);
  fs::resize_file(file, 70);
  EXPECT_FALSE(cache.get("key").ok());
  fs::resize_file(file, 3);
  EXPECT_FALSE(cache.get("key").ok());
  ASSERT_TRUE(cache.put("key", "again", {}).ok());
  EXPECT_EQ(*cache.get("key"), "again");
}

TEST_F(BlobCacheTest, TheOldestMakeRoom) {
  BlobCache cache(directory());
  const BlobLimits limits{0, 4000};
  for (int i = 0; i < 6; ++i) {
    const std::string key = "key" + std::to_string(i);
    ASSERT_TRUE(cache.put(key, std::string(1000, 'b'), limits).ok());
    for (const auto& entry : fs::directory_iterator(folder / "sub")) {
      fs::last_write_time(entry, fs::last_write_time(entry) - std::chrono::hours(1));
    }
  }
  EXPECT_LE(files(), 3u);
  EXPECT_FALSE(cache.get("key0").ok());
  EXPECT_TRUE(cache.get("key5").ok());
}

TEST_F(BlobCacheTest, ABlobAboveALimitIsNotKept) {
  BlobCache cache(directory());
  const std::string blob(5000, 'b');
  const Status one = cache.put("key", blob, {4999, 0});
  EXPECT_EQ(one.kind(), ErrorKind::kLimitExceeded);
  EXPECT_EQ(one.message(),
            "a blob of 5000 bytes for the cache exceeds limits.cache_blob_bytes (4999); raise it to keep the "
            "blob for the next process");
  const Status all = cache.put("key", blob, {0, 5000});  // the file has a header, too
  EXPECT_EQ(all.kind(), ErrorKind::kLimitExceeded);
  EXPECT_NE(all.message().find("exceeds limits.cache_bytes (5000)"), std::string_view::npos) << all.message();
  EXPECT_FALSE(cache.get("key").ok());
  EXPECT_TRUE(cache.put("key", blob, {5000, 6000}).ok());
}

TEST_F(BlobCacheTest, ALimitOfOnePutRemovesWhatOthersKept) {
  BlobCache cache(directory());
  for (const char* key : {"a", "b", "c"}) ASSERT_TRUE(cache.put(key, std::string(1000, 'b'), {}).ok());
  EXPECT_EQ(files(), 3u);
  ASSERT_TRUE(cache.put("d", std::string(1000, 'b'), {0, 2500}).ok());
  EXPECT_EQ(files(), 2u);
  EXPECT_TRUE(cache.get("d").ok());
}

TEST_F(BlobCacheTest, AFolderOthersMayChangeIsNotUsed) {
  fs::create_directories(folder / "sub");
  ::chmod((folder / "sub").c_str(), 0777);
  BlobCache cache(directory());
  EXPECT_EQ(cache.put("key", "blob", {}).code(), StatusCode::kPermissionDenied);
}

/// Gives a variable back what it was.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Variable() { before_.has_value() ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(BlobFolder, FollowsXdgCacheHome) {
  const Variable home("HOME", "/home/somebody");
  {
    const Variable cache("XDG_CACHE_HOME", "/somewhere");
    EXPECT_EQ(user_cache_folder(), "/somewhere/tenon");
  }
  const Variable cache("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(user_cache_folder(), "/home/somebody/.cache/tenon");
}

TEST_F(BlobCacheTest, APipeInAFilesPlaceDoesNotStopUs) {
  BlobCache cache(directory());
  ASSERT_TRUE(cache.put("key", "blob", {}).ok());
  const fs::path file = only_file();
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(cache.get("key").error().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace tenon::runtime
