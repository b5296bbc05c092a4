#include "host/device/graph_id.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <thread>

#include "host/device/graph_view.h"

namespace tenon::runtime {
namespace {

using Id = std::vector<uint8_t>;
constexpr auto kFloat = ir::ElementType::kFloat32;

ir::TensorPtr tensor_of(std::vector<int64_t> dims, const std::vector<float>& values,
                        ir::ElementType type = kFloat) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return *ir::Tensor::make(type, std::move(dims), std::move(bytes));
}

/// y = If(c) { x + w } else { x } with alpha, axes and a table as attributes of the Add; what a test changes is a member.
struct Model {
  std::string prefix;  // of all names
  std::vector<float> weights = {1, 2, 3};
  std::vector<int64_t> dims = {3};
  ir::Shape shape = ir::Shape({ir::Dim("N"), ir::Dim(3)});
  std::vector<ir::Attribute> attributes = {ir::Attribute::of_float("alpha", 0.5f),
                                           ir::Attribute::of_ints("axes", {1, -1}),
                                           ir::Attribute::of_strings("words", {"ab", "c"})};
  std::string op = "Add", domain, inner_op = "Relu";
  int version = 7;
  bool swapped = false;  // the inputs of the Add

  ir::Graph build() const {
    ir::Graph graph;
    graph.name = prefix + "graph";
    const auto type = ir::Type::tensor(kFloat, shape);
    const auto x = graph.add_value(prefix + "x", type);
    const auto c = graph.add_value(prefix + "c", ir::Type::tensor(ir::ElementType::kBool, ir::Shape::of({})));
    graph.add_input(x);
    graph.add_input(c);
    const auto w = graph.add_constant(prefix + "w", tensor_of(dims, weights));
    const auto h = graph.add_value(prefix + "h", type), y = graph.add_value(prefix + "y", type);
    ir::Node add;
    add.name = prefix + "add";
    add.op_type = op;
    add.domain = domain;
    add.since_version = version;
    add.inputs = swapped ? std::vector{w, x} : std::vector{x, w};
    add.outputs = {h};
    add.attributes = attributes;
    graph.add_node(std::move(add));

    ir::Graph body;
    body.name = prefix + "body";
    const auto inside = body.add_capture(h, prefix + "h_inside", type);
    const auto out = body.add_value(prefix + "out", type);
    ir::Node inner;
    inner.name = prefix + "inner";
    inner.op_type = inner_op;
    inner.since_version = version;
    inner.inputs = {inside};
    inner.outputs = {out};
    body.add_node(std::move(inner));
    body.add_output(out);
    ir::Node branch;
    branch.name = prefix + "if";
    branch.op_type = "If";
    branch.since_version = version;
    branch.inputs = {c};
    branch.outputs = {y};
    branch.attributes = {ir::Attribute::of_graph("then_branch", std::move(body))};
    graph.add_node(std::move(branch));
    graph.add_output(y);
    return graph;
  }
};

/// A session's view of a model.
struct Session {
  explicit Session(const Model& model) : graph(model.build()) {
    GraphSource source;
    source.graph = &graph;
    source.opset_imports = &opsets;
    source.constants = &constants;
    view.emplace(*GraphView::whole(source, {}));
  }
  Id fingerprint() const {
    Id out(32);
    EXPECT_EQ(graph_fingerprint(view->handle(), out.data()), TENON_OK);
    return out;
  }
  Id constant(const std::string& name) const {
    Id out(32);
    EXPECT_EQ(graph_constant_id(view->handle(), view->index_of(graph.find_value(name)), out.data()),
              TENON_OK);
    return out;
  }

