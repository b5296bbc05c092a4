// Memory of devices: generations of an opened device, addresses, and what happens when it runs out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "host/device/idle_memory.h"
#include "host/device/transfer.h"
#include "tests/unit/host/device/fake_counters.h"
#include "tests/unit/host/device/fake_provider.h"

namespace tenon::runtime {
namespace {

using ::testing::HasSubstr;

class MemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto instance = test::make_accelerator("npu:0");
    ASSERT_TRUE(instance.ok()) << instance.error().to_string();
    first = (*instance)->device().shared_from_this();
  }
  std::shared_ptr<Device> first;
};

TEST_F(MemoryTest, ADeviceThatIsOpenedAgainHasAnotherGeneration) {
  const auto provider = first->provider();
  const uint64_t generation = first->generation();
  EXPECT_EQ((*Device::open(provider, "npu:0"))->generation(), generation) << "it is still open";
  EXPECT_NE((*Device::open(provider, "npu:1"))->generation(), generation);
  first.reset();
  EXPECT_GT((*Device::open(provider, "npu:0"))->generation(), generation);
}

TEST_F(MemoryTest, FlagsOfDomains) {
  const MemoryDomain& own = *first->domains()[0];
  EXPECT_FALSE(own.mappable || own.host_address || own.device_address || own.staging ||
               own.host_can_access());
  EXPECT_TRUE(first->staging()->staging && first->staging()->host_address);
  EXPECT_FALSE(first->can_map(own) || first->can_map(*first->staging()));
  const auto visible = *Device::open(first->provider(), "npu:2");
  EXPECT_TRUE(visible->domains()[0]->mappable && visible->can_map(*visible->domains()[0]));
  EXPECT_TRUE(host_domain().host_can_access() && host_domain().has_address());
}

TEST_F(MemoryTest, StagingMemoryHasAnAddressForTheHost) {
  const Buffer buffer = *Buffer::allocate(*first->staging(), 100);
  ASSERT_NE(buffer.address(), nullptr);
  std::memset(buffer.address(), 1, 100);
  tenon_tensor tensor{};
  buffer.place(&tensor, 32);
  EXPECT_EQ(tensor.data, buffer.address() + 32);
  EXPECT_EQ(tensor.buffer, buffer.handle());
  EXPECT_EQ(Place::of(buffer, 32).address, buffer.address() + 32);
  EXPECT_EQ(Place::of(*Buffer::allocate(*first->domains()[0], 100), 32).address, nullptr);
}

/// Keeps one buffer until it is asked to drop it.
class Kept final : public IdleMemory {
 public:
  bool drop_idle(const Device& device) override {
    asked_for.push_back(&device);
    const bool dropped = static_cast<bool>(buffer);
    buffer = Buffer();
    return dropped;
  }
  Buffer buffer;
  std::vector<const Device*> asked_for;
  Registration registered{*this};
};

TEST_F(MemoryTest, MemoryThatRunsOutIsTakenFromThoseWhoKeepIt) {
  constexpr uint64_t kHalf = 512 << 10;
  test::FakeCounters counters;
  const auto instance = *test::make_accelerator("npu:0", counters.option() + "memory_bytes = 1048576");
  const MemoryDomain& domain = *first->domains()[0];
  Kept kept;
  kept.buffer = *Buffer::allocate(domain, kHalf);
  const Buffer used = *Buffer::allocate(domain, kHalf / 2);
  EXPECT_TRUE(kept.asked_for.empty());
  // The kept buffer is freed, but the provider keeps its pages until it is asked to trim.
  const auto more = Buffer::allocate(domain, kHalf + 4096);
  EXPECT_TRUE(more.ok()) << more.error().to_string();
  EXPECT_EQ(kept.asked_for, std::vector<const Device*>{first.get()});
  EXPECT_EQ(counters->trims, 1u);

  const auto failed = Buffer::allocate(domain, kHalf);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind(), ErrorKind::kOutOfMemory);
  EXPECT_THAT(failed.error().to_string(), HasSubstr("524288 bytes of 'accelerator/npu:0 device memory'"));
  EXPECT_THAT(failed.error().to_string(),
              HasSubstr("; 258048 of 1048576 bytes of the device's memory are free"));
  EXPECT_EQ(kept.asked_for.size(), 2u);
  EXPECT_EQ(counters->trims, 2u);
}

TEST_F(MemoryTest, OnlyRegisteredObjectsAreAsked) {
  auto kept = std::make_unique<Kept>();
  kept->buffer = *Buffer::allocate(host_domain(), 1);
  EXPECT_TRUE(drop_idle_memory(*first));
  EXPECT_FALSE(drop_idle_memory(*first)) << "there was nothing left";
  EXPECT_EQ(kept->asked_for.size(), 2u);
  kept.reset();
  EXPECT_FALSE(drop_idle_memory(*first));
}

TEST_F(MemoryTest, ALateErrorKeepsThePlaceOfItsWork) {
  tenon_error error = make_error();
  EXPECT_FALSE(Device::is_late(error));
  error.flags = TENON_ERROR_ASYNC;
  EXPECT_TRUE(Device::is_late(error));
  EXPECT_EQ(first->status(TENON_INTERNAL, error).where(),
            "accelerator 1.0.0: work that was enqueued earlier");
  std::strcpy(error.where, "node 'a' (Add)");
  EXPECT_EQ(first->status(TENON_INTERNAL, error).where(), "accelerator 1.0.0: node 'a' (Add)");
}

}  // namespace
}  // namespace tenon::runtime
