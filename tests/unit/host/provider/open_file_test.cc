#include "host/provider/open_file.h"
#include "host/base/sha256.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "ep-sdk/shared/writers.h"
#include "tests/unit/host/provider/provider_folder.h"

namespace tenon::provider {
namespace {

constexpr const char* kHashOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(OpenFile, HashesAndReadsWithinBounds) {
  ProviderFolder folder;
  std::string path = folder.write("abc.txt", "abc");
  auto file = OpenFile::open(path);
  ASSERT_EQ(file.status().to_string(), "OK");
  EXPECT_EQ((*file)->sha256().value_or(""), kHashOfAbc);
  EXPECT_EQ(sha256_of("abc"), kHashOfAbc);
  char two[2];
  EXPECT_TRUE((*file)->read(1, two, 2));
  EXPECT_EQ(std::string(two, 2), "bc");
  EXPECT_FALSE((*file)->read(2, two, 2));
  EXPECT_FALSE((*file)->read(99, two, 1));
}

TEST(OpenFile, OnlyRegularFiles) {
  ProviderFolder folder;
  std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(OpenFile::open(pipe).ok()) << "and it does not block";
  EXPECT_FALSE(OpenFile::open(folder.path()).ok());
  EXPECT_FALSE(OpenFile::open(folder.path() + "/none").ok());
}

TEST(FileIdentity, ChangesWithContentAttributesAndReplacement) {
  ProviderFolder folder;
  std::string path = folder.write("a", "1");
  FileIdentity before = *identity_of(path);
  EXPECT_EQ(*identity_of(path), before);
  folder.write("b", "1");
  std::filesystem::rename(folder.path() + "/b", path);
  EXPECT_FALSE(*identity_of(path) == before);
}

TEST(CheckWriters, GroupsOfOneAreTheirUser) {
  EXPECT_TRUE(shared::is_private_group(0, 0));
  EXPECT_FALSE(shared::is_private_group(0, 1));
  EXPECT_FALSE(shared::is_private_group(4294967294u, 0));
}

TEST(CheckWriters, OthersAreRefused) {
  ProviderFolder folder;
  std::string path = folder.write("sub/a", "1");
  EXPECT_EQ(check_writers(path).to_string(), "OK") << "the folder for temporary files above is sticky";
  chmod(path.c_str(), 0602);
  EXPECT_EQ(check_writers(path).refusal(), "E_FILE_MODE");
  chmod(path.c_str(), 0600);
  chmod((folder.path() + "/sub").c_str(), 0703);
  EXPECT_EQ(check_writers(path).refusal(), "E_FILE_MODE");
}

}  // namespace
}  // namespace tenon::provider
