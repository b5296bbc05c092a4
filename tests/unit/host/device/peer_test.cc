// Copies between two devices of one provider.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>

#include "host/device/transfer.h"
#include "tests/fakes/accelerator/counters.h"
#include "tests/unit/host/device/fake_provider.h"

namespace tenon::runtime {
namespace {

TEST(PeerCopy, GoesOnceOrByWayOfTheHost) {
  const std::string path = testing::TempDir() + "/tenon-peer-counters." + std::to_string(::getpid());
  {
    const accelerator::CounterFile file(path);
    const accelerator::Counters& counters = file.counters();
    const std::string option = "counters = '" + path + "'";
    const auto first = *test::make_accelerator("npu:0", option),
               second = *test::make_accelerator("npu:1", option),
               alone = *test::make_accelerator("npu:2", option);
    std::vector<int> source(100, 5), back(100, 0);
    constexpr uint64_t kBytes = 400;
    const auto block = [](Instance& of) { return *Buffer::allocate(*of.device().domains()[0], kBytes); };
    const Buffer a = block(*first), b = block(*second), c = block(*alone);
    ASSERT_TRUE(copy(Place::of(a, 0), Place::host(source.data()), kBytes).ok());
    EXPECT_EQ(counters.copies_to_device, 1u);
    ASSERT_TRUE(copy(Place::of(b, 0), Place::of(a, 0), kBytes).ok());
    EXPECT_EQ(counters.copies_peer, 1u);
    EXPECT_EQ(counters.bytes_peer, kBytes);
    EXPECT_EQ(counters.copies_to_host, 0u);
    ASSERT_TRUE(copy(Place::of(c, 0), Place::of(b, 0), kBytes).ok());
    EXPECT_EQ(counters.copies_peer, 1u) << "npu:2 has no peers";
    ASSERT_TRUE(copy(Place::host(back.data()), Place::of(c, 0), kBytes).ok());
    EXPECT_EQ(back, source);
    const Status beyond = copy(Place::of(b, 0), Place::of(a, 0), kBytes + 1);
    EXPECT_THAT(beyond.to_string(), testing::HasSubstr("the host named bytes 0 to 401 of a buffer of 400"));
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tenon::runtime
