#include "binary.h"

#include <gtest/gtest.h>

namespace tenon::opencl {
namespace {

const CachedBinary kContent{{"Relu 64x1x1", "Add 64x1x1"}, std::string("a\0binary\xff", 9)};

TEST(OpenClBinary, ComesBackAsItWas) {
  CachedBinary out;
  ASSERT_TRUE(unpack_binary(pack_binary(kContent), &out));
  EXPECT_EQ(out.warmed, kContent.warmed);
  EXPECT_EQ(out.binary, kContent.binary);
}

TEST(OpenClBinary, EveryFlippedBitIsFound) {
  const std::string whole = pack_binary(kContent);
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    CachedBinary out;
    EXPECT_FALSE(unpack_binary(damaged, &out)) << "bit " << bit;
  }
}

TEST(OpenClBinary, EveryMissingEndIsFound) {
  const std::string whole = pack_binary(kContent);
  for (size_t size = 0; size < whole.size(); ++size) {
    CachedBinary out;
    EXPECT_FALSE(unpack_binary(whole.substr(0, size), &out)) << size << " bytes";
  }
  CachedBinary out;
  EXPECT_FALSE(unpack_binary(whole + "x", &out));
}

TEST(OpenClBinary, NothingIsNoBinary) {
  CachedBinary out;
  EXPECT_FALSE(unpack_binary(pack_binary({{}, ""}), &out));
}

}  // namespace
}  // namespace tenon::opencl
