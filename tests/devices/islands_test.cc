// Models through a provider of devices, compared with the cpu provider, with tensors in the host's memory and in the
// device's.
#include <cmath>
#include <random>
#include <thread>

#include "host/session/describe.h"
#include "tests/devices/device_case.h"
#include "tests/support/explained.h"

namespace tenon::test {
namespace {

using Id = GraphMaker::Id;

std::vector<float> noise(std::mt19937& random, int64_t n, float scale = 1) {
  std::uniform_real_distribution<float> draw(-scale, scale);
  std::vector<float> out(static_cast<size_t>(n));
  for (float& x : out) x = draw(random);
  return out;
}

Id convolution(GraphMaker& m, std::mt19937& random, Id x, int64_t in, int64_t out, int64_t taps,
               int64_t group = 1) {
  const std::string name = "w" + std::to_string(m.graph.node_count());
  const int64_t n = out * in / group * taps * taps;
  const Id w = m.constant(name, {out, in / group, taps, taps}, noise(random, n, 0.5f));
  const Id b = m.constant(name + "b", {out}, noise(random, out));
  const int64_t pad = taps / 2;
  return m.node(
      "Conv", {x, w, b},
      {ir::Attribute::of_ints("kernel_shape", {taps, taps}),
       ir::Attribute::of_ints("pads", {pad, pad, pad, pad}), ir::Attribute::of_int("group", group)});
}

/// Every way that Conv has, with and without something to do on the way, around a sum, and a classifier.
std::string network(const ir::Dim& batch) {
  std::mt19937 random(7);
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({batch, 6, 18, 17}));
  const Id low = m.constant("low", {}, {0}), high = m.constant("high", {}, {6});
  Id y = m.node("Relu", {convolution(m, random, x, 6, 16, 3)});
  y = m.node("Clip", {convolution(m, random, y, 16, 16, 3, 16), low, high});
  Id z = convolution(m, random, y, 16, 16, 1);
  y = m.node("Relu", {m.node("Add", {y, z})});
  y = m.node("MaxPool", {y},
             {ir::Attribute::of_ints("kernel_shape", {3, 3}), ir::Attribute::of_ints("strides", {2, 2}),
              ir::Attribute::of_ints("pads", {1, 1, 1, 1})});
  y = m.node("Flatten", {m.node("GlobalAveragePool", {y})});
  const Id w = m.constant("w", {16, 10}, noise(random, 160));
  m.output(m.node("Softmax", {m.node("Gemm", {y, w, m.constant("b", {10}, noise(random, 10))})}), "p");
  return m.bytes();
}

ValueRef image(std::mt19937& random, int64_t batch) {
  return f32({batch, 6, 18, 17}, noise(random, batch * 6 * 18 * 17));
}

void expect_close(const std::vector<float>& a, const std::vector<float>& e, const std::string& what) {
  ASSERT_EQ(a.size(), e.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(e[i])) continue;
    if (a[i] == e[i]) continue;  // infinities
    ASSERT_LE(std::fabs(a[i] - e[i]), 1e-5f * (1 + std::fabs(e[i]))) << what << ", element " << i;
  }
}

size_t steps_of(const session::Session& session, const std::string& kind) {
  size_t n = 0;
  const auto json = described_plans(session);
  for (const auto& step : json["plans"][0]["steps"]) n += step["kind"] == kind ? 1 : 0;
  return n;
}

TEST(DeviceIslands, AModelIsOneSubmissionAndOneWait) {
  std::mt19937 random(1);
  const std::string bytes = network(2);
  const ValueRef x = image(random, 2);
  const auto cpu = make_session(bytes);
  for (const std::string& memory : memories()) {
    const auto session = make_session(bytes, device_config(memory));
    ASSERT_TRUE(session != nullptr && cpu != nullptr);
    expect_close(floats(run(*session, {{"x", x}})[0]), floats(run(*cpu, {{"x", x}})[0]), memory);
    EXPECT_EQ(steps_of(*session, "signal"), 1u) << memory;
    EXPECT_EQ(steps_of(*session, "wait"), 1u) << memory;
    // The input and the output pass through memory of fixed address, and on to the device if it has its own.
    EXPECT_EQ(steps_of(*session, "copy"), memory == "device" ? 4u : 2u) << memory;
  }
}

TEST(DeviceIslands, ShapesThatChangeGetAPlanEach) {
  std::mt19937 random(2);
  const std::string bytes = network(ir::Dim("batch"));
  const auto mine = make_session(bytes, device_config("auto", {provider(), "cpu"})),
             cpu = make_session(bytes);
  ASSERT_TRUE(mine != nullptr && cpu != nullptr);
  for (const int64_t batch : {1, 3, 1, 2, 0}) {
    const ValueRef x = image(random, batch);
    expect_close(floats(run(*mine, {{"x", x}})[0]), floats(run(*cpu, {{"x", x}})[0]),
                 "batch " + std::to_string(batch));
  }
}

TEST(DeviceIslands, NaNAndInfinitiesComeThroughWhatIsDoneOnTheWay) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({1, 1, 2, 40}));
  const Id one = m.constant("one", {1, 1, 1, 1}, {1}), two = m.constant("two", {1, 1, 1, 1}, {2});
  m.output(m.node("Relu", {m.node("Conv", {x, one})}), "relu");
  m.output(
      m.node("Clip", {m.node("Conv", {x, two}), m.constant("low", {}, {-1}), m.constant("high", {}, {1})}),
      "clip");
  std::vector<float> values(80, 2);
  values[3] = NAN;
  values[40] = INFINITY;
  values[77] = -INFINITY;
  const auto mine = make_session(m.bytes(), device_config("auto", {provider(), "cpu"})),
             cpu = make_session(m.bytes());
  ASSERT_TRUE(mine != nullptr && cpu != nullptr);
  const ValueRef input = f32({1, 1, 2, 40}, values);
  const auto a = run(*mine, {{"x", input}}), e = run(*cpu, {{"x", input}});
  expect_close(floats(a[0]), floats(e[0]), "relu");
  expect_close(floats(a[1]), floats(e[1]), "clip");
  EXPECT_EQ(explained(*mine)["parts"].size(), 2u);
}

TEST(DeviceIslands, ThreadsRunAtOnceWithTheSameBits) {
  std::mt19937 random(3);
  const std::string bytes = network(1);
  const auto session = make_session(bytes, device_config("auto", {provider(), "cpu"}));
  ASSERT_NE(session, nullptr);
  std::vector<ValueRef> inputs;
  std::vector<std::vector<float>> wanted;
  for (int t = 0; t < 4; ++t) {
    inputs.push_back(image(random, 1));
    wanted.push_back(floats(run(*session, {{"x", inputs.back()}})[0]));
  }
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i)
        wrong[t] += floats(run(*session, {{"x", inputs[t]}})[0]) != wanted[t] ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace tenon::test
