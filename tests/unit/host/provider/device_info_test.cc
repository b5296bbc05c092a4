// The identity of devices: from the provider by way of the scan to the names of the same hardware.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/provider/device_list.h"
#include "host/provider/same_hardware.h"
#include "host/provider/scan_read.h"

namespace tenon::provider {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

tenon_device_info g_info;

tenon_status enumerate(tenon_provider*, const tenon_device_sink* sink, tenon_error* error) {
  return sink->add(sink->context, &g_info, error);
}

DeviceInfo listed() {
  tenon_ep_api api{};
  api.enumerate_devices = enumerate;
  std::vector<DeviceInfo> devices;
  tenon_error error{};
  error.struct_size = sizeof(error);
  EXPECT_EQ(list_devices(api, nullptr, devices, error), TENON_OK);
  return devices.at(0);
}

class Identity : public ::testing::Test {
 protected:
  void SetUp() override {
    g_info = {};
    g_info.struct_size = sizeof(g_info);
    g_info.kind = TENON_DEVICE_GPU;
    g_info.flags = TENON_DEVICE_HAS_UUID | TENON_DEVICE_HAS_PCI;
    for (uint8_t i = 0; i < 16; ++i) g_info.uuid[i] = static_cast<uint8_t>(0x11 * i);
    g_info.pci_domain = 0x10000;
    g_info.pci_bus = 0x0f;
    g_info.pci_device = 0x1c;
    g_info.pci_function = 3;
    g_info.driver_version = {"550.54", 6};
  }
};

TEST_F(Identity, IsWrittenAsPeopleKnowIt) {
  const DeviceInfo device = listed();
  EXPECT_EQ(device.uuid, "00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(device.pci, "10000:0f:1c.3");
  EXPECT_EQ(device.driver_version, "550.54");
  g_info.flags = 0;  // the fields mean nothing then
  EXPECT_EQ(listed().uuid, "");
  EXPECT_EQ(listed().pci, "");
}

TEST_F(Identity, TravelsThroughTheScan) {
  ScanVerdict verdict;
  verdict.devices = {listed()};
  const std::string written = write_verdict(verdict);
  const std::optional<ScanVerdict> read = read_verdict(written);
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->devices.size(), 1u);
  EXPECT_EQ(read->devices[0].uuid, verdict.devices[0].uuid);
  EXPECT_EQ(read->devices[0].pci, verdict.devices[0].pci);
  EXPECT_EQ(read->devices[0].driver_version, "550.54");
}

TEST_F(Identity, AnAnswerInAnotherFormIsNotRead) {
  std::string written = write_verdict({});
  ASSERT_TRUE(read_verdict(written).has_value());
  const std::string form = R"("form":2,)";
  ASSERT_NE(written.find(form), std::string::npos);
  EXPECT_FALSE(read_verdict(std::string(written).replace(written.find(form), form.size(), R"("form":3,)"))
                   .has_value());
  EXPECT_FALSE(read_verdict(written.erase(written.find(form), form.size())).has_value())
      << "that of the first form";
}

ProviderInfo provider_with(const std::string& id, const std::string& uuid, const std::string& pci) {
  auto manifest = std::make_shared<Manifest>();
  manifest->id = id;
  ProviderInfo out;
  out.manifest = manifest;
  out.chosen = true;
  DeviceInfo device;
  device.kind = TENON_DEVICE_GPU;
  device.uuid = uuid;
  device.pci = pci;
  out.devices = {device};
  return out;
}

TEST(SameHardware, ByUuidOrPciAddressAtOtherProviders) {
  std::vector<ProviderInfo> all = {
      provider_with("cuda", "aa", "0000:01:00.0"), provider_with("vulkan", "aa", ""),
      provider_with("opencl", "", "0000:01:00.0"), provider_with("cpu", "", ""),
      provider_with("npu", "bb", "0000:02:00.0"),  provider_with("cuda", "aa", "0000:01:00.0")};
  all[5].chosen = false;  // an older version of the first
  const auto same = [&](size_t i) { return same_hardware(all, all[i], all[i].devices[0]); };
  EXPECT_THAT(same(0), ElementsAre("vulkan/gpu:0", "opencl/gpu:0"));
  EXPECT_THAT(same(1), ElementsAre("cuda/gpu:0"));
  EXPECT_THAT(same(2), ElementsAre("cuda/gpu:0"));
  EXPECT_THAT(same(3), IsEmpty()) << "two unknown identities are not the same";
  EXPECT_THAT(same(4), IsEmpty());
  EXPECT_THAT(same(5), ElementsAre("vulkan/gpu:0", "opencl/gpu:0"));
  all[1].refusal = Refusal::kDisabled;
  EXPECT_THAT(same(0), ElementsAre("opencl/gpu:0")) << "what cannot be used is not offered";
}

}  // namespace
}  // namespace tenon::provider
