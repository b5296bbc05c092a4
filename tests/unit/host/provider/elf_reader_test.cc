#include "host/provider/elf_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "host/provider/machine.h"
#include "tests/support/paths.h"

namespace tenon::provider {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

class Bytes : public ByteSource {
 public:
  explicit Bytes(std::string text) : text_(std::move(text)) {}
  uint64_t size() const override { return text_.size(); }
  bool read(uint64_t offset, void* out, size_t n) const override {
    if (offset > text_.size() || n > text_.size() - offset) return false;
    std::memcpy(out, text_.data() + offset, n);
    return true;
  }

 private:
  std::string text_;
};

std::string zoo(const std::string& name) {
  std::ifstream file(test::fakes_dir() + "/defects/" + name + "/1.0.0/tenon_ep_" + name + ".so",
                     std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ElfReader, AGoodProvider) {
  Result<BinaryInfo> info = read_elf(Bytes(zoo("good")));
  ASSERT_EQ(info.status().to_string(), "OK");
  EXPECT_EQ(info->arch, host_arch());
  EXPECT_TRUE(info->is_shared_library);
  EXPECT_THAT(info->exports, ElementsAre("tenon_ep_negotiate"));
  EXPECT_TRUE(info->unique.empty());
  ASSERT_TRUE(info->has_note);
  EXPECT_EQ(info->note.at("id"), "good");
  EXPECT_EQ(info->note.at("version"), "1.0.0");
}

TEST(ElfReader, WhatIsWrongWithTheZoo) {
  EXPECT_THAT(read_elf(Bytes(zoo("unique_symbol")))->unique, ElementsAre("tenon_test_unique"));
  EXPECT_THAT(read_elf(Bytes(zoo("two_exports")))->exports, Contains("another_export"));
  EXPECT_THAT(read_elf(Bytes(zoo("needs_absent")))->needed, Contains("libtenon_test_absent.so"));
  EXPECT_FALSE(read_elf(Bytes(zoo("no_note")))->has_note);
}

TEST(ElfReader, OtherFiles) {
  EXPECT_FALSE(read_elf(Bytes("")).ok());
  EXPECT_FALSE(read_elf(Bytes("\177ELF")).ok());
  EXPECT_FALSE(read_elf(Bytes("MZ this is for another system")).ok());
  std::string big_endian = zoo("good");
  big_endian[5] = 2;
  EXPECT_THAT(read_elf(Bytes(big_endian))->arch, ::testing::HasSubstr("big-endian"));
}

TEST(ElfReader, EveryTruncation) {
  std::string whole = zoo("good");
  for (size_t n = 0; n < whole.size(); n += 61) {
    Result<BinaryInfo> info = read_elf(Bytes(whole.substr(0, n)));
    EXPECT_TRUE(info.ok() || !info.status().message().empty());
  }
}

// Bytes of the headers and tables changed at random: never more than a wrong answer. Sanitizers watch.
TEST(ElfReader, ChangedBytes) {
  const std::string whole = zoo("unique_symbol");
  std::mt19937 random(20240229);
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = whole;
    size_t area = round % 2 == 0 ? 1024 : bytes.size();
    for (int change = 0; change < 1 + round % 8; ++change)
      bytes[random() % area] = static_cast<char>(random());
    // The magic stays, else nothing else is looked at.
    std::memcpy(bytes.data(), whole.data(), 20);
    (void)read_elf(Bytes(std::move(bytes)));
  }
}

}  // namespace
}  // namespace tenon::provider
