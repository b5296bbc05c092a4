#include "host/device/constant_pool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "core/base/file.h"

namespace tenon::runtime {
namespace {

constexpr size_t kBytes = size_t{4} << 20;

/// Bytes of the mapping at `data` that are in memory of this process.
size_t resident(const std::byte* data) {
  std::ifstream maps("/proc/self/smaps");
  const auto address = reinterpret_cast<uintptr_t>(data);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    char* rest = nullptr;
    const uintptr_t begin = std::strtoull(line.c_str(), &rest, 16);
    if (*rest == '-') inside = begin <= address && address < std::strtoull(rest + 1, nullptr, 16);
    if (inside && line.rfind("Rss:", 0) == 0) return std::strtoull(line.c_str() + 4, nullptr, 10) << 10;
  }
  return 0;
}

class ConstantPoolTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "tenon_constants_XXXXXX";
    const Descriptor file(::mkstemp(path_.data()));
    ASSERT_TRUE(file.ok());
    const std::string text(kBytes, 'x');
    ASSERT_EQ(::write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    mapping_ = Mapping(file, kBytes);
    ASSERT_NE(mapping_.data(), nullptr);
  }
  void TearDown() override { ::unlink(path_.c_str()); }

  /// A tensor of bytes from `offset` on.
  ir::TensorPtr tensor(size_t offset, const std::string& origin) const {
    const size_t size = kBytes - 4096;
    return *ir::Tensor::refer(ir::ElementType::kUInt8, {static_cast<int64_t>(size)}, mapping_.data() + offset,
                              size, nullptr, {.path = origin});
  }

  std::string path_;
  Mapping mapping_;
};

TEST_F(ConstantPoolTest, PagesOfAFileAreGivenBackOnceTheyAreCopied) {
  ConstantPool pool(true);
  const ConstantPtr copy = *pool.get(tensor(3, path_));
  EXPECT_NE(copy->descriptor().data, mapping_.data() + 3);
  EXPECT_EQ(static_cast<const char*>(copy->descriptor().data)[kBytes / 2], 'x');
  EXPECT_LT(resident(mapping_.data()), kBytes / 4);
  EXPECT_EQ(mapping_.view()[kBytes / 2], 'x') << "they are read again";
}

TEST_F(ConstantPoolTest, PagesInUseStayUntilTheConstantIsConsumed) {
  ConstantPool pool(true);
  const ConstantPtr constant = *pool.get(tensor(64, path_));
  ASSERT_EQ(constant->descriptor().data, mapping_.data() + 64);
  size_t sum = 0;
  for (size_t i = 0; i < kBytes; i += 512) sum += static_cast<size_t>(mapping_.view()[i]);
  EXPECT_GT(sum, 0u);
  EXPECT_GT(resident(mapping_.data()), kBytes / 2);
  pool.consumed(*constant);
  EXPECT_LT(resident(mapping_.data()), kBytes / 4);
}

/// Memory that is no mapping of a file would lose its content.
TEST_F(ConstantPoolTest, OtherMemoryIsLeftAlone) {
  for (const bool mapped : {false, true}) {
    ConstantPool pool(mapped);
    const std::string text(kBytes, 'y');
    const auto* data = reinterpret_cast<const std::byte*>(text.data()) + 1;
    const ConstantPtr copy = *pool.get(*ir::Tensor::refer(
        ir::ElementType::kUInt8, {static_cast<int64_t>(kBytes - 1)}, data, kBytes - 1, nullptr, {}));
    pool.consumed(*copy);
    EXPECT_EQ(text, std::string(kBytes, 'y'));
  }
}

TEST_F(ConstantPoolTest, SessionsShareCopiesOfTheSameBytes) {
  ConstantPool one, two;
  const ConstantPtr first = *one.get(tensor(3, path_)), second = *two.get(tensor(3, path_));
  EXPECT_EQ(first->descriptor().data, second->descriptor().data);
  // The bytes count, not where they come from: this file has one value everywhere.
  EXPECT_EQ((*two.get(tensor(5, path_)))->descriptor().data, first->descriptor().data);

  std::string text(kBytes, 'x');
  const auto other = [&] {
    return *ir::Tensor::refer(ir::ElementType::kUInt8, {kBytes - 4096},
                              reinterpret_cast<const std::byte*>(text.data()) + 7, kBytes - 4096, nullptr,
                              {});
  };
  text[kBytes / 2 + 1] = 'y';  // between the samples
  const ConstantPtr third = *two.get(other());
  EXPECT_NE(third->descriptor().data, first->descriptor().data);
  EXPECT_EQ(std::memcmp(third->descriptor().data, text.data() + 7, kBytes - 4096), 0);
}

TEST(SharedCopies, LiveAsLongAsSomethingUsesThem) {
  std::vector<std::byte> bytes(1 << 20, std::byte{3});
  std::weak_ptr<const Copy> seen;
  {
    const std::shared_ptr<const Copy> one = SharedCopies::get().copy(bytes),
                                      two = SharedCopies::get().copy(bytes);
    EXPECT_EQ(one, two);
    seen = one;
  }
  EXPECT_TRUE(seen.expired());
  bytes[77] = std::byte{4};
  const std::shared_ptr<const Copy> after = SharedCopies::get().copy(bytes);
  EXPECT_TRUE(after->holds(bytes));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(after->data()) % Copy::kAlignment, 0u);
  const std::vector<std::byte> few(100, std::byte{1});
  EXPECT_NE(SharedCopies::get().copy(few), SharedCopies::get().copy(few));
}

}  // namespace
}  // namespace tenon::runtime