  ir::Graph graph;
  std::map<std::string, int64_t> opsets = {{"", 21}};
  ConstantPool constants;
  std::optional<GraphView> view;
};

Id id_of(const ir::TensorPtr& tensor) {
  const Sha256::Digest id = constant_id(tensor);
  return {id.begin(), id.end()};
}

TEST(ConstantId, EqualContentInTwoSessions) {
  Model renamed;
  renamed.prefix = "other_";
  EXPECT_EQ(Session(Model()).constant("w"), Session(renamed).constant("other_w"));
}

TEST(ConstantId, EachPartOfTheContentCounts) {
  const Id id = id_of(tensor_of({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(id, id_of(tensor_of({2, 3}, {1, 2, 3, 4, 5, 6})));
  EXPECT_NE(id, id_of(tensor_of({2, 3}, {1, 2, 3, 4, 5, std::nextafter(6.0f, 7.0f)}))) << "one bit";
  EXPECT_NE(id, id_of(tensor_of({3, 2}, {1, 2, 3, 4, 5, 6})));
  EXPECT_NE(id, id_of(tensor_of({6}, {1, 2, 3, 4, 5, 6})));
  EXPECT_NE(id, id_of(tensor_of({2, 3}, {1, 2, 3, 4, 5, 6}, ir::ElementType::kInt32)));
  EXPECT_NE(id_of(tensor_of({0}, {})), id_of(tensor_of({0, 1}, {})));
}

TEST(ConstantId, StringsAreTheirLengthsAndBytes) {
  const auto strings = [](const std::vector<std::string>& texts) {
    return id_of(*ir::Tensor::make_strings({static_cast<int64_t>(texts.size())}, texts));
  };
  EXPECT_EQ(strings({"ab", "c"}), strings({"ab", "c"}));
  EXPECT_NE(strings({"ab", "c"}), strings({"a", "bc"}));
}

TEST(ConstantId, IsRememberedWhileTheTensorLives) {
  const size_t before = remembered_ids();
  ir::TensorPtr tensor = tensor_of({1}, {1});
  const std::weak_ptr<const ir::Tensor> life = tensor;
  const Id first = id_of(tensor);
  EXPECT_EQ(remembered_ids(), before + 1);
  EXPECT_EQ(id_of(tensor), first);
  EXPECT_EQ(remembered_ids(), before + 1);
  tensor.reset();
  EXPECT_TRUE(life.expired()) << "nobody keeps it";
  EXPECT_EQ(remembered_ids(), before);
}

TEST(ConstantId, AnAddressThatIsUsedAgainIsAnotherTensor) {
  // Objects at one address, one after the other, as an allocator may place them.
  alignas(ir::Tensor) std::byte place[sizeof(ir::Tensor)];
  const auto id_at_place = [&](float value) {
    auto* const made = new (place) ir::Tensor(*tensor_of({1}, {value}));
    return id_of(ir::TensorPtr(made, [](const ir::Tensor* tensor) { tensor->~Tensor(); }));
  };
  const Id one = id_at_place(1);
  EXPECT_EQ(one, id_of(tensor_of({1}, {1})));
  EXPECT_EQ(id_at_place(2), id_of(tensor_of({1}, {2})));
}

TEST(ConstantId, ManyThreadsAskForOneTensor) {
  const ir::TensorPtr tensor = tensor_of({1 << 16}, std::vector<float>(1 << 16, 3));
  std::vector<Id> ids(8);
  std::vector<std::thread> threads;
  for (Id& id : ids) threads.emplace_back([&id, &tensor] { id = id_of(tensor); });
  for (std::thread& thread : threads) thread.join();
  for (const Id& id : ids) EXPECT_EQ(id, ids[0]);
}

TEST(GraphIds, WrongArguments) {
  const Session session{Model()};
  uint8_t out[32];
  const tenon_graph* graph = session.view->handle();
  const uint32_t w = session.view->index_of(session.graph.find_value("w"));
  EXPECT_EQ(graph_constant_id(nullptr, w, out), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(graph_constant_id(graph, w, nullptr), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(graph_constant_id(graph, session.view->value_count(), out), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(graph_constant_id(graph, TENON_NO_INDEX, out), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(graph_constant_id(graph, session.view->index_of(session.graph.find_value("x")), out),
            TENON_NOT_FOUND);
  EXPECT_EQ(graph_fingerprint(nullptr, out), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(graph_fingerprint(graph, nullptr), TENON_INVALID_ARGUMENT);
}

TEST(Fingerprint, NamesDoNotCount) {
  Model renamed;
  renamed.prefix = "other_";
  renamed.shape = ir::Shape({ir::Dim("M"), ir::Dim(3)});
  EXPECT_EQ(Session(Model()).fingerprint(), Session(renamed).fingerprint());
}

class FingerprintOf : public ::testing::TestWithParam<std::pair<const char*, std::function<void(Model&)>>> {};

TEST_P(FingerprintOf, AnotherModelDiffers) {
  Model changed;
  GetParam().second(changed);
  EXPECT_NE(Session(Model()).fingerprint(), Session(changed).fingerprint());
}

std::pair<const char*, std::function<void(Model&)>> change(const char* name,
                                                           std::function<void(Model&)> apply) {
  return {name, std::move(apply)};
}

INSTANTIATE_TEST_SUITE_P(Each, FingerprintOf,
                         ::testing::Values(change("operator", [](Model& m) { m.op = "Mul"; }),
                                           change("domain", [](Model& m) { m.domain = "com.acme"; }),
                                           change("version", [](Model& m) { m.version = 13; }),
                                           change("float", [](Model& m) { m.attributes[0].f = 0.25f; }),
                                           change("ints", [](Model& m) { m.attributes[1].ints = {1}; }),
                                           change("strings",
                                                  [](Model& m) {
                                                    m.attributes[2].strings = {"a", "bc"};
                                                  }),
                                           change("attribute",
                                                  [](Model& m) { m.attributes[0].name = "beta"; }),
                                           change("fewer", [](Model& m) { m.attributes.pop_back(); }),
                                           change("nested", [](Model& m) { m.inner_op = "Abs"; }),
                                           change("edges", [](Model& m) { m.swapped = true; }),
                                           change("shape",
                                                  [](Model& m) {
                                                    m.shape = ir::Shape({ir::Dim(2), ir::Dim(3)});
                                                  }),
                                           change("rank", [](Model& m) { m.shape = ir::Shape(); }),
                                           change("constant", [](Model& m) { m.weights[1] = 2.5f; }),
                                           change("dims",
                                                  [](Model& m) {
                                                    m.dims = {1, 3};
                                                  })),
                         [](const auto& info) { return std::string(info.param.first); });

TEST(Fingerprint, ConcreteTypesOfAClaimCount) {
  const Session session{Model()};
  const std::vector<ir::NodeId> nodes = {0};
  const std::vector<ir::ValueId> inputs = {session.graph.find_value("x")},
                                 outputs = {session.graph.find_value("h")};
  const auto of_claim = [&](const std::unordered_map<ir::ValueId, ir::Type>* types) {
    GraphSource source;
    source.graph = &session.graph;
    source.opset_imports = &session.opsets;
    ConstantPool constants;
    source.constants = &constants;
    const GraphView view = *GraphView::of_claim(source, {nodes, inputs, outputs, types});
    Id out(32);
    EXPECT_EQ(graph_fingerprint(view.handle(), out.data()), TENON_OK);
    return out;
  };
  std::unordered_map<ir::ValueId, ir::Type> types = {
      {inputs[0], ir::Type::tensor(kFloat, ir::Shape::of({5, 3}))}};
  const Id five = of_claim(&types);
  EXPECT_NE(five, of_claim(nullptr));
  EXPECT_EQ(five, of_claim(&types));
  types[inputs[0]] = ir::Type::tensor(kFloat, ir::Shape::of({6, 3}));
  EXPECT_NE(five, of_claim(&types));
}

}  // namespace
}  // namespace tenon::runtime
