#include "host/services/memory_budget.h"

#include <gmock/gmock.h>

#include "host/device/device.h"
#include "host/device/tenon_run.h"
#include "host/device/value.h"

namespace tenon::runtime {
namespace {

using testing::HasSubstr;

TEST(MemoryBudget, RefusesWhatDoesNotFitAndNamesTheCure) {
  MemoryBudget budget(1000, 0);
  ASSERT_TRUE(budget.take(600).ok());
  const Status refused = budget.take(401);
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.kind(), ErrorKind::kLimitExceeded);
  EXPECT_THAT(refused.to_string(), HasSubstr("401 bytes"));
  EXPECT_THAT(refused.to_string(), HasSubstr("the 600 in use"));
  EXPECT_THAT(refused.to_string(), HasSubstr("memory.host_limit is 1000; raise it"));
  EXPECT_EQ(budget.used(), 600u);
  EXPECT_TRUE(budget.take(400).ok());
  EXPECT_FALSE(budget.take(UINT64_MAX).ok());
  EXPECT_EQ(budget.used(), 1000u);
}

TEST(MemoryBudget, ZeroIsWhatTheMachineHas) {
  MemoryBudget budget(0, 0);
  EXPECT_GT(budget.limit(), uint64_t{1} << 24);
  EXPECT_TRUE(budget.take(1 << 20).ok());
  EXPECT_THAT(budget.take(uint64_t{1} << 60).to_string(), HasSubstr("this machine has"));
}

TEST(MemoryBudget, CountsValuesBuffersAndScratchUntilTheyAreFreed) {
  const auto budget = std::make_shared<MemoryBudget>(uint64_t{1} << 20, 0);
  const std::vector<int64_t> dims = {100};
  ValueRef value;
  Buffer buffer;
  auto scratch = [&] {
    const BudgetScope scope(budget);
    value = *make_tensor(TENON_FLOAT32, dims);
    buffer = *Buffer::allocate(host_domain(), 1000);
    return std::make_unique<ScratchArena>();
  }();
  EXPECT_EQ(budget->used(), 1400u);
  ASSERT_NE(scratch->allocate(64), nullptr);  // outside of the scope: the arena remembers
  EXPECT_EQ(budget->used(), 1464u);
  EXPECT_EQ(scratch->allocate(1 << 20), nullptr);
  const ValueRef uncounted = *make_tensor(TENON_FLOAT32, dims);
  EXPECT_EQ(budget->used(), 1464u);
  value.reset();
  buffer.reset();
  scratch.reset();
  EXPECT_EQ(budget->used(), 0u);
}

TEST(MemoryBudget, BoundsTheLongestStringAndNotTheirNumber) {
  const auto budget = std::make_shared<MemoryBudget>(uint64_t{1} << 20, 10);
  const BudgetScope scope(budget);
  const std::vector<int64_t> one = {1}, three = {3};
  const std::vector<std::string> many(3, "0123456789"), longer = {"0123456789a"};
  EXPECT_TRUE(make_strings(three, many).ok());
  const Status refused = make_strings(one, longer).status();
  EXPECT_EQ(refused.kind(), ErrorKind::kLimitExceeded);
  EXPECT_THAT(refused.to_string(),
              HasSubstr("a string of 11 bytes exceeds limits.string_bytes (10); raise it"));
}

TEST(BudgetScope, Nests) {
  const auto outer = std::make_shared<MemoryBudget>(1, 0), inner = std::make_shared<MemoryBudget>(1, 0);
  EXPECT_EQ(current_budget(), nullptr);
  const BudgetScope first(outer);
  {
    const BudgetScope second(inner);
    EXPECT_EQ(current_budget(), inner);
  }
  EXPECT_EQ(current_budget(), outer);
}

}  // namespace
}  // namespace tenon::runtime
