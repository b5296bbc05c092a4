// Convolutions of the fast kind, which are right for numbers alone: what they give for numbers, and that NaN and
// infinities come out as from the slow kind.
#include <cstring>
#include <thread>

#include "tests/onednn/onednn_case.h"

namespace tenon::test {
namespace {

constexpr int64_t kChannels = 32;

ir::Attribute axis(int64_t value) { return ir::Attribute::of_int("axis", value); }

/// Two branches that are joined, twice as SqueezeNet has it, at sizes that call for the two tiles of Winograd; a sum
/// around a convolution as in ResNet; and a classifier. Averages, because ONNX leaves open which is the greatest number
/// of a window with NaN.
std::string network(ir::Dim batch, float poison = 0, const std::string& pool = "AveragePool") {
  std::mt19937 random(11);
  GraphMaker m;
  const auto relu = [&](Id x) { return m.node("Relu", {x}); };
  Id x = m.input("x", GraphMaker::f32({batch, 3, 48, 48}));
  x = relu(conv(m, random, x, 3, kChannels, 5));
  for (int i = 0; i < 2; ++i) {
    const Id a = relu(conv(m, random, x, kChannels, 16, 1)), b = relu(conv(m, random, x, kChannels, 16, 3));
    x = m.node(pool, {m.node("Concat", {a, b}, {axis(1)})},
               {ir::Attribute::of_ints("kernel_shape", {2, 2}), ir::Attribute::of_ints("strides", {2, 2})});
  }
  x = relu(m.node("Add", {conv(m, random, x, kChannels, kChannels, 3), x}));
  if (poison != 0) {
    std::vector<float> w = noise(random, kChannels * kChannels * 9);
    w[5] = poison;
    x = relu(m.node("Conv", {x, m.constant("poisoned", {kChannels, kChannels, 3, 3}, w)}));
  }
  m.output(x, "features");
  m.output(relu(conv(m, random, m.node("GlobalAveragePool", {x}), kChannels, 24, 1)), "classes");
  return m.bytes();
}

/// The same NaN and infinities, and numbers that are near in comparison with the largest.
void expect_same_kind(const std::vector<ValueRef>& got, const std::vector<ValueRef>& wanted, float tolerance,
                      const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t o = 0; o < got.size(); ++o) {
    const std::vector<float> a = floats(got[o]), e = floats(wanted[o]);
    ASSERT_EQ(a.size(), e.size()) << what;
    float largest = 0;
    for (const float v : e) largest = std::isfinite(v) ? std::max(largest, std::fabs(v)) : largest;
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(std::isnan(a[i]), std::isnan(e[i])) << what << ", output " << o << ", element " << i;
      if (std::isnan(e[i])) continue;
      if (std::isinf(e[i]) || std::isinf(a[i])) {
        ASSERT_EQ(a[i], e[i]) << what << ", output " << o << ", element " << i;
      } else {
        ASSERT_LE(std::fabs(a[i] - e[i]), tolerance * largest)
            << what << ", output " << o << ", element " << i;
      }
    }
  }
}

std::vector<std::vector<float>> bits_of(const std::vector<ValueRef>& values) {
  std::vector<std::vector<float>> out;
  for (const ValueRef& value : values) out.push_back(floats(value));
  return out;
}

TEST(OneDnnNumbers, FastConvolutionsGiveWhatTheCpuProviderGives) {
  for (const int64_t batch : {1, 2}) {
    std::mt19937 random(12);
    const std::string bytes = network(batch, 0, batch == 1 ? "MaxPool" : "AveragePool");
    const ValueRef x = image(random, {batch, 3, 48, 48});
    const auto cpu = make_session(bytes);
    for (const char* precision : {"exact", "fast"}) {
      for (const char* threads : {"threads.count=1", "threads.count=2", "threads.count=3"}) {
        const auto mine =
            make_session(bytes, onednn({std::string("precision.default=") + precision, threads}));
        ASSERT_NE(mine, nullptr);
        EXPECT_EQ(parts_of(*mine, "onednn"), 1u);
        expect_same_kind(run(*mine, {{"x", x}}), run(*cpu, {{"x", x}}), 1e-5f,
                         std::string(precision) + ", " + threads);
      }
    }
  }
}

