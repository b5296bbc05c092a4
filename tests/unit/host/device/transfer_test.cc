#include "host/device/transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "tests/unit/host/device/fake_counters.h"
#include "tests/unit/host/device/fake_provider.h"

namespace tenon::runtime {
namespace {

using ::testing::HasSubstr;

/// Ways of copies that device_test.cc does not take. npu:0 and npu:1 copy between each other and have staging memory; npu:2 can be mapped and does neither.
class TransferTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"npu:0", "npu:1", "npu:2"}) {
      instances.push_back(*test::make_accelerator(name, counters.option()));
      devices.push_back(instances.back()->device().shared_from_this());
    }
    std::iota(source.begin(), source.end(), 0);
  }
  Buffer buffer(size_t device, uint64_t size) {
    return *Buffer::allocate(*devices[device]->domains()[0], size);
  }
  void expect_on(const Place& place) {
    std::vector<int> back(source.size(), -1);
    ASSERT_TRUE(copy(Place::host(back.data()), place, bytes).ok());
    EXPECT_EQ(back, source);
  }

  test::FakeCounters counters;
  std::vector<std::shared_ptr<Instance>> instances;
  std::vector<std::shared_ptr<Device>> devices;
  std::vector<int> source = std::vector<int>(1000);
  const uint64_t bytes = 1000 * sizeof(int);
};

TEST_F(TransferTest, TheThreadsOfARunShareALargeCopyOfTheHost) {
  std::vector<std::byte> from((size_t{5} << 20) + 3), to(from.size() + 2);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 4096);
  ThreadPool pool(4);
  RunThreads threads(&pool, 4);
  ASSERT_TRUE(copy(Place::host(to.data() + 1), Place::host(from.data()), 1000, nullptr, 0, &threads).ok());
  EXPECT_EQ(pool.started(), 0u) << "not worth it";
  ASSERT_TRUE(
      copy(Place::host(to.data() + 1), Place::host(from.data()), from.size(), nullptr, 0, &threads).ok());
  EXPECT_EQ(pool.started(), 3u);
  EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 1));
  EXPECT_EQ(to.front(), std::byte{0});
  EXPECT_EQ(to.back(), std::byte{0});
  // Ends that overlap are copied as if by way of other memory.
  ASSERT_TRUE(
      copy(Place::host(to.data()), Place::host(to.data() + 1), from.size(), nullptr, 0, &threads).ok());
  EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin()));
  threads.finish();
}

TEST_F(TransferTest, DevicesOfOneProviderCopyToEachOther) {
  const Buffer a = buffer(0, bytes), c = buffer(1, bytes + 512);
  ASSERT_TRUE(copy(Place::of(a, 0), Place::host(source.data()), bytes).ok());
  const uint64_t allocations = counters->allocations;
  ASSERT_TRUE(copy(Place::of(c, 512), Place::of(a, 0), bytes).ok());
  EXPECT_EQ(counters->copies_peer, 1u);
  EXPECT_EQ(counters->bytes_peer, bytes);
  EXPECT_EQ(counters->copies_to_host, 0u);
  EXPECT_EQ(counters->allocations, allocations) << "no memory in between";
  expect_on(Place::of(c, 512));
  // What the provider refuses for another reason is an error, and is not tried by another way.
  const Status beyond = copy(Place::of(c, 512), Place::of(a, 0), bytes + 1);
  EXPECT_THAT(beyond.to_string(), HasSubstr("of a buffer of"));
  EXPECT_EQ(counters->copies_to_host, 1u) << "that of expect_on";
}

TEST_F(TransferTest, BetweenTwoProvidersInPiecesOfStagingMemory) {
  const auto registry = test::make_registry({"next/accelerator-next.tenon.json"});
  const auto loaded = registry->load("accelerator");
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  const auto other = *Device::open(*loaded, "npu:0");
  ASSERT_NE(other->provider(), devices[0]->provider());
  constexpr uint64_t kPiece = uint64_t{16} << 20;
  const uint64_t large = 2 * kPiece + 4;
  std::vector<std::byte> given(large), back(large);
  for (uint64_t i = 0; i < large; ++i) given[i] = static_cast<std::byte>(i * 7 + i / kPiece);
  const Buffer a = buffer(0, large), b = *Buffer::allocate(*other->domains()[0], large + 256);
  ASSERT_TRUE(copy(Place::of(a, 0), Place::host(given.data()), large).ok());
  const uint64_t allocations = counters->allocations;
  ASSERT_TRUE(copy(Place::of(b, 256), Place::of(a, 0), large).ok());
  EXPECT_EQ(counters->allocations, allocations + 1) << "staging memory of the source's device";
  EXPECT_EQ(counters->copies_to_host, 3u);
  ASSERT_TRUE(copy(Place::host(back.data()), Place::of(b, 256), large).ok());
  EXPECT_EQ(back, given);
}

TEST_F(TransferTest, TheHostCopiesWhatItCanAccess) {
  const Buffer staging = *Buffer::allocate(*devices[0]->staging(), bytes);
  const Place place = Place::of(staging, 0);
  ASSERT_TRUE(copy(place, Place::host(source.data()), bytes).ok());
  EXPECT_EQ(std::memcmp(staging.address(), source.data(), bytes), 0);
  EXPECT_EQ(counters->copies_host, 0u) << "without the provider";
  // The same between the staging memory of two devices, also where the places overlap.
  const Buffer other = *Buffer::allocate(*devices[1]->staging(), bytes);
  ASSERT_TRUE(copy(Place::of(other, 0), place, bytes).ok());
  ASSERT_TRUE(copy(Place::of(other, 4), Place::of(other, 0), bytes - 4).ok());
  EXPECT_EQ(reinterpret_cast<const int*>(other.address())[1], source[0]);
  EXPECT_EQ(counters->copies_peer + counters->copies_host, 0u);
  // On a stream the copy takes its turn.
  Stream stream = *instances[0]->make_stream();
  std::vector<int> back(source.size(), -1);
  ASSERT_TRUE(copy(Place::host(back.data()), place, bytes, stream.handle()).ok());
  EXPECT_EQ(back[0], -1);
  const uint64_t point = *stream.point();
  ASSERT_TRUE(stream.flush().ok());
  ASSERT_TRUE(stream.wait(point).ok());
  EXPECT_EQ(back, source);
  EXPECT_EQ(counters->copies_host, 1u);
}

TEST_F(TransferTest, StagingMemoryOfOneDeviceIsHostMemoryForAnother) {
  const Buffer staging = *Buffer::allocate(*devices[0]->staging(), bytes), v = buffer(2, bytes);
  std::memcpy(staging.address(), source.data(), bytes);
  ASSERT_TRUE(copy(Place::of(v, 0), Place::of(staging, 0), bytes).ok());
  std::memset(staging.address(), 0, bytes);
  ASSERT_TRUE(copy(Place::of(staging, 0), Place::of(v, 0), bytes).ok());
  EXPECT_EQ(std::memcmp(staging.address(), source.data(), bytes), 0);
}

}  // namespace
}  // namespace tenon::runtime
