#include "core/base/pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace tenon {
namespace {

TEST(Pages, AreReadyForUseOfAnySize) {
  for (const size_t bytes :
       std::initializer_list<size_t>{1, 4096, 4097, (size_t{2} << 20) - 1, size_t{2} << 20,
                                     (size_t{5} << 20) + 4096, (size_t{6} << 20) + 1}) {
    auto* const pages = static_cast<uint8_t*>(map_pages(bytes));
    ASSERT_NE(pages, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pages) % 4096, 0u);
    std::memset(pages, 7, bytes);
    EXPECT_EQ(pages[bytes - 1], 7);
    unmap_pages(pages, bytes);
  }
}

TEST(Pages, NoneForMoreThanThereIs) {
  EXPECT_EQ(map_pages(SIZE_MAX), nullptr);
  EXPECT_EQ(map_pages(SIZE_MAX / 2), nullptr);
}

}  // namespace
}  // namespace tenon
