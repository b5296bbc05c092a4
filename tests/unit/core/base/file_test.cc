#include "core/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/base/status.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

/// A folder of its own for each test, removed afterwards.
class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "tenon_file_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  size_t count() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_;
};

std::string content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST_F(File, WritesAllPiecesAndReplacesWhatWasThere) {
  const std::string path = folder_ + "/a";
  ASSERT_FALSE(write_file(path, "the first, which is longer"));
  const std::string_view pieces[] = {"one ", "", "two"};
  ASSERT_FALSE(write_file(path, pieces));
  EXPECT_EQ(content(path), "one two");
  EXPECT_EQ(count(), 1u);
}

TEST_F(File, PrivateFilesAreTheUsersOwn) {
  const mode_t before = ::umask(022);
  ASSERT_FALSE(write_file(folder_ + "/open", "x"));
  ASSERT_FALSE(write_file(folder_ + "/private", "x", {.is_private = true, .durable = false}));
  ::umask(before);
  EXPECT_EQ(mode_of(folder_ + "/open"), 0644u);
  EXPECT_EQ(mode_of(folder_ + "/private"), 0600u);
}

TEST_F(File, AFailureSaysWhyAndLeavesNothing) {
  EXPECT_EQ(write_file(folder_ + "/none/a", "x"), std::errc::no_such_file_or_directory);
  fs::create_directories(folder_ + "/taken/by");
  EXPECT_TRUE(write_file(folder_ + "/taken", "x"));
  EXPECT_EQ(count(), 1u);
}

/// What a process of the same number left behind when it died on the way.
TEST_F(File, PassesByWhatAnotherProcessLeft) {
  const std::string path = folder_ + "/a";
  constexpr int kLeft = 100;
  for (int i = 0; i < kLeft; ++i) std::ofstream(str_cat(path, ".", ::getpid(), ".", i, ".part")) << "left";
  ASSERT_FALSE(write_file(path, "new"));
  EXPECT_EQ(content(path), "new");
  EXPECT_EQ(count(), kLeft + 1u);
}

TEST_F(File, AMappingHoldsTheBytesUntilItGoes) {
  const std::string path = folder_ + "/a";
  ASSERT_FALSE(write_file(path, "bytes"));
  Mapping kept;
  {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(file.ok());
    Mapping made(file, 5);
    kept = std::move(made);
  }
  EXPECT_EQ(kept.view(), "bytes");
  const Descriptor none(::open((path + "b").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(none.ok());
  EXPECT_EQ(Mapping(none, 5).data(), nullptr);
}

}  // namespace
}  // namespace tenon
