// Chains of element-wise nodes that a provider computes with one launch, compared with the cpu provider.
#include "tests/fusions/as_cpu.h"

namespace tenon::test {
namespace {

using Id = GraphMaker::Id;

TEST(Chains, ScalarsVectorsAndTensorsInOneLaunch) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({2, 3})), z = m.input("z", GraphMaker::f32({2, 3}));
  Id y = m.node("Add", {x, m.constant("bias", {3}, {1, -1, 2})});
  y = m.node("Mul", {y, m.constant("two", {}, {2})});
  y = m.node("Sub", {y, z});
  y = m.node("Clip", {y, m.constant("low", {}, {-3}), m.constant("high", {}, {4})});
  m.output(m.node("Mul", {y, x}), "y");
  const auto parts = expect_as_cpu(
      m.bytes(), {{"x", f32({2, 3}, {1, 2, NAN, -4, INFINITY, 0})}, {"z", f32({2, 3}, {0, 9, 1, 2, 3, -8})}},
      "mixed");
  EXPECT_EQ(parts, (std::vector<size_t>{5}));
}

TEST(Chains, AnOperandThatIsReadTwiceIsOne) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({4})), a = m.input("a", GraphMaker::f32({4})),
           b = m.input("b", GraphMaker::f32({4})), c = m.input("c", GraphMaker::f32({4}));
  Id y = m.node("Mul", {m.node("Tanh", {x}), x});
  for (const Id other : {a, b, a, x, c}) y = m.node("Add", {y, other});
  m.output(y, "y");
  const ValueRef some = f32({4}, {0.5f, -1, 2, 3});
  const auto parts =
      expect_as_cpu(m.bytes(), {{"x", some}, {"a", some}, {"b", some}, {"c", some}}, "read twice");
  EXPECT_EQ(parts, (std::vector<size_t>{7}));
}

TEST(Chains, EndWhereOperandsOrStepsAreTooMany) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({4}));
  Id y = m.node("Exp", {m.node("Neg", {x})});
  std::vector<session::NamedValue> inputs{{"x", f32({4}, {0.5f, -1, 2, 3})}};
  constexpr const char* kNames[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  ASSERT_LE(limits().operands, std::size(kNames));
  for (size_t n = 0; n < limits().operands; ++n) {
    y = m.node("Add", {y, m.input(kNames[n], GraphMaker::f32({4}))});
    inputs.push_back({kNames[n], f32({4}, {1, 2, 3, static_cast<float>(n)})});
  }
  for (size_t n = 0; n < limits().steps; ++n) y = m.node(n % 2 == 0 ? "Tanh" : "Abs", {y});
  m.output(y, "y");
  EXPECT_EQ(expect_as_cpu(m.bytes(), inputs, "too many"),
            (std::vector<size_t>{1 + limits().operands, limits().steps, 1}));
}

TEST(Chains, EndWhereTheResultHasOtherUsersOrGrows) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({1, 3})), z = m.input("z", GraphMaker::f32({2, 3}));
  const Id shared = m.node("Neg", {m.node("Exp", {x})});
  m.output(m.node("Abs", {shared}), "a");
  m.output(m.node("Sqrt", {m.node("Add", {shared, z})}), "b");  // {1, 3} and {2, 3}
  EXPECT_EQ(expect_as_cpu(m.bytes(),
                          {{"x", f32({1, 3}, {1, -2, 0})}, {"z", f32({2, 3}, {9, 8, 7, 6, 5, 40})}}, "users"),
            (std::vector<size_t>{2, 1, 2}));
}

