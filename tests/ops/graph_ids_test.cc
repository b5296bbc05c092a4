// The ids of constants and graphs, and the product of dims, as a provider's code gets them.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tenon/ep/graph.hpp"

namespace tenon::ep {
namespace {

class GraphIds : public testing::Test {
 protected:
  GraphIds() {
    detail::g_host = {};
    detail::g_host.graph_info = [](const tenon_graph*, tenon_graph_info*) -> tenon_status {
      return TENON_OK;
    };
  }
  ~GraphIds() override { detail::g_host = before_; }

  const tenon_host_api before_ = detail::g_host;
};

TEST_F(GraphIds, ComeFromTheHost) {
  detail::g_host.graph_constant_id = [](const tenon_graph*, uint32_t value, uint8_t* out) -> tenon_status {
    if (value == 9) return TENON_NOT_FOUND;
    std::fill(out, out + 32, static_cast<uint8_t>(value));
    return TENON_OK;
  };
  detail::g_host.graph_fingerprint = [](const tenon_graph*, uint8_t* out) -> tenon_status {
    std::fill(out, out + 32, static_cast<uint8_t>(0xee));
    return TENON_OK;
  };
  const GraphView graph(nullptr);
  Digest expected;
  expected.fill(5);
  EXPECT_EQ(graph.constant_id(5), expected);
  expected.fill(0xee);
  EXPECT_EQ(graph.fingerprint(), expected);
  try {
    static_cast<void>(graph.constant_id(9));
    FAIL() << "a value without data has an id";
  } catch (const Error& e) {
    EXPECT_EQ(e.code, TENON_NOT_FOUND);
    EXPECT_EQ(e.text, "the host gives value 9 no id");
  }
}

TEST_F(GraphIds, AreUnimplementedWithAHostThatLacksThem) {
  const GraphView graph(nullptr);
  for (const bool constant : {true, false}) {
    try {
      constant ? static_cast<void>(graph.constant_id(5)) : static_cast<void>(graph.fingerprint());
      FAIL() << "an id came from nowhere";
    } catch (const Error& e) {
      EXPECT_EQ(e.code, TENON_UNIMPLEMENTED);
    }
  }
}

TEST(MultiplyOverflows, AgreesWithTheCompiler) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  std::vector<int64_t> numbers = {most,     most - 1, most / 2,  most / 2 + 1,
                                  most / 3, least,    least + 1, least / 2};
  for (const int64_t near :
       {int64_t{0}, int64_t{1} << 31, int64_t{1} << 32, int64_t{3037000499}, -(int64_t{1} << 31)}) {
    for (int64_t d = -3; d <= 3; ++d) numbers.push_back(near + d);
  }
  for (const int64_t a : numbers) {
    for (const int64_t b : numbers) {
      int64_t expected = 0, got = 0;
      const bool overflow = __builtin_mul_overflow(a, b, &expected);
      ASSERT_EQ(multiply_overflows(a, b, &got), overflow) << a << " * " << b;
      if (!overflow) {
        ASSERT_EQ(got, expected) << a << " * " << b;
      }
    }
  }
}

}  // namespace
}  // namespace tenon::ep
