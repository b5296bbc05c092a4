// Products whose columns leave a part of a register empty, and groups of which several fill one.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/islands/island_case.h"

namespace tenon::test {
namespace {

using ir::Attribute;

/// All remainders of columns, alone in a panel and after whole registers; with taps and without; the sum and the clamp that follow may run in
/// registers.
TEST(Islands, AnyNumberOfColumnsGivesWhatKernelsGive) {
  for (int64_t filters = 1; filters <= 100; filters += filters < 40 ? 1 : 7) {
    for (const int64_t kernel : {1, 3}) {
      std::mt19937 random(static_cast<uint32_t>(filters));
      GraphMaker m;
      const Id x = m.node("Sigmoid", {m.input("x", GraphMaker::f32({2, 17, 5, 7}))});
      const Id other = conv(m, random, x, 17, filters, 1);
      const Id sum = m.node("Add", {conv(m, random, x, 17, filters, kernel), other});
      m.output(m.node("Relu", {sum}), "y");
      m.output(m.node("Mul", {conv(m, random, x, 17, filters, kernel), other}), "z");
      compare_islands(m.bytes(), {{"x", image(random, {2, 17, 5, 7})}}, 1e-5f,
                      std::to_string(filters) + " filters, kernel " + std::to_string(kernel));
    }
  }
}

/// A long sum is made in parts, each of which reads what the one before it wrote.
TEST(Islands, AnyNumberOfColumnsTakesSumsInParts) {
  for (const int64_t columns : {3, 8, 9, 24, 60, 70}) {
    std::mt19937 random(5);
    GraphMaker m;
    const Id x = m.node("Sigmoid", {m.input("x", GraphMaker::f32({13, 700}))});
    const Id w = m.constant("w", {columns, 700}, noise(random, columns * 700, 0.04f));
    const Id b = m.constant("b", {columns}, noise(random, columns));
    m.output(m.node("Relu", {m.node("Gemm", {x, w, b}, {Attribute::of_int("transB", 1)})}), "y");
    compare_islands(m.bytes(), {{"x", f32({13, 700}, noise(random, 13 * 700))}}, 1e-5f,
                    std::to_string(columns) + " columns");
  }
}

struct Grouped {
  int64_t images, groups, in, out;  // channels of a group
  std::vector<int64_t> image, kernel, strides, dilations, pads;
};

std::string network(const Grouped& g, std::mt19937& random, bool bias, const char* last) {
  GraphMaker m;
  std::vector<ir::Dim> dims{g.images, g.groups * g.in};
  dims.insert(dims.end(), g.image.begin(), g.image.end());
  std::vector<int64_t> weights{g.groups * g.out, g.in};
  weights.insert(weights.end(), g.kernel.begin(), g.kernel.end());
  const Id x = m.node("Sigmoid", {m.input("x", GraphMaker::f32(dims))});
  std::vector<Id> inputs{x, m.constant("w", weights, noise(random, count(weights), 0.2f))};
  if (bias) inputs.push_back(m.constant("b", {weights[0]}, noise(random, weights[0])));
  const Id y = m.node("Conv", inputs,
                      {Attribute::of_int("group", g.groups), Attribute::of_ints("strides", g.strides),
                       Attribute::of_ints("dilations", g.dilations), Attribute::of_ints("pads", g.pads)});
  m.output(m.node(last, {y}), "y");
  return m.bytes();
}

const Grouped kGrouped[] = {
    {1, 32, 4, 4, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {2, 16, 8, 8, {10, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {1, 8, 2, 2, {6, 6}, {2, 3}, {1, 2}, {2, 1}, {0, 2, 1, 0}},
    {2, 4, 4, 4, {5, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}},
    {1, 2, 4, 4, {5, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},   // a register of 8 lanes, half of one of 16
    {1, 3, 4, 4, {5, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},   // no register
    {1, 16, 4, 8, {5, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},  // more filters than channels
    {1, 16, 2, 1, {5, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},  // fewer
    {1, 16, 4, 4, {300}, {5}, {3}, {2}, {4, 0}},
    {1, 16, 4, 4, {4, 4}, {3, 3}, {1, 1}, {4, 4}, {4, 4, 4, 4}},  // most taps lie in the padding
    {0, 16, 4, 4, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}};

TEST(Islands, GroupsOfFewChannelsGiveWhatKernelsGive) {
  for (size_t i = 0; i < std::size(kGrouped); ++i) {
    const Grouped& g = kGrouped[i];
    std::vector<int64_t> dims{g.images, g.groups * g.in};
    dims.insert(dims.end(), g.image.begin(), g.image.end());
    for (const bool bias : {false, true}) {
      for (const char* last : {"Relu", "Sigmoid"}) {
        std::mt19937 random(static_cast<uint32_t>(i));
        const std::string bytes = network(g, random, bias, last);
        compare_islands(bytes, {{"x", image(random, dims)}}, 1e-5f,
                        "case " + std::to_string(i) + ", " + last + (bias ? ", bias" : ""));
      }
    }
  }
}

/// A NaN reaches the filters of its own group alone, and an infinite weight its own filter.
TEST(Islands, GroupsKeepWhatIsNotFiniteToThemselves) {
  constexpr int64_t kChannels = 64, kGroup = 4, kPixels = 49;
  std::mt19937 random(1);
  std::vector<float> weights = noise(random, kChannels * kGroup * 9, 0.2f);
  weights[(30 * kGroup + 1) * 9 + 4] = std::numeric_limits<float>::infinity();
  GraphMaker m;
  const Id x = m.node("Neg", {m.input("x", GraphMaker::f32({1, kChannels, 7, 7}))});
  m.output(m.node("Neg", {m.node("Conv", {x, m.constant("w", {kChannels, kGroup, 3, 3}, weights)},
                                 {Attribute::of_int("group", kChannels / kGroup),
                                  Attribute::of_ints("pads", {1, 1, 1, 1})})}),
           "y");
  std::vector<float> values = noise(random, kChannels * kPixels);
  values[9 * kPixels + 24] = NAN;
  const auto session = make_session(m.bytes(), islands_config(true));
  ASSERT_NE(session, nullptr);
  const std::vector<float> y = floats(run(*session, {{"x", f32({1, kChannels, 7, 7}, values)}})[0]);
  for (int64_t channel = 0; channel < kChannels; ++channel) {
    const auto begin = y.begin() + channel * kPixels;
    const bool nan = std::any_of(begin, begin + kPixels, [](float v) { return std::isnan(v); });
    EXPECT_EQ(nan, channel / kGroup == 2) << "channel " << channel;
    EXPECT_EQ(std::isinf(*begin), channel == 30) << "channel " << channel;
  }
  compare_islands(m.bytes(), {{"x", f32({1, kChannels, 7, 7}, values)}}, 1e-5f, "numbers that are none");
}

TEST(Islands, GroupsOfFewChannelsDoNotDependOnThreads) {
  for (const Grouped& g : {Grouped{1, 32, 4, 4, {57, 41}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
                           Grouped{2, 32, 8, 8, {29, 28}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}}}) {
    std::mt19937 random(7);
    const std::string bytes = network(g, random, true, "Relu");
    const ValueRef x = image(random, {g.images, g.groups * g.in, g.image[0], g.image[1]});
    expect_same_with_threads(bytes, {{"x", x}}, std::to_string(g.in) + " channels");
  }
}

}  // namespace
}  // namespace tenon::test
