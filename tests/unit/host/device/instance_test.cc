#include "host/device/instance.h"

#include <gtest/gtest.h>

#include "tests/unit/host/device/fake_provider.h"

namespace tenon::runtime {
namespace {

TEST(Services, ADeviceThatIsOpenedAgainSharesNothingWithTheOldOne) {
  auto instance = *test::make_accelerator();
  const tenon_host_instance before = instance->services();
  const tenon_host_instance twin = (*test::make_accelerator())->services();
  EXPECT_EQ(twin.shared_prefix, before.shared_prefix) << "two sessions of one device share";
  EXPECT_EQ(twin.blob_prefix, before.blob_prefix);
  instance.reset();  // closes the device
  const tenon_host_instance after = (*test::make_accelerator())->services();
  EXPECT_NE(after.shared_prefix, before.shared_prefix);
  EXPECT_EQ(after.blob_prefix, before.blob_prefix) << "files outlive the device";
}

TEST(Services, DeterminismSeparatesSharedObjects) {
  const auto instance = *test::make_accelerator();
  const auto device = instance->device().shared_from_this();
  InstanceSettings settings;
  const auto one = *Instance::create(device, {}, settings);
  settings.deterministic = true;
  const auto two = *Instance::create(device, {}, settings);
  EXPECT_NE(one->services().shared_prefix, two->services().shared_prefix);
  EXPECT_NE(one->services().blob_prefix, two->services().blob_prefix);
}

}  // namespace
}  // namespace tenon::runtime
