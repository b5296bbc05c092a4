// The provider's next version, put beside it while the process runs.
#include "tests/unit/host/session/versions_case.h"

#include "tests/devices/device_case.h"

namespace tenon::test {
namespace {

TEST(DeviceVersions, TheNextOneIsTakenAndGoesAgain) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({2, 3}));
  m.output(m.node("Relu", {m.node("Add", {x, m.constant("one", {3}, {1, -1, 2})})}), "y");
  expect_versions_to_come_and_go(provider(), m.bytes(), {{"x", f32({2, 3}, {1, 2, 3, -4, -5, -6})}});
}

}  // namespace
}  // namespace tenon::test
