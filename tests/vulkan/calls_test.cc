// What a Run costs in calls of Vulkan, and what follows when they fail.
#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"
#include "tests/vulkan/interposed.h"

namespace tenon::test {
namespace {

TEST(VulkanCalls, TheSecondRunRecordsNothingAndSubmitsAndWaitsOnce) {
  VulkanCalls& calls = vulkan_calls();
  GraphMaker m;
  const auto w = m.constant("w", {8, 8}, std::vector<float>(64, 0.125f));
  auto y = m.input("x", GraphMaker::f32({4, 8}));
  for (int layer = 0; layer < 50; ++layer)
    y = m.node("Tanh", {m.node("Softmax", {m.node("MatMul", {y, w})})});
  m.output(y, "y");
  for (const std::string memory : {"shared", "device"}) {
    config::Config config = config_for({providers_dir()}, {"vulkan"});
    ASSERT_TRUE(config.set("provider.vulkan.options.memory", memory).ok());
    const auto session = make_session(m.bytes(), config);
    ASSERT_NE(session, nullptr);
    const ValueRef x = f32({4, 8}, std::vector<float>(32, 1));
    const std::vector<float> first = floats(run(*session, {{"x", x}})[0]);
    EXPECT_GT(calls.begun, 0) << "the functions of this test are not called";
    for (int turn = 0; turn < 3; ++turn) {
      calls.reset();
      EXPECT_EQ(floats(run(*session, {{"x", x}})[0]), first);
      EXPECT_EQ(calls.begun, 0) << memory;
      EXPECT_EQ(calls.submitted, 1) << memory;
      EXPECT_EQ(calls.waited, 1) << memory;
    }
  }
}

std::string relu_of_sum() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({4}));
  m.output(m.node("Relu", {m.node("MatMul", {x, m.constant("w", {4, 2}, {1, 0, 0, 1, 1, 0, 0, -1})})}), "y");
  return m.bytes();
}
const std::vector<float> kWanted{4, 0};  // of 1, 2, 3, 4

config::Config faulty(const std::vector<std::string>& order, const std::string& on_lost) {
  config::Config config = config_for({providers_dir()}, order);
  EXPECT_TRUE(config.set("provider.vulkan.on_lost", "\"" + on_lost + "\"").ok());
  return config;
}

class VulkanLoses : public ::testing::Test {
 protected:
  void TearDown() override { vulkan_faults().reset(); }
  static Status try_run(session::Session& session, std::vector<float>* out) {
    std::vector<ValueRef> outputs(1);
    const std::vector<session::NamedValue> inputs{{"x", f32({4}, {1, 2, 3, 4})}};
    Status status = session.run({}, inputs, {}, outputs);
    if (status.ok()) *out = floats(outputs[0]);
    return status;
  }
};

TEST_F(VulkanLoses, TheDeviceInASubmission) {
  std::vector<float> y;
  for (const std::string on_lost : {"fail", "next", "restart"}) {
    const auto session = make_session(relu_of_sum(), faulty({"vulkan", "cpu"}, on_lost));
    ASSERT_NE(session, nullptr);
    ASSERT_TRUE(try_run(*session, &y).ok());
    vulkan_faults().submit.set(VK_ERROR_DEVICE_LOST, 1);
    y.clear();
    const Status status = try_run(*session, &y);
    if (on_lost == "fail") {
      EXPECT_EQ(status.kind(), ErrorKind::kDeviceLost) << status.to_string();
      EXPECT_NE(status.to_string().find("vkQueueSubmit: VK_ERROR_DEVICE_LOST"), std::string::npos)
          << status.to_string();
      continue;
    }
    ASSERT_TRUE(status.ok()) << on_lost << ": " << status.to_string();
    EXPECT_EQ(y, kWanted) << on_lost;
    const auto explanation = explained(*session);
    EXPECT_EQ(explanation["fallbacks"].size(), 1u) << explanation["fallbacks"].dump();
    for (const auto& part : explanation["parts"])
      EXPECT_EQ(std::string(part["instance"]).substr(0, 3), on_lost == "next" ? "cpu" : "vul") << on_lost;
    EXPECT_TRUE(try_run(*session, &y).ok());
  }
}

TEST_F(VulkanLoses, TheDeviceInAWait) {
  const auto session = make_session(relu_of_sum(), faulty({"vulkan", "cpu"}, "next"));
  ASSERT_NE(session, nullptr);
  vulkan_faults().wait.set(VK_ERROR_DEVICE_LOST, 1);
  std::vector<float> y;
  const Status status = try_run(*session, &y);
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(y, kWanted);
}

TEST_F(VulkanLoses, MemoryForASession) {
  GraphMaker m;  // its weights need a block of their own
  const auto x = m.input("x", GraphMaker::f32({1, 2048}));
  m.output(m.node("MatMul", {x, m.constant("w", {2048, 4096}, std::vector<float>(2048 * 4096, 0.5f))}), "y");
  const std::vector<session::NamedValue> inputs{{"x", f32({1, 2048}, std::vector<float>(2048, 1))}};
  for (const bool has_cpu : {false, true}) {
    const auto session = make_session(m.bytes(), faulty(has_cpu ? std::vector<std::string>{"vulkan", "cpu"}
                                                                : std::vector<std::string>{"vulkan"},
                                                        "next"));
    ASSERT_NE(session, nullptr);
    vulkan_faults().allocate.set(VK_ERROR_OUT_OF_DEVICE_MEMORY, 1000);
    std::vector<ValueRef> outputs(1);
    const Status status = session->run({}, inputs, {}, outputs);
    vulkan_faults().reset();
    EXPECT_EQ(status.kind(), ErrorKind::kOutOfMemory) << status.to_string();
    EXPECT_NE(status.to_string().find("VK_ERROR_OUT_OF_DEVICE_MEMORY"), std::string::npos)
        << status.to_string();
    const Status again = session->run({}, inputs, {}, outputs);
    ASSERT_TRUE(again.ok()) << again.to_string();
    EXPECT_EQ(floats(outputs[0])[4095], 1024);
  }
}

TEST_F(VulkanLoses, AShaderThatTheDriverCannotBuild) {
  GraphMaker m;
  m.output(m.node("Mish", {m.node("CumSum", {m.input("x", GraphMaker::f32({4})), m.scalar("axis", 0)})}),
           "y");
  const auto session = make_session(m.bytes(), faulty({"vulkan", "cpu"}, "fail"));
  ASSERT_NE(session, nullptr);
  vulkan_faults().pipeline.set(VK_ERROR_INITIALIZATION_FAILED, 1);
  std::vector<float> y;
  const Status status = try_run(*session, &y);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.to_string().find("the driver cannot build the shader"), std::string::npos)
      << status.to_string();
}

}  // namespace
}  // namespace tenon::test