/// Exact precision costs nothing as long as there are numbers only: the same primitives run.
TEST(OneDnnNumbers, ExactAndFastAreTheSameBitsForNumbers) {
  std::mt19937 random(13);
  const std::string bytes = network(1, 0, "MaxPool");
  const auto exact = make_session(bytes, onednn({"threads.count=1"})),
             fast = make_session(bytes, onednn({"threads.count=1", "precision.default=fast"}));
  ASSERT_TRUE(exact != nullptr && fast != nullptr);
  const ValueRef x = image(random, {1, 3, 48, 48});
  EXPECT_EQ(bits_of(run(*exact, {{"x", x}})), bits_of(run(*fast, {{"x", x}})));
}

TEST(OneDnnNumbers, NaNInfinitiesAndHugeNumbersComeThroughConvolutions) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const ir::Dim unknown("n");
  for (const bool dynamic : {false, true}) {
    std::mt19937 random(14);
    const std::string bytes = dynamic ? network(unknown) : network(1);
    const auto mine = make_session(bytes, onednn()), cpu = make_session(bytes);
    ASSERT_TRUE(mine != nullptr && cpu != nullptr);
    const ValueRef tame = image(random, {1, 3, 48, 48});
    const auto before = bits_of(run(*mine, {{"x", tame}}));
    for (const float special : {std::nanf(""), kInfinity, -kInfinity, 1e20f, -3e38f}) {
      for (const size_t place : {size_t{0}, size_t{700}, size_t{2 * 48 * 48 + 1000}}) {
        std::vector<float> numbers = noise(random, 3 * 48 * 48);
        numbers[place] = special;
        const ValueRef x = f32({1, 3, 48, 48}, numbers);
        expect_same_kind(run(*mine, {{"x", x}}), run(*cpu, {{"x", x}}), 1e-5f,
                         std::to_string(special) + " at " + std::to_string(place));
      }
    }
    EXPECT_EQ(bits_of(run(*mine, {{"x", tame}})), before) << "a run changes the next one";
  }
}

TEST(OneDnnNumbers, WeightsThatAreNoNumbersAreNotTrusted) {
  for (const float poison : {std::nanf(""), std::numeric_limits<float>::infinity(), 1e33f}) {
    std::mt19937 random(15);
    const std::string bytes = network(1, poison);
    const auto mine = make_session(bytes, onednn()), cpu = make_session(bytes);
    ASSERT_TRUE(mine != nullptr && cpu != nullptr);
    const ValueRef x = image(random, {1, 3, 48, 48});
    expect_same_kind(run(*mine, {{"x", x}}), run(*cpu, {{"x", x}}), 1e-5f, std::to_string(poison));
  }
}

TEST(OneDnnNumbers, RunsWithAndWithoutNaNAtTheSameTime) {
  std::mt19937 random(16);
  const auto session = make_session(network(1), onednn());
  ASSERT_NE(session, nullptr);
  std::vector<float> numbers = noise(random, 3 * 48 * 48);
  const ValueRef tame = f32({1, 3, 48, 48}, numbers);
  numbers[900] = std::nanf("");
  const ValueRef wild = f32({1, 3, 48, 48}, numbers);
  const auto wanted = bits_of(run(*session, {{"x", tame}}));
  const size_t nans = [&] {
    size_t n = 0;
    for (const float v : floats(run(*session, {{"x", wild}})[0])) n += std::isnan(v) ? 1 : 0;
    return n;
  }();
  EXPECT_GT(nans, 0u);
  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        if (t % 2 == 0) {
          different += bits_of(run(*session, {{"x", tame}})) != wanted ? 1 : 0;
          continue;
        }
        size_t n = 0;
        for (const float v : floats(run(*session, {{"x", wild}})[0])) n += std::isnan(v) ? 1 : 0;
        different += n != nans ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(different, 0);
}

}  // namespace
}  // namespace tenon::test