TEST(Chains, ShapesAreThoseOfEachRun) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({ir::Dim("a"), ir::Dim("b")})),
           z = m.input("z", GraphMaker::f32({ir::Dim("c"), ir::Dim("d")}));
  m.output(m.node("Relu", {m.node("Mul", {m.node("Add", {m.node("Neg", {x}), z}), x})}), "y");
  const std::string bytes = m.bytes();
  const auto mine = make_session(bytes, mine_then_cpu()), cpu = make_session(bytes);
  ASSERT_TRUE(mine != nullptr && cpu != nullptr);
  EXPECT_EQ(parts_of(*mine), (std::vector<size_t>{4}));
  const auto tensor = [](int64_t rows, int64_t columns) {
    std::vector<float> values(static_cast<size_t>(rows * columns));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3.5f;
    return f32({rows, columns}, values);
  };
  for (const auto& [a, b, c, d] : {std::array<int64_t, 4>{2, 3, 2, 3},
                                   {1, 3, 2, 1},
                                   {1, 1, 4, 5},
                                   {5, 1, 1, 1},
                                   {0, 3, 1, 3},
                                   {1, 1, 0, 2}}) {
    const std::vector<session::NamedValue> inputs{{"x", tensor(a, b)}, {"z", tensor(c, d)}};
    const auto got = run(*mine, inputs), wanted = run(*cpu, inputs);
    EXPECT_EQ(dims(got[0]), dims(wanted[0]));
    expect_close(floats(got[0]), floats(wanted[0]), "shapes");
  }
  std::vector<ValueRef> outputs(1);
  const std::vector<session::NamedValue> unfit{{"x", tensor(2, 3)}, {"z", tensor(2, 4)}};
  const Status status = mine->run({}, unfit, {}, outputs);
  EXPECT_FALSE(status.ok()) << "rows of 3 and of 4";
}

TEST(Chains, NaNAndInfinitiesAreNotSimplifiedAway) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({5}));
  const Id zero = m.node("Sub", {x, x});
  m.output(m.node("Mul", {m.node("Add", {zero, x}), m.constant("nothing", {}, {0})}), "y");
  m.output(m.node("Div", {x, x}), "z");
  m.output(m.node("Relu", {m.node("Sub", {x, x})}), "r");
  expect_as_cpu(m.bytes(), {{"x", f32({5}, {NAN, INFINITY, -INFINITY, 0, 3})}}, "special numbers");
}

TEST(Chains, ConditionsAndIntegers) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({5})), i = m.input("i", GraphMaker::i64({5}));
  const Id limit = m.constant("limit", {}, {1});
  m.output(m.node("Where", {m.node("Greater", {m.node("Abs", {x}), limit}), limit, x}), "f");
  const Id shifted = m.node("Sub", {m.node("Mul", {i, i}), m.scalar("big", int64_t{1} << 40)});
  m.output(m.node("Cast", {m.node("Less", {shifted, m.scalar("zero", 0)})}, {ir::Attribute::of_int("to", 1)}),
           "n");
  EXPECT_EQ(expect_as_cpu(m.bytes(),
                          {{"x", f32({5}, {-2, 0.5f, NAN, 1, -1})},
                           {"i", i64({5}, {1, -3, int64_t{1} << 20, int64_t{1} << 21, INT64_MIN})}},
                          "conditions"),
            limits().mixes_types ? (std::vector<size_t>{3, 4}) : (std::vector<size_t>{3, 3, 1}));
}

TEST(Chains, CastsRoundWhereTheyStand) {
  const auto cast = [](GraphMaker& m, Id x, ir::ElementType to) {
    return m.node("Cast", {x}, {ir::Attribute::of_int("to", static_cast<int64_t>(to))});
  };
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({6}));
  // What float16 loses, enlarged.
  const Id half = cast(m, cast(m, x, ir::ElementType::kFloat16), ir::ElementType::kFloat32);
  m.output(m.node("Mul", {m.node("Sub", {half, x}), m.constant("much", {}, {1024})}), "lost");
  const Id hundred =
      m.graph.add_constant("hundred", *ir::Tensor::make(ir::ElementType::kInt8, {}, {std::byte{100}}));
  const Id whole =
      cast(m, m.node("Add", {cast(m, x, ir::ElementType::kInt8), hundred}), ir::ElementType::kFloat32);
  m.output(m.node("Div", {whole, m.constant("two", {}, {2})}), "whole");
  EXPECT_EQ(expect_as_cpu(m.bytes(), {{"x", f32({6}, {1.0001f, -3.3f, 27.9f, -128, 130, 0.1f})}}, "casts"),
            limits().mixes_types ? (std::vector<size_t>{4, 4}) : (std::vector<size_t>{1, 1, 2, 1, 1, 1, 1}));
}

