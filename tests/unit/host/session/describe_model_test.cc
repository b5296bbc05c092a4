#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/session/describe.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::session {
namespace {

TEST(DescribeModel, CountsParametersThatAreInputsAsWell) {
  test::GraphMaker maker;
  const auto x = maker.input("x", test::GraphMaker::f32({3}));
  const auto bias = maker.constant("bias", {3}, {1, 2, 3});
  const auto weight =
      maker.input("weight", test::GraphMaker::f32({2}), test::GraphMaker::floats({2}, {4, 5}));
  maker.graph.add_output(maker.nodes("Sum", {x, bias, weight}, 1)[0]);
  const auto out = nlohmann::json::parse(describe_model(ir::Model(), maker.graph).dump());
  EXPECT_EQ(out["parameters"], 5);
  EXPECT_EQ(out["parameter_bytes"], 20);
}

}  // namespace
}  // namespace tenon::session
