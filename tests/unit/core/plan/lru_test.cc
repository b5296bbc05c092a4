#include "core/plan/lru.h"

#include <gtest/gtest.h>

#include <string>

namespace tenon::plan {
namespace {

Signature of(int64_t n) {
  const int64_t dims[] = {n};
  Signature signature;
  signature.add_shape(dims);
  return signature;
}

TEST(Lru, ForgetsWhatWasNotUsedForLongest) {
  Lru<std::string> cache(2, 0);
  cache.insert(of(1), std::make_shared<std::string>("one"), 1);
  cache.insert(of(2), std::make_shared<std::string>("two"), 1);
  ASSERT_NE(cache.find(of(1)), nullptr);
  cache.insert(of(3), std::make_shared<std::string>("three"), 1);
  EXPECT_EQ(cache.find(of(2)), nullptr);
  EXPECT_EQ(*cache.find(of(1)), "one");
  EXPECT_EQ(cache.size(), 2u);
}

TEST(Lru, BytesAreBounded) {
  Lru<int> cache(0, 100);
  for (int i = 0; i < 10; ++i) cache.insert(of(i), std::make_shared<int>(i), 40);
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.bytes(), 80u);
}

TEST(Lru, NewestStaysEvenWhenTooLarge) {
  Lru<int> cache(4, 100);
  cache.insert(of(1), std::make_shared<int>(1), 10);
  cache.insert(of(2), std::make_shared<int>(2), 1000);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(*cache.find(of(2)), 2);
}

TEST(Lru, AValueInUseOutlivesItsEntry) {
  Lru<int> cache(1, 0);
  cache.insert(of(1), std::make_shared<int>(1), 0);
  const auto held = cache.find(of(1));
  cache.insert(of(2), std::make_shared<int>(2), 0);
  EXPECT_EQ(*held, 1);
}

TEST(Lru, InsertingAgainReplaces) {
  Lru<int> cache(4, 0);
  cache.insert(of(1), std::make_shared<int>(1), 5);
  cache.insert(of(1), std::make_shared<int>(2), 7);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.bytes(), 7u);
  EXPECT_EQ(*cache.find(of(1)), 2);
}

TEST(Signature, BoundariesCount) {
  const int64_t a[] = {1, 2}, b[] = {3}, c[] = {1}, d[] = {2, 3};
  Signature first, second;
  first.add_shape(a);
  first.add_shape(b);
  second.add_shape(c);
  second.add_shape(d);
  EXPECT_FALSE(first == second);
  EXPECT_NE(first.hash(), second.hash());
}

TEST(Signature, ScalarDiffersFromAbsent) {
  Signature scalar, absent;
  scalar.add_shape({});
  absent.add_absent();
  EXPECT_FALSE(scalar == absent);
}

TEST(Signature, BytesCountWithTheirLength) {
  const std::byte bytes[9] = {};
  Signature eight, nine;
  eight.add_bytes(std::span(bytes, 8));
  nine.add_bytes(bytes);
  EXPECT_FALSE(eight == nine);
}

}  // namespace
}  // namespace tenon::plan