TEST(Chains, RowsOfAnyWidthAndWhatIsRepeatedAlongThem) {
  const auto counted = [](const std::vector<int64_t>& dims, float first) {
    size_t count = 1;
    for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i % 23);
    return f32(dims, values);
  };
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({2, 3, ir::Dim("width")})),
           z = m.input("z", GraphMaker::f32({ir::Dim("a"), ir::Dim("b"), ir::Dim("c")}));
  m.output(m.node("Relu", {m.node("Sub", {m.node("Mul", {x, z}), x})}), "y");
  const std::string bytes = m.bytes();
  const auto mine = make_session(bytes, mine_then_cpu()), cpu = make_session(bytes);
  ASSERT_TRUE(mine != nullptr && cpu != nullptr);
  EXPECT_EQ(parts_of(*mine), (std::vector<size_t>{3}));
  for (const int64_t width : {1, 3, 4, 5, 8, 31, 64, 130}) {
    const std::vector<std::vector<int64_t>> repeated{{2, 3, width}, {1, 1, width}, {1, 3, 1},
                                                     {2, 1, width}, {1, 1, 1},     {2, 3, 1}};
    for (const std::vector<int64_t>& of_z : repeated) {
      const std::vector<session::NamedValue> inputs{{"x", counted({2, 3, width}, -7)},
                                                    {"z", counted(of_z, -2)}};
      const auto got = run(*mine, inputs), wanted = run(*cpu, inputs);
      EXPECT_EQ(dims(got[0]), dims(wanted[0]));
      expect_close(floats(got[0]), floats(wanted[0]), "width " + std::to_string(width));
    }
  }
}

/// The operators of a graph, for messages.
std::string operators_of(const ir::Graph& graph) {
  std::string out;
  const auto order = graph.topological_order();
  for (const ir::NodeId id : *order) out += " " + std::string(graph.node(id).op_type);
  return out;
}

/// y: a chain of `length` operators drawn by `random`.
Id draw_chain(GraphMaker& m, std::mt19937& random, Id x, Id z, int length) {
  const auto draw = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  const auto number = [&] { return std::uniform_real_distribution<float>(-2, 2)(random); };
  Id y = x;
  for (int k = 0; k < length; ++k) {
    constexpr const char* kUnary[] = {"Relu",      "Sigmoid",  "Tanh", "Neg",   "Abs",
                                      "LeakyRelu", "Softplus", "Erf",  "Floor", "Elu"};
    constexpr const char* kBinary[] = {"Add", "Sub", "Mul", "Max", "Min", "PRelu"};
    const std::string name = "c" + std::to_string(k);
    switch (draw(4)) {
      case 0:
      case 1:
        y = m.node(kUnary[draw(10)], {y});
        break;
      case 2: {
        const bool is_scalar = draw(2) == 0;
        const Id c = is_scalar ? m.constant(name, {}, {number()})
                               : m.constant(name, {3}, {number(), number(), number()});
        const char* op = kBinary[draw(6)];
        y = draw(2) == 0 || op == std::string("PRelu") ? m.node(op, {y, c}) : m.node(op, {c, y});
        break;
      }
      default:
        y = m.node(kBinary[draw(5)], {y, draw(2) == 0 ? x : z});
    }
  }
  return y;
}

TEST(Chains, DrawnOnesAreThoseOfTheCpu) {
  int fused = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const int64_t rows = seed % 5 == 0 ? 1 : 4, of_z = seed % 3 == 0 ? 1 : rows;
    GraphMaker m;
    const Id x = m.input("x", GraphMaker::f32({rows, 3})), z = m.input("z", GraphMaker::f32({of_z, 3}));
    m.output(draw_chain(m, random, x, z, 2 + static_cast<int>(seed % 9)), "y");
    std::vector<float> some(static_cast<size_t>(rows * 3)), other(static_cast<size_t>(of_z * 3));
    for (float& v : some) v = std::uniform_real_distribution<float>(-3, 3)(random);
    for (float& v : other) v = std::uniform_real_distribution<float>(-3, 3)(random);
    some[1] = seed % 4 == 0 ? NAN : some[1];
    for (const size_t nodes :
         expect_as_cpu(m.bytes(), {{"x", f32({rows, 3}, some)}, {"z", f32({of_z, 3}, other)}},
                       "seed " + std::to_string(seed) + operators_of(m.graph)))
      fused += nodes > 1;
  }
  EXPECT_GE(fused, 55);
}

}  // namespace
}  // namespace tenon::test
