#include "core/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace tenon {
namespace {

Result<int> parse(bool good) {
  if (!good) return invalid_input("not a number");
  return 7;
}

Status sum_of_two(bool first, bool second, int* out) {
  ASSIGN_OR_RETURN(int a, parse(first));
  ASSIGN_OR_RETURN(const int b, parse(second));
  *out = a + b;
  return ok_status();
}

Result<std::unique_ptr<int>> make_owned() { return std::make_unique<int>(3); }

Result<std::unique_ptr<int>> pass_owned() {
  ASSIGN_OR_RETURN(auto owned, make_owned());
  ++*owned;
  return owned;
}

TEST(Result, HoldsAValue) {
  Result<int> result = parse(true);
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, 7);
  EXPECT_EQ(result.value(), 7);
  EXPECT_TRUE(result.error().ok());
}

TEST(Result, HoldsAnError) {
  Result<int> result = parse(false);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind(), ErrorKind::kInvalidInput);
  EXPECT_EQ(result.status().message(), "not a number");
  EXPECT_EQ(std::move(result).value_or(1), 1);
}

TEST(Result, AnOkStatusIsNoError) {
  Result<int> result = ok_status();
  EXPECT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), StatusCode::kInternal);
}

TEST(Result, MovesWhatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = pass_owned();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(**result, 4);
  std::unique_ptr<int> owned = std::move(result).value();
  EXPECT_EQ(*owned, 4);
}

TEST(Result, ArrowReachesTheValue) {
  Result<std::string> result = std::string("abc");
  EXPECT_EQ(result->size(), 3u);
  result->push_back('d');
  EXPECT_EQ(*result, "abcd");
}

TEST(Result, AssignOrReturnStopsAtTheFirstError) {
  int sum = 0;
  EXPECT_TRUE(sum_of_two(true, true, &sum).ok());
  EXPECT_EQ(sum, 14);
  sum = 0;
  EXPECT_EQ(sum_of_two(true, false, &sum).message(), "not a number");
  EXPECT_EQ(sum_of_two(false, true, &sum).message(), "not a number");
  EXPECT_EQ(sum, 0);
}

TEST(Result, AssignOrReturnAssignsToAnExistingVariable) {
  auto collect = [](std::vector<int>& out) -> Status {
    for (int i = 0; i < 2; ++i) {
      out.emplace_back();
      ASSIGN_OR_RETURN(out.back(), parse(i == 0));
    }
    return ok_status();
  };
  std::vector<int> out;
  EXPECT_FALSE(collect(out).ok());
  EXPECT_EQ(out, (std::vector<int>{7, 0}));
}

}  // namespace
}  // namespace tenon
