// Products that widen an image before a depthwise convolution, which are made in bands of lines.
#include <gmock/gmock.h>

#include "host/services/trace.h"
#include "tests/islands/island_case.h"

namespace tenon::test {
namespace {

using ir::Attribute;

struct Widening {
  int64_t images, channels, filters;
  std::vector<int64_t> image, kernel, strides, dilations, pads;
};

/// What else the network does with the result of the product, or with that of the depthwise convolution.
enum class Also { kNothing, kAddsToResult, kReadsProduct, kAddsToProduct };

std::string network(const Widening& c, std::mt19937& random, const char* between, Also also) {
  GraphMaker m;
  std::vector<ir::Dim> dims{c.images, c.channels};
  dims.insert(dims.end(), c.image.begin(), c.image.end());
  const std::vector<int64_t> point(c.image.size(), 1);
  std::vector<int64_t> wide{c.filters, c.channels}, deep{c.filters, 1};
  wide.insert(wide.end(), point.begin(), point.end());
  deep.insert(deep.end(), c.kernel.begin(), c.kernel.end());
  const Id x = m.node("Sigmoid", {m.input("x", GraphMaker::f32(dims))});
  Id product = m.node("Conv", {x, m.constant("w", wide, noise(random, count(wide), 0.3f)),
                               m.constant("b", {c.filters}, noise(random, c.filters))});
  if (also == Also::kAddsToProduct)
    product =
        m.node("Add", {product, m.node("Conv", {x, m.constant("v", wide, noise(random, count(wide)))})});
  const Id inner = between == nullptr ? product : m.node(between, {product});
  const Id y = m.node("Conv",
                      {inner, m.constant("d", deep, noise(random, count(deep), 0.3f)),
                       m.constant("e", {c.filters}, noise(random, c.filters))},
                      {Attribute::of_int("group", c.filters), Attribute::of_ints("strides", c.strides),
                       Attribute::of_ints("dilations", c.dilations), Attribute::of_ints("pads", c.pads)});
  if (also == Also::kReadsProduct) m.output(m.node("Neg", {inner}), "z");
  m.output(also == Also::kAddsToResult ? m.node("Add", {m.node("Relu", {y}), inner}) : m.node("Sigmoid", {y}),
           "y");
  return m.bytes();
}

ValueRef image_for(const Widening& c, std::mt19937& random) {
  std::vector<int64_t> dims{c.images, c.channels};
  dims.insert(dims.end(), c.image.begin(), c.image.end());
  return image(random, dims);
}

// All but the last make more than a quarter of a million elements, which bands need.
const Widening kCases[] = {
    {1, 16, 96, {60, 61}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
    {2, 24, 72, {56, 56}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
    {1, 3, 40, {131, 77}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
    {1, 8, 64, {70, 70}, {3, 3}, {1, 1}, {3, 2}, {3, 2, 3, 2}},
    {1, 8, 64, {70, 70}, {5, 3}, {3, 1}, {1, 1}, {0, 2, 4, 0}},
    {3, 8, 33, {70, 45}, {3, 3}, {4, 4}, {1, 1}, {2, 2, 2, 2}},    // lines that nothing reads
    {1, 8, 600, {3, 200}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},   // a line is larger than a band should be
    {1, 8, 64, {4500}, {3}, {2}, {1}, {1, 1}},                     // one spatial axis
    {1, 8, 64, {66, 66}, {3, 3}, {1, 1}, {1, 1}, {70, 0, 70, 0}},  // many lines of padding alone
    {1, 16, 24, {20, 20}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}};

TEST(Islands, BandsGiveWhatKernelsGive) {
  for (size_t i = 0; i < std::size(kCases); ++i) {
    for (const char* between : {static_cast<const char*>(nullptr), "Relu", "HardSwish"}) {
      std::mt19937 random(static_cast<uint32_t>(i));
      const std::string bytes = network(kCases[i], random, between, Also::kNothing);
      compare_islands(bytes, {{"x", image_for(kCases[i], random)}}, 2e-5f,
                      "case " + std::to_string(i) + ", " + (between == nullptr ? "nothing" : between));
    }
  }
}

/// Steps that read other tensors row by row, and other readers of the product.
TEST(Islands, BandsLeaveWhatTheyCannotDo) {
  for (const Also also : {Also::kAddsToResult, Also::kReadsProduct, Also::kAddsToProduct}) {
    std::mt19937 random(3);
    const std::string bytes = network(kCases[0], random, "Relu", also);
    compare_islands(bytes, {{"x", image_for(kCases[0], random)}}, 2e-5f,
                    std::to_string(static_cast<int>(also)));
  }
}

TEST(Islands, BandsDoNotDependOnThreads) {
  for (const size_t i : {0u, 1u, 2u, 5u}) {
    std::mt19937 random(7);
    const std::string bytes = network(kCases[i], random, "Relu", Also::kNothing);
    expect_same_with_threads(bytes, {{"x", image_for(kCases[i], random)}}, "case " + std::to_string(i));
  }
}

/// The profile names both nodes as one task, so that the tests above compare what they mean to.
TEST(Islands, BandsAreOneTask) {
  std::mt19937 random(1);
  const auto tasks = [&](const Widening& c, Also also) {
    const auto session = make_session(network(c, random, "Relu", also), islands_config(true));
    runtime::Trace trace;
    session::RunOptions options;
    options.trace = &trace;
    if (session != nullptr) run(*session, {{"x", image_for(c, random)}}, options);
    return trace.to_json();
  };
  EXPECT_THAT(tasks(kCases[0], Also::kNothing), testing::HasSubstr("(Conv), Relu, Conv, Sigmoid"));
  EXPECT_THAT(tasks(kCases[9], Also::kNothing), testing::Not(testing::HasSubstr("(Conv), Relu, Conv")));
  EXPECT_THAT(tasks(kCases[0], Also::kReadsProduct), testing::Not(testing::HasSubstr("(Conv), Relu, Conv")));
}

}  // namespace
}  // namespace tenon::test
