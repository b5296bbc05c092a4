// The device's two memory domains: staging memory, copies, and the flags of map.
#include <cstring>
#include <numeric>

#include "tests/devices/device_case.h"

namespace tenon::test {
namespace {

constexpr uint64_t kBytes = 4096;

std::vector<uint8_t> pattern(uint8_t factor) {
  std::vector<uint8_t> out(kBytes);
  for (size_t i = 0; i < kBytes; ++i) out[i] = static_cast<uint8_t>(i * factor + i / 256);
  return out;
}

class DeviceMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    instance = device_instance("device");
    ASSERT_NE(instance, nullptr);
    staging = device().staging();
    ASSERT_NE(staging, nullptr);
  }
  runtime::Device& device() const { return instance->device(); }
  Buffer on_device() const { return *Buffer::allocate(*device().find_domain(1), kBytes); }
  std::vector<uint8_t> read(const Buffer& from) const {
    std::vector<uint8_t> out(kBytes);
    EXPECT_TRUE(runtime::copy(Place::host(out.data()), Place::of(from, 0), kBytes).ok());
    return out;
  }

  std::shared_ptr<Instance> instance;
  const MemoryDomain* staging = nullptr;
};

TEST_F(DeviceMemory, ItsDeviceNamesTheDriver) {
  EXPECT_FALSE(device().info().driver_version.empty());
  const auto left = device().memory();
  if (left.ok()) {
    EXPECT_NE(provider(), "opencl") << "OpenCL 1.2 does not tell how much memory is free";
    EXPECT_LE(left->free_bytes, left->total_bytes);  // 0: the driver does not tell
  } else {
    EXPECT_EQ(left.error().code(), StatusCode::kUnimplemented);
  }
}

TEST_F(DeviceMemory, StagingMemoryHasAnAddressForTheHost) {
  EXPECT_TRUE(staging->host_address);
  EXPECT_FALSE(staging->mappable);
  EXPECT_EQ(device().find_domain(1)->mappable, provider() != "cuda")
      << "the host does not see a GPU's memory there";
  EXPECT_FALSE(device().find_domain(1)->has_address());
  const Buffer pinned = *Buffer::allocate(*staging, kBytes);
  ASSERT_NE(pinned.address(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pinned.address()) % staging->alignment, 0u);
}

TEST_F(DeviceMemory, CopiesToAndFromStagingMemory) {
  const std::vector<uint8_t> bytes = pattern(7);
  const Buffer in = *Buffer::allocate(*staging, kBytes), out = *Buffer::allocate(*staging, kBytes),
               between = on_device();
  std::memcpy(in.address(), bytes.data(), kBytes);
  ASSERT_TRUE(device().copy(between.location(0), in.location(0), kBytes, nullptr).ok());
  EXPECT_EQ(read(between), bytes);
  ASSERT_TRUE(device().copy(out.location(128), between.location(128), kBytes - 128, nullptr).ok());
  EXPECT_EQ(std::memcmp(out.address() + 128, bytes.data() + 128, kBytes - 128), 0);
}

TEST_F(DeviceMemory, CopiesOnAStreamAreInOrderAtEveryPairOfPlaces) {
  const std::vector<uint8_t> bytes = pattern(11);
  std::vector<uint8_t> back(kBytes, 0);
  const Buffer one = *Buffer::allocate(*staging, kBytes), two = *Buffer::allocate(*staging, kBytes),
               three = on_device(), four = on_device();
  Stream stream = *instance->make_stream();
  const auto copy = [&](const tenon_location& to, const tenon_location& from) {
    ASSERT_TRUE(device().copy(to, from, kBytes, stream.handle()).ok());
  };
  copy(one.location(0), Place::host(const_cast<uint8_t*>(bytes.data())).location());
  copy(two.location(0), one.location(0));
  copy(three.location(0), two.location(0));
  copy(four.location(0), three.location(0));
  copy(one.location(0), four.location(0));
  copy(Place::host(back.data()).location(), one.location(0));
  const uint64_t point = *stream.point();
  ASSERT_TRUE(stream.flush().ok());
  ASSERT_TRUE(stream.wait(point).ok());
  EXPECT_EQ(back, bytes);
}

TEST_F(DeviceMemory, StagingMemoryFreedOnAStreamServesTheWorkBefore) {
  const auto& api = instance->api();
  tenon_allocate_params params{};
  params.struct_size = sizeof(params);
  params.domain = staging->local_id;
  params.bytes = kBytes;
  Stream stream = *instance->make_stream();
  for (uint8_t round = 1; round <= 20; ++round) {
    tenon_allocation made{};
    made.struct_size = sizeof(made);
    ASSERT_EQ(api.allocate(device().handle(), &params, &made, nullptr), TENON_OK);
    const std::vector<uint8_t> bytes = pattern(round);
    std::memcpy(made.address, bytes.data(), kBytes);
    const Buffer to = on_device();
    tenon_location from{};
    from.domain = staging->local_id;
    from.buffer = made.buffer;
    ASSERT_TRUE(device().copy(to.location(0), from, kBytes, stream.handle()).ok());
    api.free(device().handle(), made.buffer, stream.handle());
    const uint64_t point = *stream.point();
    ASSERT_TRUE(stream.flush().ok());
    ASSERT_TRUE(stream.wait(point).ok());
    EXPECT_EQ(read(to), bytes);
  }
}

TEST_F(DeviceMemory, MapsForReadingForWritingAndForWritingAll) {
  if (provider() == "cuda") {  // the host copies
    EXPECT_EQ(instance->api().map, nullptr);
    EXPECT_EQ(instance->api().unmap, nullptr) << "a provider has both or none";
    return;
  }
  const Buffer buffer = on_device();
  std::vector<uint8_t> expected(kBytes);
  const auto map = [&](uint64_t offset, uint64_t bytes, uint32_t flags) {
    return static_cast<uint8_t*>(*device().map(buffer.handle(), offset, bytes, flags));
  };
  uint8_t* all = map(0, kBytes, TENON_MAP_WRITE | TENON_MAP_DISCARD);
  std::iota(all, all + kBytes, uint8_t{0});
  std::iota(expected.begin(), expected.end(), uint8_t{0});
  device().unmap(buffer.handle(), all);
  uint8_t* some = map(100, 10, TENON_MAP_READ | TENON_MAP_WRITE);
  EXPECT_EQ(some[0], 100);
  some[3] = expected[103] = 7;
  device().unmap(buffer.handle(), some);
  uint8_t* seen = map(0, kBytes, TENON_MAP_READ);
  EXPECT_EQ(std::vector<uint8_t>(seen, seen + kBytes), expected);
  device().unmap(buffer.handle(), seen);
  for (const uint32_t flags : {0u, uint32_t{TENON_MAP_READ | TENON_MAP_DISCARD}}) {
    const auto refused = device().map(buffer.handle(), 0, kBytes, flags);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace tenon::test
