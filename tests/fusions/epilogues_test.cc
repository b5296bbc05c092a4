// Sums and clamps that a product or convolution does itself, compared with the cpu provider.
#include "tests/fusions/as_cpu.h"

namespace tenon::test {
namespace {

using Id = GraphMaker::Id;

std::vector<float> drawn(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> out(count);
  for (float& v : out) v = std::uniform_real_distribution<float>(-2, 2)(random);
  return out;
}

/// x [rows, depth] * w [depth, columns] + bias [columns] + z, clamped: one launch.
void expect_product(int64_t rows, int64_t depth, int64_t columns) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({rows, depth})),
           z = m.input("z", GraphMaker::f32({rows, columns}));
  const auto size = [](int64_t a, int64_t b) { return static_cast<size_t>(a * b); };
  Id y = m.node("MatMul", {x, m.constant("w", {depth, columns}, drawn(size(depth, columns), 1))});
  y = m.node("Add", {m.constant("bias", {columns}, drawn(size(1, columns), 2)), y});
  y = m.node("Add", {z, y});
  m.output(m.node("Relu", {y}), "y");
  std::vector<float> addend = drawn(size(rows, columns), 3);
  addend[0] = NAN;
  const std::string what =
      std::to_string(rows) + " x " + std::to_string(depth) + " x " + std::to_string(columns);
  EXPECT_EQ(expect_as_cpu(
                m.bytes(),
                {{"x", f32({rows, depth}, drawn(size(rows, depth), 4))}, {"z", f32({rows, columns}, addend)}},
                what),
            (std::vector<size_t>{4}))
      << what;
}

TEST(Epilogues, OfMatMul) {
  // By texels, by words, rows that are no whole tiles, few columns, one row.
  for (const int64_t columns : {8, 12, 9, 3, 1}) {
    for (const int64_t rows : {9, 8, 5, 1}) expect_product(rows, 8, columns);
  }
  expect_product(4, 3, 16);
}

TEST(Epilogues, OfConvolutions) {
  struct Case {
    std::vector<int64_t> filters;
    int64_t groups;
    size_t side;
  };
  const Case cases[] = {{{4, 8, 1, 1}, 1, 4},
                        {{4, 8, 1, 1}, 1, 5},
                        {{4, 8, 3, 3}, 1, 5},
                        {{8, 1, 3, 3}, 8, 5},
                        {{4, 4, 3, 3}, 2, 4}};
  for (const Case& one : cases) {
    const auto side = static_cast<int64_t>(one.side), pad = one.filters[2] / 2, filters = one.filters[0];
    for (const int64_t images : {1, 2}) {
      GraphMaker m;
      const Id x = m.input("x", GraphMaker::f32({images, 8, side, side}));
      const Id z = m.input("z", GraphMaker::f32({images, filters, side, side}));
      int64_t weights = 1;
      for (const int64_t dim : one.filters) weights *= dim;
      const Id y = m.node(
          "Conv",
          {x, m.constant("w", one.filters, drawn(static_cast<size_t>(weights), 1)),
           m.constant("b", {filters}, drawn(static_cast<size_t>(filters), 2))},
          {ir::Attribute::of_ints("pads", {pad, pad, pad, pad}), ir::Attribute::of_int("group", one.groups)});
      m.output(
          m.node("Clip", {m.node("Add", {y, z}), m.constant("low", {}, {-1}), m.constant("high", {}, {2})}),
          "y");
      const size_t in = static_cast<size_t>(images) * 8 * one.side * one.side,
                   out = static_cast<size_t>(images * filters) * one.side * one.side;
      EXPECT_EQ(expect_as_cpu(m.bytes(),
                              {{"x", f32({images, 8, side, side}, drawn(in, 3))},
                               {"z", f32({images, filters, side, side}, drawn(out, 4))}},
                              "a convolution"),
                (std::vector<size_t>{3}));
    }
  }
}

TEST(Epilogues, TheSumOfTwoProductsIsDoneByOne) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({2, 3}));
  const auto product = [&](const char* name, unsigned seed) {
    return m.node("MatMul", {x, m.constant(name, {3, 4}, drawn(12, seed))});
  };
  m.output(m.node("Add", {product("v", 1), product("w", 2)}), "y");
  auto parts = expect_as_cpu(m.bytes(), {{"x", f32({2, 3}, drawn(6, 3))}}, "two products");
  std::sort(parts.begin(), parts.end());
  EXPECT_EQ(parts, (std::vector<size_t>{1, 2}));
}

TEST(Epilogues, TheSumOfTwoChainsIsDoneByOne) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({2, 3}));
  m.output(m.node("Add", {m.node("Tanh", {x}), m.node("Abs", {x})}), "y");
  auto parts = expect_as_cpu(m.bytes(), {{"x", f32({2, 3}, drawn(6, 3))}}, "two chains");
  std::sort(parts.begin(), parts.end());
  EXPECT_EQ(parts, (std::vector<size_t>{1, 2}));
}

TEST(Epilogues, EndWhereTheSumIsOfAnotherKind) {
  const auto parts_with = [](const std::vector<int64_t>& of_z, bool twice) {
    GraphMaker m;
    const Id x = m.input("x", GraphMaker::f32({2, 3})),
             z = m.input("z", GraphMaker::f32({of_z.begin(), of_z.end()}));
    const Id y = m.node("MatMul", {x, m.constant("w", {3, 4}, drawn(12, 1))});
    m.output(m.node("Add", {y, twice ? y : z}), "y");
    if (twice) m.output(m.node("Neg", {z}), "n");
    size_t count = 1;
    for (const int64_t dim : of_z) count *= static_cast<size_t>(dim);
    return expect_as_cpu(m.bytes(), {{"x", f32({2, 3}, drawn(6, 2))}, {"z", f32(of_z, drawn(count, 3))}},
                         "other sums");
  };
  EXPECT_EQ(parts_with({2, 4}, false), (std::vector<size_t>{2}));
  EXPECT_EQ(parts_with({4}, false), (std::vector<size_t>{2}));
  EXPECT_EQ(parts_with({1, 4}, false), (std::vector<size_t>{2}));
  EXPECT_EQ(parts_with({2, 1}, false), (std::vector<size_t>{1, 1}));     // for each row
  EXPECT_EQ(parts_with({1}, false), (std::vector<size_t>{1, 1}));        // a scalar
  EXPECT_EQ(parts_with({5, 2, 4}, false), (std::vector<size_t>{1, 1}));  // the result grows
  EXPECT_EQ(parts_with({3}, true), (std::vector<size_t>{1, 1, 1}));      // the product twice
}

}  // namespace
}  // namespace tenon::test
