#include "host/device/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "host/device/transfer.h"
#include "tests/unit/host/device/fake_provider.h"

namespace tenon::runtime {
namespace {

using ::testing::HasSubstr;

class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    registry = test::make_registry({"accelerator"});
    auto loaded = registry->load("accelerator");
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    provider = *loaded;
    first = *Device::open(provider, "npu:0");
    second = *Device::open(provider, "fake-1");
  }
  std::unique_ptr<provider::ProviderRegistry> registry;
  std::shared_ptr<provider::LoadedProvider> provider;
  std::shared_ptr<Device> first, second;
};

TEST_F(DeviceTest, OpenedOncePerProcess) {
  EXPECT_EQ(*Device::open(provider, "npu"), first);
  EXPECT_EQ(*Device::open(provider, "fake-0"), first);
  EXPECT_NE(first, second);
  EXPECT_FALSE(Device::open(provider, "npu:7").ok());
}

TEST_F(DeviceTest, DomainsHaveNumbersOfTheProcess) {
  ASSERT_EQ(first->domains().size(), 1u);
  const MemoryDomain& a = *first->domains()[0];
  const MemoryDomain& b = *second->domains()[0];
  EXPECT_NE(a.number, b.number);
  EXPECT_NE(a.number, host_domain().number);
  EXPECT_EQ(a.alignment, 256u);
  EXPECT_FALSE(a.addressable);
  EXPECT_EQ(b.max_buffer_bytes, uint64_t{1} << 20);
  EXPECT_EQ(first->find_domain(1), &a);
  EXPECT_EQ(first->find_domain(TENON_DOMAIN_HOST), &host_domain());
  EXPECT_EQ(first->find_domain(9), nullptr);
  // A device that is opened again has new numbers: nothing of the old one is valid for it.
  const uint32_t number = a.number;
  first.reset();
  first = *Device::open(provider, "npu:0");
  EXPECT_NE(first->domains()[0]->number, number);
}

TEST_F(DeviceTest, BuffersOfHostAndDevice) {
  const Buffer host = *Buffer::allocate(host_domain(), 100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(host.address()) % 64, 0u);
  const Buffer opaque = *Buffer::allocate(*first->domains()[0], 100);
  EXPECT_EQ(opaque.address(), nullptr);
  EXPECT_NE(opaque.handle(), nullptr);
  tenon_tensor tensor{};
  opaque.place(&tensor, 256);
  EXPECT_EQ(tensor.domain, 1u);
  EXPECT_EQ(tensor.byte_offset, 256u);
  EXPECT_EQ(tensor.data, nullptr);
  host.place(&tensor, 64);
  EXPECT_EQ(tensor.data, host.address() + 64);
  EXPECT_EQ(tensor.buffer, nullptr);
  EXPECT_FALSE(static_cast<bool>(*Buffer::allocate(host_domain(), 0)));
}

TEST_F(DeviceTest, WhatCannotBeAllocatedNamesSizeAndDomain) {
  const auto large = Buffer::allocate(*second->domains()[0], 2 << 20);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().kind(), ErrorKind::kOutOfMemory);
  EXPECT_THAT(large.error().to_string(), HasSubstr("2097152 bytes of 'accelerator/npu:1 device memory'"));
  EXPECT_EQ(Buffer::allocate(host_domain(), UINT64_MAX).error().kind(), ErrorKind::kOutOfMemory);
}

TEST_F(DeviceTest, CopiesBetweenAnyTwoDomains) {
  std::vector<int> source(1000), back(1000, -1);
  std::iota(source.begin(), source.end(), 0);
  const uint64_t bytes = source.size() * sizeof(int);
  const Buffer a = *Buffer::allocate(*first->domains()[0], bytes),
               b = *Buffer::allocate(*first->domains()[0], bytes),
               c = *Buffer::allocate(*second->domains()[0], bytes + 512);
  const Place on_a = Place::of(a, 0), on_b = Place::of(b, 0), on_c = Place::of(c, 512);
  EXPECT_TRUE(copies_directly(on_a, Place::host(source.data())));
  EXPECT_TRUE(copies_directly(on_b, on_a));
  EXPECT_FALSE(copies_directly(on_c, on_b));
  ASSERT_TRUE(copy(on_a, Place::host(source.data()), bytes).ok());
  ASSERT_TRUE(copy(on_b, on_a, bytes).ok());
  ASSERT_TRUE(copy(on_c, on_b, bytes).ok());
  ASSERT_TRUE(copy(Place::host(back.data()), on_c, bytes).ok());
  EXPECT_EQ(back, source);
  ASSERT_TRUE(copy(on_c, on_b, 0).ok());
  const Status beyond = copy(on_b, on_a, bytes + 1);
  EXPECT_THAT(beyond.to_string(), HasSubstr("accelerator 1.0.0"));
}

TEST_F(DeviceTest, CopiesBetweenDevicesUseMemoryThatTheHostSees) {
  const auto visible = *Device::open(provider, "npu:2");
  ASSERT_TRUE(visible->can_map(*visible->domains()[0]));
  ASSERT_FALSE(first->can_map(*first->domains()[0]));
  std::vector<int> source(1000), back(1000, -1);
  std::iota(source.begin(), source.end(), 0);
  const uint64_t bytes = source.size() * sizeof(int);
  const Buffer a = *Buffer::allocate(*first->domains()[0], bytes),
               v = *Buffer::allocate(*visible->domains()[0], bytes + 512),
               b = *Buffer::allocate(*second->domains()[0], bytes);
  ASSERT_TRUE(copy(Place::of(a, 0), Place::host(source.data()), bytes).ok());
  ASSERT_TRUE(copy(Place::of(v, 512), Place::of(a, 0), bytes).ok());
  ASSERT_TRUE(copy(Place::of(b, 0), Place::of(v, 512), bytes).ok());
  ASSERT_TRUE(copy(Place::host(back.data()), Place::of(b, 0), bytes).ok());
  EXPECT_EQ(back, source);
  // What cannot be mapped is the device's error.
  const Status beyond = copy(Place::of(v, 512), Place::of(a, 0), bytes + 1);
  EXPECT_THAT(beyond.to_string(), HasSubstr("the host named bytes 512 to 4513 of a buffer of 4512"));
}

TEST_F(DeviceTest, CopiesOnAStreamWaitForFlushAndEvent) {
  const auto instance = *test::make_accelerator();
  Stream stream = *instance->make_stream();
  Event event = *instance->make_event();
  int value = 42, back = 0;
  const Buffer buffer = *Buffer::allocate(*first->domains()[0], sizeof(int));
  ASSERT_TRUE(copy(Place::of(buffer, 0), Place::host(&value), sizeof(int), stream.handle()).ok());
  ASSERT_TRUE(copy(Place::host(&back), Place::of(buffer, 0), sizeof(int), stream.handle()).ok());
  EXPECT_EQ(back, 0);
  ASSERT_TRUE(event.record(stream).ok());
  EXPECT_FALSE(event.wait().ok());  // nobody flushed
  ASSERT_TRUE(stream.flush().ok());
  ASSERT_TRUE(event.wait().ok());
  EXPECT_EQ(back, 42);
}

TEST_F(DeviceTest, TheHostCannotTouchDeviceMemory) {
  const Buffer buffer = *Buffer::allocate(*first->domains()[0], 64);
  EXPECT_DEATH({ *reinterpret_cast<volatile char*>(buffer.handle()) = 1; }, "");
}

}  // namespace
}  // namespace tenon::runtime
