// Negotiation as the SDK does it for a provider: which hosts fit, and what a refusal says.
#include "tenon/ep/negotiate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <vector>

namespace tenon::ep {
namespace {

using testing::HasSubstr;

constexpr uint32_t kMajor = TENON_EP_ABI_MAJOR, kMinor = TENON_EP_ABI_MINOR,
                   kOldest = TENON_EP_ABI_OLDEST_MINOR;

class Negotiate : public testing::Test {
 protected:
  Negotiate() {
    io_.struct_size = sizeof(io_);
    io_.host_major = kMajor;
    io_.host_minor = kMinor;
    io_.host_oldest_minor = kOldest;
    io_.host = &table_;
    table_.struct_size = sizeof(table_);
    table_.abi_minor = kMinor;
    table_.scratch = scratch;
    detail::g_host = {};
  }
  ~Negotiate() override { detail::g_host = before_; }

  static void* scratch(tenon_run*, uint64_t) { return nullptr; }
  tenon_status ask() { return negotiate(&io_, own_); }
  void expect_refused(std::string_view why) {
    EXPECT_EQ(ask(), TENON_FAILED_PRECONDITION);
    EXPECT_THAT(io_.reason, HasSubstr(std::string(why)));
    EXPECT_EQ(io_.api, nullptr);
    EXPECT_EQ(host().scratch, nullptr) << "the table of a host that does not fit was kept";
  }

  const tenon_host_api before_ = detail::g_host;
  tenon_ep_api api_{};
  tenon_host_api table_{};
  tenon_ep_negotiation io_{};
  ProviderIdentity own_{.id = "acme", .version = "1.2.3", .build_id = "b", .api = &api_};
};

TEST_F(Negotiate, AnswersAHostOfTheSameMinor) {
  ASSERT_EQ(ask(), TENON_OK) << io_.reason;
  EXPECT_EQ(io_.major, kMajor);
  EXPECT_EQ(io_.minor, kMinor);
  EXPECT_EQ(io_.sanitizer, own_sanitizer());
  EXPECT_STREQ(io_.provider_id, "acme");
  EXPECT_STREQ(io_.provider_version, "1.2.3");
  EXPECT_STREQ(io_.build_id, "b");
  EXPECT_EQ(io_.api, &api_);
  EXPECT_EQ(host().scratch, scratch);
}

TEST_F(Negotiate, AgreesOnTheSmallerMinorWithANewerHost) {
  io_.host_minor = table_.abi_minor = kMinor + 4;
  ASSERT_EQ(ask(), TENON_OK) << io_.reason;
  EXPECT_EQ(io_.minor, kMinor);
}

TEST_F(Negotiate, AgreesOnTheSmallerMinorWithTheOldestHost) {
  io_.host_minor = table_.abi_minor = kOldest;
  ASSERT_EQ(ask(), TENON_OK) << io_.reason;
  EXPECT_EQ(io_.minor, kOldest);
}

TEST_F(Negotiate, RefusesAnOlderHost) {
  io_.host_minor = io_.host_oldest_minor = kOldest - 1;
  expect_refused(cat("needs a host of ABI ", kMajor, ".", kOldest, " or later"));
}

TEST_F(Negotiate, RefusesAHostWithoutWhatThisProviderNeeds) {
  own_.min_minor = kMinor + 1;
  expect_refused(cat("needs a host of ABI ", kMajor, ".", kMinor + 1, " or later"));
  io_.host_minor = kMinor + 1;
  EXPECT_EQ(ask(), TENON_OK) << io_.reason;
}

TEST_F(Negotiate, RefusesAHostThatNeedsANewerProvider) {
  io_.host_minor = io_.host_oldest_minor = kMinor + 1;
  expect_refused(cat("the host needs ABI ", kMajor, ".", kMinor + 1, " or later"));
}

TEST_F(Negotiate, RefusesAnotherMajor) {
  io_.host_major = kMajor + 1;
  expect_refused(cat("the host asks for major ", kMajor + 1));
}

TEST_F(Negotiate, RefusesAHostTableThatLacksFunctionsOfTheOldestMinor) {
  table_.struct_size = detail::kOldestHostTable - 1;
  expect_refused(cat("the table of the host has ", table_.struct_size, " bytes"));
}

TEST_F(Negotiate, TakesNothingBeyondTheHostTable) {
  struct {
    tenon_host_api table;
    uint64_t later[4];
  } newer{table_, {1, 2, 3, 4}};
  newer.table.struct_size = sizeof(newer);
  io_.host = &newer.table;
  ASSERT_EQ(ask(), TENON_OK) << io_.reason;
  EXPECT_EQ(host().scratch, scratch);
}

TEST_F(Negotiate, SaysWhyAStructIsTooSmall) {
  for (const size_t room : {size_t{1}, size_t{8}, sizeof(io_.reason) - 1}) {
    std::fill(std::begin(io_.reason), std::end(io_.reason), '#');
    io_.struct_size = static_cast<uint32_t>(offsetof(tenon_ep_negotiation, reason) + room);
    EXPECT_EQ(ask(), TENON_INVALID_ARGUMENT);
    const std::string said(io_.reason);
    EXPECT_LT(said.size(), room);
    EXPECT_THAT("tenon_ep_negotiation has", testing::StartsWith(said.substr(0, 24)));
    EXPECT_EQ(io_.reason[room], '#') << "written beyond struct_size";
  }
}

TEST_F(Negotiate, WritesNothingWhereTheStructHasNoReason) {
  std::fill(std::begin(io_.reason), std::end(io_.reason), '#');
  io_.struct_size = offsetof(tenon_ep_negotiation, reason);
  EXPECT_EQ(ask(), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(io_.reason[0], '#');
  EXPECT_EQ(io_.api, nullptr);
  EXPECT_EQ(negotiate(nullptr, own_), TENON_INVALID_ARGUMENT);
}

TEST_F(Negotiate, PassesOnWhyTheMachineDoesNotFit) {
  own_.refuse = [] { return std::string("no such processor"); };
  EXPECT_EQ(ask(), TENON_FAILED_PRECONDITION);
  EXPECT_STREQ(io_.reason, "no such processor");
}

TEST_F(Negotiate, NamesAFailureOfItsOwn) {
  own_.refuse = []() -> std::string { throw std::bad_alloc(); };
  EXPECT_EQ(ask(), TENON_RESOURCE_EXHAUSTED);
  EXPECT_STREQ(io_.reason, "out of memory");
  own_.refuse = []() -> std::string { throw std::runtime_error("no driver"); };
  EXPECT_EQ(ask(), TENON_INTERNAL);
  EXPECT_STREQ(io_.reason, "no driver");
  own_.refuse = []() -> std::string { fail(TENON_INTERNAL, "no board"); };
  EXPECT_EQ(ask(), TENON_INTERNAL);
  EXPECT_STREQ(io_.reason, "no board");
}

}  // namespace
}  // namespace tenon::ep
