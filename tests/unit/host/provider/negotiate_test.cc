#include "host/provider/negotiate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "host/provider/machine.h"

namespace tenon::provider {
namespace {

using ::testing::HasSubstr;

void nothing() {}

/// A table with functions beyond those that this host knows.
struct LargerTable {
  tenon_ep_api known;
  void (*more[3])();
};

LargerTable g_table;
tenon_ep_negotiation g_asked;
uint32_t g_major = 0, g_minor = 0;

tenon_status answer(tenon_ep_negotiation* io) {
  g_asked = *io;
  io->major = g_major;
  io->minor = g_minor;
  io->api = &g_table.known;
  std::strcpy(io->provider_id, "acme");
  return TENON_OK;
}

class NegotiateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    g_table = {};
    g_table.known.struct_size = sizeof(tenon_ep_api);
    g_table.known.abi_minor = TENON_EP_ABI_MINOR;
#define TENON_SET(function, need, threads, time) fill(g_table.known.function);
    TENON_EP_SLOTS(TENON_SET)
#undef TENON_SET
    for (auto& function : g_table.more) function = nothing;
    g_major = TENON_EP_ABI_MAJOR;
    g_minor = TENON_EP_ABI_MINOR;
  }
  template <class Function>
  static void fill(Function& slot) {
    slot = reinterpret_cast<Function>(&nothing);
  }
  static Negotiation talk() { return *negotiate(answer, 0, nullptr, {}); }
  static Refusal refusal() { return talk().refusal; }
};

TEST_F(NegotiateTest, TheHostOffersItsMinors) {
  const Negotiation talked = talk();
  EXPECT_EQ(talked.refusal, Refusal::kNone) << talked.reason;
  EXPECT_EQ(g_asked.host_major, TENON_EP_ABI_MAJOR);
  EXPECT_EQ(g_asked.host_minor, TENON_EP_ABI_MINOR);
  EXPECT_EQ(g_asked.host_oldest_minor, TENON_EP_ABI_OLDEST_MINOR);
  EXPECT_EQ(talked.agreement.minor, TENON_EP_ABI_MINOR);
}

TEST_F(NegotiateTest, AMinorOutsideOfTheRangeIsRefused) {
  g_minor = TENON_EP_ABI_MINOR + 1;
  g_table.known.abi_minor = g_minor;
  EXPECT_EQ(refusal(), Refusal::kAbiTooNew);
  g_minor = TENON_EP_ABI_OLDEST_MINOR - 1;
  g_table.known.abi_minor = g_minor;
  EXPECT_EQ(refusal(), Refusal::kAbiTooOld);
  g_major = TENON_EP_ABI_MAJOR + 1;
  g_minor = 0;
  EXPECT_EQ(refusal(), Refusal::kAbiTooNew);
  EXPECT_THAT(talk().reason, HasSubstr("the library chose ABI 1.0, but this host has 0."));
}

TEST_F(NegotiateTest, ATableOfANewerMinorIsCut) {
  g_table.known.struct_size = sizeof(LargerTable);
  g_table.known.abi_minor = TENON_EP_ABI_MINOR + 7;
  const Negotiation talked = talk();
  EXPECT_EQ(talked.refusal, Refusal::kNone) << talked.reason;
  EXPECT_EQ(talked.agreement.minor, TENON_EP_ABI_MINOR);
  EXPECT_EQ(talked.agreement.api.struct_size, sizeof(tenon_ep_api));
  EXPECT_NE(talked.agreement.api.get_extension, nullptr);
}

TEST_F(NegotiateTest, TheMinorIsTheSmallerOne) {
  g_table.known.abi_minor = TENON_EP_ABI_MINOR - 1;  // the answer says TENON_EP_ABI_MINOR
  const Negotiation talked = talk();
  EXPECT_EQ(talked.refusal, Refusal::kNegotiate);
  EXPECT_THAT(talked.reason, HasSubstr("the smaller of this host's"));
}

TEST_F(NegotiateTest, ATableBelowTheOldestMinorsIsRefused) {
  g_table.known.struct_size = offsetof(tenon_ep_api, get_extension);
  const Negotiation talked = talk();
  EXPECT_EQ(talked.refusal, Refusal::kNegotiate);
  EXPECT_THAT(talked.reason, HasSubstr("the oldest supported one has"));
}

TEST_F(NegotiateTest, GroupsAreRequiredTogether) {
  tenon_ep_api& api = g_table.known;
  api.unmap = nullptr;
  EXPECT_THAT(missing_functions(api), "unmap");
  api.map = nullptr;
  EXPECT_THAT(missing_functions(api), "");
  api.recording_run = nullptr;
  EXPECT_EQ(missing_functions(api), "recording_run");
  fill(api.recording_run);
  api.stream_create = nullptr;
  api.point_wait = nullptr;
  EXPECT_EQ(missing_functions(api), "stream_create, point_wait") << "recordings need streams";
  api.record_begin = nullptr;
  api.stream_times = nullptr;
  EXPECT_EQ(missing_functions(api), "") << "neither group is there";
  api.device_domains = nullptr;
  api.copy = nullptr;
  EXPECT_EQ(missing_functions(api), "copy");
  api.device_memory = nullptr;
  api.device_trim = nullptr;
  api.run = nullptr;
  EXPECT_EQ(missing_functions(api), "copy, run");
}

TEST(JudgeAbi, RangesOfMinorsOverlap) {
  constexpr uint32_t kMajor = TENON_EP_ABI_MAJOR;
  const MinorRange host{3, 5};
  EXPECT_EQ(judge_abi(kMajor, 1, 2, host), Refusal::kAbiTooOld);
  EXPECT_EQ(judge_abi(kMajor, 1, 3, host), Refusal::kNone);
  EXPECT_EQ(judge_abi(kMajor, 4, 4, host), Refusal::kNone);
  EXPECT_EQ(judge_abi(kMajor, 5, 9, host), Refusal::kNone);
  EXPECT_EQ(judge_abi(kMajor, 6, 9, host), Refusal::kAbiTooNew);
  EXPECT_EQ(judge_abi(kMajor + 1, 3, 5, host), Refusal::kAbiTooNew);
}

TEST(JudgeAbi, TheManifestNamesBothRanges) {
  Manifest manifest;
  manifest.abi_major = TENON_EP_ABI_MAJOR;
  manifest.abi_min_minor = 0;
  manifest.abi_max_minor = TENON_EP_ABI_OLDEST_MINOR;
  EXPECT_TRUE(check_abi(manifest).ok());
  manifest.abi_min_minor = TENON_EP_ABI_MINOR;
  manifest.abi_max_minor = 99;
  EXPECT_TRUE(check_abi(manifest).ok());
  manifest.abi_min_minor = 98;
  EXPECT_EQ(check_abi(manifest).refusal(), "E_ABI_TOO_NEW");
  manifest.abi_min_minor = 0;
  manifest.abi_max_minor = TENON_EP_ABI_OLDEST_MINOR - 1;
  EXPECT_EQ(check_abi(manifest).refusal(), "E_ABI_TOO_OLD");
  EXPECT_THAT(std::string(check_abi(manifest).message()),
              HasSubstr("speaks ABI 0.0 to 0.2, this host 0.3 to 0."));
}

}  // namespace
}  // namespace tenon::provider
