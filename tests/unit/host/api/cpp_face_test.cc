// What tenon.hpp adds over the table of tenon.h.
#include <gmock/gmock.h>

#include <cstring>

#include "tenon/tenon.hpp"
#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// sum = x + y, product = x * y; `halves`: in float16.
Session session(bool halves = false) {
  GraphMaker m;
  const auto element = halves ? ir::ElementType::kFloat16 : ir::ElementType::kFloat32;
  const auto x = m.input("x", GraphMaker::type(element, {ir::Dim(2)}));
  const auto y = m.input("y", GraphMaker::type(element, {ir::Dim(2)}));
  m.output(m.node("Add", {x, y}), "sum");
  m.output(m.node("Mul", {x, y}), "product");
  const std::string bytes = m.bytes();
  Config config;
  config.set("discovery.search", "[\"" + providers_dir() + "\"]");
  config.set("discovery.scan", "\"off\"");
  config.set("select.order", "[\"cpu\"]");
  return Session::from_memory(bytes.data(), bytes.size(), &config);
}

Value pair(float a, float b) { return Value::tensor<float>({2}, {a, b}); }

TEST(CppFace, OutputsAreChosenAndPreallocated) {
  Session s = session();
  std::vector<NamedValue> wanted = {{"product", Value()}};
  s.run({{"x", pair(2, 3)}, {"y", pair(4, 5)}}, &wanted);
  EXPECT_THAT(wanted[0].value.data<float>(), ElementsAre(8, 15));

  const Value mine = pair(0, 0);
  const void* const memory = mine.data<float>().data();
  wanted = {{"sum", mine}, {"product", Value()}};
  s.run({{"x", pair(1, 1)}, {"y", pair(4, 5)}}, &wanted);
  EXPECT_EQ(wanted[0].value.data<float>().data(), memory);
  EXPECT_THAT(mine.data<float>(), ElementsAre(5, 6));
  EXPECT_THAT(wanted[1].value.data<float>(), ElementsAre(4, 5));

  wanted = {{"difference", Value()}};
  EXPECT_THROW(s.run({{"x", pair(1, 1)}, {"y", pair(4, 5)}}, &wanted), Error);
  wanted = {{"sum", Value::tensor<float>({3}, {0, 0, 0})}};
  EXPECT_THROW(s.run({{"x", pair(1, 1)}, {"y", pair(4, 5)}}, &wanted), Error) << "of another shape";
}

TEST(CppFace, RawBytesMayBeWritten) {
  Session s = session(true);
  constexpr uint16_t kOneAndTwo[] = {0x3C00, 0x4000};
  Value x = Value::empty_tensor(TENON_FLOAT16, std::vector<int64_t>{2});
  ASSERT_EQ(x.mutable_raw().size(), sizeof(kOneAndTwo));
  std::memcpy(x.mutable_raw().data(), kOneAndTwo, sizeof(kOneAndTwo));
  const Outputs outputs = s.run({{"x", x}, {"y", x}});
  uint16_t product[2];
  std::memcpy(product, outputs["product"].raw().data(), sizeof(product));
  EXPECT_THAT(product, ElementsAre(0x3C00, 0x4400));
  uint16_t sum[2];
  std::memcpy(sum, outputs["sum"].raw().data(), sizeof(sum));
  EXPECT_THAT(sum, ElementsAre(0x4000, 0x4400));
}

TEST(CppFace, SlotsAreBoundByName) {
  Session s = session();
  Slots slots(s);
  const Value x = pair(2, 3), y = pair(4, 5);
  Value product = pair(0, 0);
  slots.bind_input("y", y.describe());
  slots.bind_input("x", x.describe());
  slots.bind_output("product", product.describe());
  slots.run();
  EXPECT_THAT(product.data<float>(), ElementsAre(8, 15));
  const auto* sum = static_cast<const float*>(slots.output("sum").data);
  EXPECT_EQ(sum[0], 6);
  EXPECT_EQ(sum[1], 8);
  try {
    slots.bind_input("z", x.describe());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), uint32_t{TENON_ERROR_INVALID_INPUT});
    EXPECT_THAT(error.what(), HasSubstr("there is no input 'z'"));
  }
}

}  // namespace
}  // namespace tenon::test
