// The names that the kit's host gives to constants and views.
#include <gtest/gtest.h>

#include <array>

#include "ep-sdk/cts/host_table.h"

namespace tenon::cts {
namespace {

using Id = std::array<uint8_t, 32>;

GraphCase graph_with(Tensor second) {
  return graph_of(
      {"Add", "", 14, {}, {f32({2, 2}, {1, 2, 3, 4}), std::move(second)}, {f32({2, 2}, {0, 0, 0, 0})}});
}

Id fingerprint(const GraphCase& graph) {
  Id out{};
  const auto view = make_view(graph, graph.all_nodes());
  EXPECT_EQ(host_table().graph_fingerprint(view.get(), out.data()), TENON_OK);
  return out;
}

/// The id of the only constant.
Id constant_id(const GraphCase& graph) {
  Id out{};
  const auto view = make_view(graph, graph.all_nodes());
  for (uint32_t v = 0; v < view->values.size(); ++v) {
    const tenon_status status = host_table().graph_constant_id(view.get(), v, out.data());
    if (status == TENON_OK) return out;
    EXPECT_EQ(status, TENON_NOT_FOUND);
  }
  ADD_FAILURE() << "the view has no constant";
  return out;
}

TEST(KitHost, NamesAConstantByTypeShapeAndBytes) {
  const Id id = constant_id(graph_with(constant(f32({2}, {1, 2}))));
  EXPECT_EQ(id, constant_id(graph_with(constant(f32({2}, {1, 2})))));
  EXPECT_NE(id, constant_id(graph_with(constant(f32({1, 2}, {1, 2})))));
  EXPECT_NE(id, constant_id(graph_with(constant(f32({2}, {1, 3})))));
  EXPECT_NE(id, constant_id(graph_with(constant(i32({2}, {0x3F800000, 0x40000000})))));
}

TEST(KitHost, NamesAViewByWhatItComputesAndNotByNames) {
  const GraphCase graph = graph_with(constant(f32({2}, {1, 2})));
  GraphCase renamed = graph;
  for (GraphCase::Value& value : renamed.values) value.name += "_renamed";
  renamed.nodes[0].name = "renamed";
  EXPECT_EQ(fingerprint(graph), fingerprint(renamed));
  EXPECT_NE(fingerprint(graph), fingerprint(graph_with(constant(f32({2}, {1, 3})))));
  EXPECT_NE(fingerprint(graph), fingerprint(graph_with(f32({2}, {1, 2}))));
  GraphCase other = graph;
  other.nodes[0].op_type = "Sub";
  EXPECT_NE(fingerprint(graph), fingerprint(other));
  other = graph;
  other.nodes[0].attributes.push_back({"axis", int64_t{1}});
  EXPECT_NE(fingerprint(graph), fingerprint(other));
}

TEST(KitHost, RefusesWhatTheViewDoesNotHave) {
  Id out{};
  const GraphCase graph = graph_with(f32({2}, {1, 2}));
  const auto view = make_view(graph, graph.all_nodes());
  EXPECT_EQ(host_table().graph_constant_id(view.get(), 77, out.data()), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(host_table().graph_fingerprint(nullptr, out.data()), TENON_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tenon::cts
