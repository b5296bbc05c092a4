#include "host/device/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
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
  ASSERT_EQ(first->domains().size(), 2u);
  const MemoryDomain& a = *first->domains()[0];
  const MemoryDomain& b = *second->domains()[0];
  EXPECT_NE(a.number, b.number);
  EXPECT_NE(a.number, host_domain().number);
  EXPECT_EQ(a.alignment, 256u);
  EXPECT_FALSE(a.has_address());
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

TEST_F(DeviceTest, StagingMemoryIsTheHostsToo) {
  const MemoryDomain* staging = first->staging();
  ASSERT_NE(staging, nullptr);
  EXPECT_EQ(staging, first->find_domain(2));
  EXPECT_TRUE(staging->host_can_access());
  EXPECT_FALSE(staging->is_host());
  EXPECT_EQ((*Device::open(provider, "npu:2"))->staging(), nullptr);
  const Buffer buffer = *Buffer::allocate(*staging, 8), there = *Buffer::allocate(*first->domains()[0], 8);
  ASSERT_NE(buffer.address(), nullptr);
  std::memcpy(buffer.address(), "staging", 8);
  char back[8] = {};
  ASSERT_TRUE(copy(Place::of(there, 0), Place::of(buffer, 0), 8).ok());
  ASSERT_TRUE(copy(Place::host(back), Place::of(there, 0), 8).ok());
  EXPECT_STREQ(back, "staging");
  // The device copies no bytes beyond it, whether it is named by its buffer or by its address.
  const Status beyond =
      first->copy(Place::of(there, 0).location(), Place::of(buffer, 4).location(), 8, nullptr);
  EXPECT_THAT(beyond.to_string(), HasSubstr("the host named bytes 4 to 12 of a buffer of 8"));
  const Buffer large = *Buffer::allocate(*first->domains()[0], 16);
  EXPECT_THAT(copy(Place::of(large, 0), Place::host(buffer.address()), 16).to_string(),
              HasSubstr("of 8 bytes of staging memory"));
}

TEST_F(DeviceTest, ADeviceSaysWhichHardwareItIs) {
  EXPECT_EQ(first->info().uuid, "66616b65-2d30-0000-0000-000000000000");
  EXPECT_EQ(first->info().pci, "0000:fa:01.0");
  EXPECT_EQ(first->info().driver_version, "1.2.3");
  EXPECT_EQ((*Device::open(provider, "npu:2"))->info().pci, "");
}

TEST_F(DeviceTest, FreedMemoryIsKeptUntilTheDeviceIsTrimmed) {
  const uint64_t before = first->memory()->free_bytes;
  EXPECT_GE(first->memory()->total_bytes, before);
  { const Buffer buffer = *Buffer::allocate(*first->domains()[0], 1 << 20); }
  EXPECT_LT(first->memory()->free_bytes, before);
  ASSERT_TRUE(first->trim().ok());
  EXPECT_EQ(first->memory()->free_bytes, before);
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
  EXPECT_FALSE(copies_directly(on_c, on_b));  // not with a stream
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

TEST_F(DeviceTest, AMappingHonoursItsFlags) {
  const auto visible = *Device::open(provider, "npu:2");
  const Buffer buffer = *Buffer::allocate(*visible->domains()[0], 256);
  std::vector<uint8_t> ones(256, 1), back(256, 0);
  ASSERT_TRUE(copy(Place::of(buffer, 0), Place::host(ones.data()), 256).ok());
  auto* read = static_cast<uint8_t*>(*visible->map(buffer.handle(), 8, 8, TENON_MAP_READ));
  EXPECT_EQ(read[0], 1);
  EXPECT_DEATH({ *const_cast<volatile uint8_t*>(read) = 2; }, "");
  visible->unmap(buffer.handle(), read);
  // Some bytes written: the others stay.
  auto* some = static_cast<uint8_t*>(*visible->map(buffer.handle(), 0, 8, TENON_MAP_WRITE));
  some[0] = 2;
  visible->unmap(buffer.handle(), some);
  // All bytes written: what they were before is gone.
  auto* all =
      static_cast<uint8_t*>(*visible->map(buffer.handle(), 8, 8, TENON_MAP_WRITE | TENON_MAP_DISCARD));
  EXPECT_EQ(all[0], 0xA5);
  std::fill(all, all + 8, uint8_t{3});
  visible->unmap(buffer.handle(), all);
  ASSERT_TRUE(copy(Place::host(back.data()), Place::of(buffer, 0), 256).ok());
  EXPECT_EQ(back[0], 2);
  EXPECT_EQ(back[1], 1);
  EXPECT_EQ(back[8], 3);
  EXPECT_EQ(back[16], 1);
  EXPECT_EQ(visible->map(buffer.handle(), 0, 8, 0).error().code(), StatusCode::kInvalidArgument);
}

TEST_F(DeviceTest, TheHostCannotTouchDeviceMemory) {
  const Buffer buffer = *Buffer::allocate(*first->domains()[0], 64);
  EXPECT_DEATH({ *reinterpret_cast<volatile char*>(buffer.handle()) = 1; }, "");
}

}  // namespace
}  // namespace tenon::runtime
