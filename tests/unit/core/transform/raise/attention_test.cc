// Attention as exporters write it: softmax(scale * Q K^T + mask) V.
#include "tests/unit/core/transform/transform_case.h"

namespace tenon::testing {
namespace {

using ir::Attribute;
using ir::ElementType;
using ir::ValueId;

const std::string kName = "attention";
constexpr int64_t kBatch = 2, kHeads = 4, kQueries = 3, kKeys = 5, kSize = 6, kValueSize = 2;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLowest = std::numeric_limits<float>::lowest();

enum class Scale { kNone, kScores, kQuotient, kQueries, kTransposed, kBoth, kKeys };
enum class Keys { kSwapped, kCombined, kRank3 };

struct Form {
  int64_t opset = 18;
  bool splits = true;  // the heads, from inputs of rank 3; and joins them
  Scale scale = Scale::kScores;
  Keys keys = Keys::kSwapped;
  bool guard = false;
  int64_t axis = -1;
  ElementType type = ElementType::kFloat32;
};

class Maker {
 public:
  explicit Maker(const Form& form = {}) : form_(form), b(form.opset) {
    q = input("q", kQueries, kSize);
    k = input("k", kKeys, kSize);
    v = input("v", kKeys, kValueSize);
  }

  ValueId number(float value, std::vector<int64_t> dims = {}) {
    return b.constant(tensor_of(Array{std::move(dims), {static_cast<double>(value)}}, form_.type));
  }
  ValueId numbers(std::vector<int64_t> dims, const std::vector<float>& values) {
    return b.constant(floats(std::move(dims), values));
  }
  ValueId bools(std::vector<int64_t> dims, const std::vector<uint8_t>& values) {
    return b.constant(tensor(ElementType::kBool, std::move(dims), values));
  }
  ValueId input(const std::string& name, int64_t length, int64_t size) {
    const std::vector<int64_t> dims = form_.splits ? std::vector<int64_t>{kBatch, length, kHeads * size}
                                                   : std::vector<int64_t>{kBatch, kHeads, length, size};
    arrays.push_back(some(dims, static_cast<uint32_t>(arrays.size() + 1)));
    return b.input(name, ir::Type::tensor(form_.type, ir::Shape::of(dims)));
  }
  ValueId more(const std::string& name, ElementType type, Array array) {
    arrays.push_back(array);
    return b.input(name, ir::Type::tensor(type, ir::Shape::of(array.dims)));
  }
  ValueId reshape(ValueId x, const std::vector<int64_t>& dims) { return b.op("Reshape", {x, b.ints(dims)}); }
  ValueId transpose(ValueId x, const std::vector<int64_t>& perm) {
    return b.op("Transpose", {x}, {Attribute::of_ints("perm", perm)});
  }
  ValueId lengths_first(ValueId x, int64_t length) { return reshape(x, {kBatch, length, kHeads, -1}); }
  ValueId four(ValueId x, int64_t length) {
    return form_.splits ? transpose(lengths_first(x, length), {0, 2, 1, 3}) : x;
  }
  ValueId turned() {
    if (form_.keys == Keys::kCombined) return transpose(lengths_first(k, kKeys), {0, 2, 3, 1});
    ValueId keys = four(k, kKeys);
    if (form_.scale == Scale::kKeys) keys = b.op("Mul", {number(0.25f), keys});
    if (form_.keys == Keys::kSwapped) return transpose(keys, {0, 1, 3, 2});
    const ValueId matrices = transpose(reshape(keys, {kBatch * kHeads, kKeys, kSize}), {0, 2, 1});
    return reshape(matrices, {kBatch, kHeads, kSize, kKeys});
  }
  ValueId scores() {
    ValueId queries = four(q, kQueries), keys = turned();
    if (form_.scale == Scale::kQueries || form_.scale == Scale::kBoth)
      queries = b.op("Mul", {queries, number(form_.scale == Scale::kBoth ? 0.5f : 0.25f, {1})});
    if (form_.scale == Scale::kBoth) keys = b.op("Mul", {keys, number(0.5f)});
    if (form_.scale == Scale::kTransposed) keys = b.op("Div", {keys, number(4)});
    const ValueId s = b.op("MatMul", {queries, keys});
    if (form_.scale == Scale::kScores) return b.op("Mul", {s, number(0.25f)});
    return form_.scale == Scale::kQuotient ? b.op("Div", {s, number(4)}) : s;
  }
  ValueId weights(ValueId s) {
    const ValueId w = b.op("Softmax", {s}, {Attribute::of_int("axis", form_.axis)});
    return form_.guard ? b.op("Where", {b.op("IsNaN", {w}), number(0), w}) : w;
  }
  ValueId joined(ValueId y) {
    return form_.splits ? reshape(transpose(y, {0, 2, 1, 3}), {kBatch, kQueries, kHeads * kValueSize}) : y;
  }
  ValueId from(ValueId s) { return joined(b.op("MatMul", {weights(s), four(v, kKeys)})); }
  TransformResult result(ValueId y) {
    b.output(y);
    return transformed(b, kName, arrays);
  }
  /// Only whether the rule applies: the numbers may be NaN.
  size_t changes(ValueId y) {
    b.output(y);
    ir::Model model;
    model.graph = b.done();
    model.opset_imports = b.imports();
    const auto report = transform::run_pipeline(model.graph, model, only(kName));
    EXPECT_TRUE(report.ok());
    return report.ok() ? report->changes(kName) : 0;
  }

 private:
  Form form_;

 public:
  GraphBuilder b;
  ValueId q, k, v;
  std::vector<Array> arrays;
};

const ir::Node& attention_of(const TransformResult& result) {
  for (ir::NodeId id = 0; id < result.model.graph.node_limit(); ++id) {
    if (result.model.graph.has_node(id) && result.model.graph.node(id).is("Attention"))
      return result.model.graph.node(id);
  }
  ADD_FAILURE() << ir::to_text(result.model.graph);
  static const ir::Node none;
  return none;
}

void expect_one_node(const TransformResult& result, size_t inputs) {
  EXPECT_EQ(result.nodes(), 1u) << ir::to_text(result.model.graph);
  EXPECT_EQ(attention_of(result).inputs.size(), inputs);
}

TEST(RaiseAttention, FormsOfKeysAndScales) {
  for (const bool splits : {true, false}) {
    for (const Keys keys : {Keys::kSwapped, Keys::kCombined, Keys::kRank3}) {
      for (int scale = 0; scale <= static_cast<int>(Scale::kKeys); ++scale) {
        const auto scaled = static_cast<Scale>(scale);
        if (keys == Keys::kCombined && (!splits || scaled == Scale::kKeys)) continue;
        for (const bool guard : {false, true}) {
          SCOPED_TRACE(str_cat(splits, " ", static_cast<int>(keys), " ", scale, " ", guard));
          Maker m({.splits = splits, .scale = scaled, .keys = keys, .guard = guard});
          const auto result = m.result(m.from(m.scores()));
          expect_one_node(result, 3);
          const ir::Node& node = attention_of(result);
          EXPECT_EQ(node.find("scale")->f, scaled == Scale::kNone ? 1.0f : 0.25f);
          EXPECT_EQ(node.int_or("q_num_heads", 0), splits ? kHeads : 0);
          EXPECT_EQ(node.int_or("kv_num_heads", 0), splits ? kHeads : 0);
          EXPECT_EQ(node.since_version, 24);
        }
      }
    }
  }
}

TEST(RaiseAttention, HalfPrecision) {
  for (const ElementType type : {ElementType::kFloat16, ElementType::kFloat64}) {
    Maker m({.type = type});
    EXPECT_EQ(m.changes(m.from(m.scores())), type == ElementType::kFloat16 ? 1u : 0u);
  }
}

TEST(RaiseAttention, MasksThatAreAdded) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{3, 5}, {1, 5}, {4, 3, 5}, {1, 1, 5}, {2, 1, 1, 5}, {1, 1, 3, 5}, {2, 4, 3, 5}}) {
    for (const bool first : {false, true}) {
      Maker m;
      const ValueId s = m.scores(), mask = m.b.constant(some_floats(dims));
      expect_one_node(m.result(m.from(m.b.op("Add", first ? std::vector{mask, s} : std::vector{s, mask}))),
                      4);
    }
  }
}

/// Attention excludes keys for which a mask has no element.
TEST(RaiseAttention, NotWithAMaskOfOneElementForAllKeys) {
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{}, {5}, {1, 1}, {3, 1}, {2, 4, 3, 1}}) {
    Maker m;
    EXPECT_EQ(m.result(m.from(m.b.op("Add", {m.scores(), m.b.constant(some_floats(dims))}))).changes, 0u);
  }
}

TEST(RaiseAttention, NotWithAMaskThatAddsDimensions) {
  Maker m({.splits = false});
  m.b.op("Identity", {m.q});
  const ValueId s = m.b.op("Add", {m.scores(), m.b.constant(some_floats({1, 1, 1, 3, 5}))});
  EXPECT_EQ(m.changes(m.from(s)), 0u);
}

/// A softmax over nothing is NaN, and Attention gives 0 there. A guard gives 0 as well.
TEST(RaiseAttention, MasksThatMayExcludeAllKeys) {
  for (const bool guard : {false, true}) {
    Maker given({.guard = guard});
    const ValueId mask = given.more("mask", ElementType::kFloat32, some({3, 5}));
    EXPECT_EQ(given.result(given.from(given.b.op("Add", {given.scores(), mask}))).changes, guard ? 1u : 0u);
    for (const bool leaves : {false, true}) {
      Maker m({.guard = guard});
      std::vector<float> values(15, -kInfinity);
      for (size_t row = 0; row < 3; ++row) values[row * 5 + row] = row == 1 && !leaves ? -kInfinity : 2;
      const ValueId y = m.from(m.b.op("Add", {m.scores(), m.numbers({3, 5}, values)}));
      if (guard || leaves) {
        expect_one_node(m.result(y), 4);
      } else {
        EXPECT_EQ(m.changes(y), 0u);
      }
    }
  }
}

TEST(RaiseAttention, MasksWhoseNumbersAreBounded) {
  for (const float factor : {-10000.0f, kLowest}) {
    Maker m;
    const ValueId given = m.more("mask", ElementType::kInt64, {{2, 5}, {1, 1, 0, 1, 0, 0, 1, 1, 1, 1}});
    const ValueId wide =
        m.b.op("Cast", {m.b.op("Unsqueeze", {given, m.b.ints({1, 2})})}, {Attribute::of_int("to", 1)});
    const ValueId mask = m.b.op("Mul", {m.b.op("Sub", {m.number(1), wide}), m.number(factor)});
    // Of a mask with large negative numbers, only the first product stays finite.
    EXPECT_EQ(m.result(m.from(m.b.op("Add", {m.scores(), mask}))).changes, factor == kLowest ? 0u : 1u);
  }
  Maker m;
  const ValueId given = m.more("mask", ElementType::kBool, {{2, 1, 1, 5}, {1, 1, 0, 1, 0, 0, 0, 0, 0, 0}});
  const ValueId mask = m.b.op("Where", {given, m.number(0), m.number(kLowest)});
  const auto result = m.result(m.from(m.b.op("Add", {m.scores(), mask})));
  EXPECT_EQ(result.count("Attention"), 1u);
  EXPECT_EQ(result.nodes(), 2u);
}

TEST(RaiseAttention, MasksThatSelect) {
  const Array some_keys{{2, 1, 1, 5}, {1, 0, 0, 1, 1, 0, 0, 0, 0, 0}};
  for (const bool guard : {false, true}) {
    Maker m({.guard = guard});
    const ValueId mask = m.more("mask", ElementType::kBool, some_keys);
    const ValueId y = m.from(m.b.op("Where", {mask, m.scores(), m.number(-kInfinity)}));
    if (guard) {
      expect_one_node(m.result(y), 4);
    } else {
      EXPECT_EQ(m.changes(y), 0u);
    }
    Maker turned({.guard = guard});
    const ValueId excluded = turned.more("mask", ElementType::kBool, some_keys);
    EXPECT_EQ(turned.changes(
                  turned.from(turned.b.op("Where", {excluded, turned.number(-kInfinity), turned.scores()}))),
              0u);
  }
  Maker m({.guard = true});
  const ValueId excluded = m.b.op("Not", {m.more("mask", ElementType::kBool, some_keys)});
  m.b.output(excluded);
  const auto result = m.result(m.from(m.b.op("Where", {excluded, m.number(-kInfinity), m.scores()})));
  EXPECT_EQ(result.nodes(), 2u) << ir::to_text(result.model.graph);  // others read the Not
  EXPECT_EQ(attention_of(result).inputs[3], result.model.graph.inputs()[3]);
}

TEST(RaiseAttention, ConstantMasksThatSelect) {
  for (const bool inverted : {false, true}) {
    for (const float number : {-kInfinity, kLowest, -1000.0f, 0.0f}) {
      SCOPED_TRACE(str_cat(inverted, " ", number));
      Maker m;
      std::vector<uint8_t> values(15, inverted ? 1 : 0);
      for (size_t row = 0; row < 3; ++row) values[row * 5] = values[row * 5 + row] = inverted ? 0 : 1;
      const ValueId s = m.scores(), mask = m.bools({3, 5}, values), other = m.number(number);
      const ValueId y = m.from(m.b.op("Where", {mask, inverted ? other : s, inverted ? s : other}));
      if (number < -1000) {
        expect_one_node(m.result(y), 4);
      } else {
        EXPECT_EQ(m.result(y).changes, 0u);
      }
    }
  }
}

TEST(RaiseAttention, ConstantMasksThatExcludeAllKeysOfAQuery) {
  for (const bool inverted : {false, true}) {
    for (const bool guard : {false, true}) {
      Maker m({.guard = guard});
      std::vector<uint8_t> values(15, inverted ? 0 : 1);
      for (const size_t i : {0, 5, 6, 7, 8, 9, 10}) values[i] = inverted ? 1 : 0;
      const ValueId s = m.scores(), mask = m.bools({3, 5}, values), other = m.number(-kInfinity);
      EXPECT_EQ(m.changes(m.from(m.b.op("Where", {mask, inverted ? other : s, inverted ? s : other}))),
                guard ? 1u : 0u);
    }
  }
}

TEST(RaiseAttention, NotWithAnotherNumberInPlaceOfNaN) {
  Maker m;
  const ValueId w = m.weights(m.scores());
  const ValueId guarded = m.b.op("Where", {m.b.op("IsNaN", {w}), m.number(1), w});
  EXPECT_EQ(m.result(m.joined(m.b.op("MatMul", {guarded, m.four(m.v, kKeys)}))).changes, 0u);
}

TEST(RaiseAttention, HeadsStayOutsideWhereNotAllAreSplitHere) {
  Maker m({.scale = Scale::kNone});
  const ValueId queries = m.b.op("Neg", {m.four(m.q, kQueries)});
  const ValueId w = m.weights(m.b.op("MatMul", {queries, m.turned()}));
  const auto result = m.result(m.joined(m.b.op("MatMul", {w, m.four(m.v, kKeys)})));
  EXPECT_EQ(result.count("Attention"), 1u);
  EXPECT_EQ(result.count("Transpose"), 4u);
  EXPECT_EQ(result.nodes(), 10u) << ir::to_text(result.model.graph);
  EXPECT_EQ(attention_of(result).find("q_num_heads"), nullptr);
}

TEST(RaiseAttention, AResultThatIsNotJoined) {
  Maker m;
  const ValueId y = m.b.op("MatMul", {m.weights(m.scores()), m.four(m.v, kKeys)});
  m.b.output(m.b.op("Neg", {y}));
  const auto result = m.result(m.joined(y));
  EXPECT_EQ(result.count("Attention"), 1u);
  EXPECT_EQ(attention_of(result).find("q_num_heads"), nullptr);
}

TEST(RaiseAttention, AScaledValueThatOthersReadStays) {
  Maker m({.splits = false, .scale = Scale::kNone});
  const ValueId queries = m.b.op("Mul", {m.q, m.number(0.25f)});
  m.b.output(m.b.op("Neg", {queries}));
  const ValueId y = m.from(m.b.op("MatMul", {queries, m.turned()}));
  const auto result = m.result(y);
  EXPECT_EQ(result.count("Mul"), 1u);
  EXPECT_EQ(attention_of(result).find("scale")->f, 1.0f);
}

TEST(RaiseAttention, OneHeadOfKeysForAllQueries) {
  for (const int64_t kv_heads : {int64_t{1}, int64_t{4}}) {
    GraphBuilder b;
    const ValueId q = b.input("q", f32({2, 4, 3, 6})), k = b.input("k", f32({2, 1, 5, 6}));
    const ValueId v = b.input("v", f32({2, kv_heads, 5, 2}));
    const ValueId turned = b.op("Transpose", {k}, {Attribute::of_ints("perm", {0, 1, 3, 2})});
    b.output(b.op("MatMul", {b.op("Softmax", {b.op("MatMul", {q, turned})}), v}));
    const auto result =
        transformed(b, kName, {some({2, 4, 3, 6}), some({2, 1, 5, 6}, 2), some({2, kv_heads, 5, 2}, 3)});
    EXPECT_EQ(result.count("Attention"), kv_heads == 1 ? 1u : 0u);
  }
}

/// As Llama repeats heads of keys and values: Unsqueeze, Expand and Reshape.
struct Repeats {
  std::vector<int64_t> expanded_keys = {2, 2, 3, 5, 6}, expanded_values = {2, 2, 3, 5, 2};
  int64_t axis = 2;  // of the repeats
  bool splits = false, scaled = false;

  int64_t heads_of(const std::vector<int64_t>& expanded) const {
    return expanded[static_cast<size_t>(3 - axis)];
  }
};

TransformResult repeated(const Repeats& form) {
  GraphBuilder b;
  std::vector<Array> arrays;
  const auto input = [&](const std::string& name, int64_t heads, int64_t length, int64_t size) {
    const std::vector<int64_t> dims = form.splits ? std::vector<int64_t>{2, length, heads * size}
                                                  : std::vector<int64_t>{2, heads, length, size};
    arrays.push_back(some(dims, static_cast<uint32_t>(arrays.size() + 1)));
    const ValueId x = b.input(name, f32(dims));
    if (!form.splits) return x;
    return b.op("Transpose", {b.op("Reshape", {x, b.ints({2, length, heads, size})})},
                {Attribute::of_ints("perm", {0, 2, 1, 3})});
  };
  const auto repeat = [&](ValueId x, const std::vector<int64_t>& dims) {
    const ValueId wide = b.op("Unsqueeze", {x, b.ints({form.axis})});
    return b.op("Reshape", {b.op("Expand", {wide, b.ints(dims)}), b.ints({2, -1, 5, dims[4]})});
  };
  const ValueId q = input("q", 6, 3, 6);
  ValueId k = repeat(input("k", form.heads_of(form.expanded_keys), 5, 6), form.expanded_keys);
  const ValueId v = repeat(input("v", form.heads_of(form.expanded_values), 5, 2), form.expanded_values);
  if (form.scaled) k = b.op("Mul", {k, b.constant(floats({}, {0.5f}))});
  const ValueId turned = b.op("Transpose", {k}, {Attribute::of_ints("perm", {0, 1, 3, 2})});
  const ValueId y = b.op("MatMul", {b.op("Softmax", {b.op("MatMul", {q, turned})}), v});
  if (form.splits) {
    const ValueId back = b.op("Transpose", {y}, {Attribute::of_ints("perm", {0, 2, 1, 3})});
    b.output(b.op("Reshape", {back, b.ints({2, 3, 12})}));
  } else {
    b.output(y);
  }
  return transformed(b, kName, arrays);
}

TEST(RaiseAttention, HeadsThatAreRepeated) {
  for (const bool scaled : {false, true}) {
    expect_one_node(repeated({.scaled = scaled}), 3);
    const auto split = repeated({.splits = true, .scaled = scaled});
    expect_one_node(split, 3);
    EXPECT_EQ(attention_of(split).int_or("q_num_heads", 0), 6);
    EXPECT_EQ(attention_of(split).int_or("kv_num_heads", 0), 2);
  }
}

/// Heads 0, 1, 0, 1, ... are no groups of equal heads. Keys and values must have the same groups.
TEST(RaiseAttention, OtherRepeatsStay) {
  Repeats other_order, other_groups;
  other_order.expanded_keys = {2, 3, 2, 5, 6};
  other_order.expanded_values = {2, 3, 2, 5, 2};
  other_order.axis = 1;
  other_groups.expanded_values = {2, 3, 2, 5, 2};
  for (const Repeats& form : {other_order, other_groups}) {
    const auto result = repeated(form);
    EXPECT_EQ(result.count("Attention"), 1u);
    EXPECT_EQ(result.count("Expand"), 2u);
  }
}

TEST(RaiseAttention, NotWhereBatchesBroadcast) {
  for (const size_t one : {0, 1, 2}) {
    GraphBuilder b;
    std::vector<std::vector<int64_t>> dims = {{2, 4, 3, 6}, {2, 4, 5, 6}, {2, 4, 5, 2}};
    dims[one][0] = 1;
    const ValueId q = b.input("q", f32(dims[0])), k = b.input("k", f32(dims[1])),
                  v = b.input("v", f32(dims[2]));
    const ValueId turned = b.op("Transpose", {k}, {Attribute::of_ints("perm", {0, 1, 3, 2})});
    b.output(b.op("MatMul", {b.op("Softmax", {b.op("MatMul", {q, turned})}), v}));
    EXPECT_EQ(transformed(b, kName, {some(dims[0]), some(dims[1], 2), some(dims[2], 3)}).changes, 0u);
  }
}

TEST(RaiseAttention, DimensionsWithNames) {
  for (const bool named : {true, false}) {
    GraphBuilder b;
    const ir::Dim n = named ? ir::Dim(std::string("N")) : ir::Dim();
    const auto input = [&](const std::string& name, int64_t length, int64_t width) {
      return b.input(name, type_of(ElementType::kFloat32, {n, ir::Dim(length), ir::Dim(width)}));
    };
    const auto four = [&](ValueId x, int64_t size, std::vector<int64_t> perm) {
      const ValueId split = b.op("Reshape", {x, b.ints({0, 0, 4, size})});
      return b.op("Transpose", {split}, {Attribute::of_ints("perm", std::move(perm))});
    };
    const ValueId q = four(input("q", 3, 24), 6, {0, 2, 1, 3}), k = four(input("k", 5, 24), 6, {0, 2, 3, 1});
    const ValueId v = four(input("v", 5, 8), 2, {0, 2, 1, 3});
    const ValueId y = b.op("MatMul", {b.op("Softmax", {b.op("MatMul", {q, k})}), v});
    const ValueId turned = b.op("Transpose", {y}, {Attribute::of_ints("perm", {0, 2, 1, 3})});
    b.output(b.op("Reshape", {turned, b.ints({0, 0, 8})}));
    const auto result = transformed(b, kName, {some({2, 3, 24}), some({2, 5, 24}, 2), some({2, 5, 8}, 3)});
    EXPECT_EQ(result.nodes(), named ? 1u : 11u) << ir::to_text(result.model.graph);
  }
}

TEST(RaiseAttention, NotWithBatchesThatMayDiffer) {
  for (const size_t open : {0, 1, 2}) {
    GraphBuilder b;
    std::vector<std::vector<ir::Dim>> dims = {{2, 4, 3, 6}, {2, 4, 5, 6}, {2, 4, 5, 2}};
    dims[open][0] = ir::Dim();
    const auto input = [&](size_t i) { return b.input("x", type_of(ElementType::kFloat32, dims[i])); };
    const ValueId q = input(0), k = input(1), v = input(2);
    const ValueId turned = b.op("Transpose", {k}, {Attribute::of_ints("perm", {0, 1, 3, 2})});
    b.output(b.op("MatMul", {b.op("Softmax", {b.op("MatMul", {q, turned})}), v}));
    const auto result =
        transformed(b, kName, {some({2, 4, 3, 6}), some({2, 4, 5, 6}, 2), some({2, 4, 5, 2}, 3)});
    EXPECT_EQ(result.changes, 0u) << open;
  }
}

TEST(RaiseAttention, NotOverAnotherAxis) {
  Maker m({.axis = 2});
  EXPECT_EQ(m.result(m.from(m.scores())).changes, 0u);
  Maker old({.opset = 11, .axis = 3});
  EXPECT_EQ(old.changes(old.from(old.scores())), 1u);
  for (const int64_t opset : {11, 13}) {
    Maker none({.opset = opset});
    const ValueId w = none.b.op("Softmax", {none.scores()});
    EXPECT_EQ(none.changes(none.b.op("MatMul", {w, none.four(none.v, kKeys)})), opset == 11 ? 0u : 1u);
  }
}

TEST(RaiseAttention, ANegativeFactorOfQueriesStays) {
  Maker m({.splits = false, .scale = Scale::kNone});
  const ValueId queries = m.b.op("Mul", {m.q, m.number(-2)});
  const auto result = m.result(m.from(m.b.op("MatMul", {queries, m.turned()})));
  EXPECT_EQ(result.count("Mul"), 1u);
  EXPECT_EQ(result.count("Attention"), 1u);
}

TEST(RaiseAttention, NotWithAScaleThatIsNoPositiveNumber) {
  Maker negative({.scale = Scale::kNone});
  EXPECT_EQ(
      negative.result(negative.from(negative.b.op("Mul", {negative.scores(), negative.number(-1)}))).changes,
      0u);
  Maker each({.scale = Scale::kNone});
  const ValueId factors = each.b.constant(some_floats({5}));
  EXPECT_EQ(each.result(each.from(each.b.op("Mul", {each.scores(), factors}))).changes, 0u);
}

TEST(RaiseAttention, NotWhenAStepIsReadElsewhere) {
  for (const int which : {0, 1, 2}) {
    Maker m;
    const ValueId s = m.scores(), w = m.weights(s);
    m.b.output(m.b.op("Neg", {which == 0 ? s : w}));
    if (which == 2) m.b.output(w);
    EXPECT_EQ(m.result(m.joined(m.b.op("MatMul", {w, m.four(m.v, kKeys)}))).changes, 0u);
  }
}

TEST(RaiseAttention, NotWithoutTransposedKeys) {
  GraphBuilder b;
  const ValueId q = b.input("q", f32({2, 4, 3, 6})), k = b.input("k", f32({2, 4, 6, 5}));
  const ValueId v = b.input("v", f32({2, 4, 5, 2}));
  b.output(b.op("MatMul", {b.op("Softmax", {b.op("MatMul", {q, k})}), v}));
  const auto result =
      transformed(b, kName, {some({2, 4, 3, 6}), some({2, 4, 6, 5}, 2), some({2, 4, 5, 2}, 3)});
  EXPECT_EQ(result.changes, 0u);
}

/// The nodes with what they read and write, except constants.
std::vector<std::string> listing(const ir::Graph& graph) {
  std::vector<std::string> out;
  for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
    if (!graph.has_node(id)) continue;
    const ir::Node& node = graph.node(id);
    std::string line = str_cat(node.op_type, " ", node.name, ":");
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (const ValueId value : *values) {
        if (value != ir::kNone && !graph.value(value).is_constant())
          line += str_cat(" ", graph.value(value).name, graph.value(value).type.to_string());
      }
    }
    out.push_back(line);
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Raises, puts back, and checks that all is as before. `nodes`: how many there are in between.
void expect_put_back(GraphBuilder& b, const std::vector<Array>& inputs, size_t nodes) {
  ir::Model model;
  model.graph = b.done();
  model.opset_imports = b.imports();
  const ir::Graph before = model.graph;
  ASSERT_TRUE(transform::run_pipeline(model.graph, model, only(kName)).ok());
  ASSERT_EQ(model.graph.node_count(), nodes) << ir::to_text(model.graph);
  EXPECT_EQ(transform::put_back_for_file(model.graph, 18), 1u);
  ASSERT_TRUE(ir::verify(model.graph).ok());
  EXPECT_EQ(listing(model.graph), listing(before));
  const auto wanted = evaluate(before, inputs), got = evaluate(model.graph, inputs);
  ASSERT_TRUE(wanted.ok() && got.ok());
  expect_close(*got, *wanted, 0);
}

/// As nn.MultiheadAttention of PyTorch writes it: [length, batch, heads * size] with a batch of one.
struct Rows {
  explicit Rows(int64_t batch = 1) : batch(batch) {
    const ValueId q = rows("q", kQueries, kSize), k = rows("k", kKeys, kSize),
                  v = rows("v", kKeys, kValueSize);
    const ValueId queries = reshape(transpose(q, {1, 0, 2}), {batch, kHeads, kQueries, kSize});
    const ValueId keys = reshape(transpose(k, {1, 2, 0}), {batch, kHeads, kSize, kKeys});
    const ValueId values = reshape(transpose(v, {1, 0, 2}), {batch, kHeads, kKeys, kValueSize});
    const ValueId y = b.op("MatMul", {b.op("Softmax", {b.op("MatMul", {queries, keys})}), values});
    b.output(reshape(transpose(y, {2, 0, 1, 3}), {kQueries * batch, kHeads * kValueSize}));
  }
  ValueId reshape(ValueId x, const std::vector<int64_t>& dims) { return b.op("Reshape", {x, b.ints(dims)}); }
  ValueId transpose(ValueId x, const std::vector<int64_t>& perm) {
    return b.op("Transpose", {x}, {Attribute::of_ints("perm", perm)});
  }
  ValueId rows(const std::string& name, int64_t length, int64_t size) {
    const std::vector<int64_t> dims = {length, batch, kHeads * size};
    arrays.push_back(some(dims, static_cast<uint32_t>(arrays.size() + 1)));
    return reshape(b.input(name, f32(dims)), {length, batch * kHeads, size});
  }

  int64_t batch;
  GraphBuilder b;
  std::vector<Array> arrays;
};

TEST(RaiseAttention, RowsOfOneBatch) {
  Rows rows;
  const auto result = transformed(rows.b, kName, rows.arrays);
  EXPECT_EQ(result.nodes(), 5u) << ir::to_text(result.model.graph);
  EXPECT_EQ(result.count("Reshape"), 4u);
  EXPECT_EQ(attention_of(result).int_or("q_num_heads", 0), kHeads);
  Rows again;
  expect_put_back(again.b, again.arrays, 5);
  Rows two(2);
  EXPECT_EQ(transformed(two.b, kName, two.arrays).changes, 0u);
}

/// The 0 in its shape stands for a dimension that a view would change.
TEST(RaiseAttention, HeadsThatAReshapeCopiesStay) {
  for (const int64_t heads : {0, 4}) {
    GraphBuilder b;
    const auto four = [&](const std::string& name, int64_t length, int64_t size) {
      const ValueId x = b.input(name, f32({length, 2, 4, size}));
      const ValueId split = b.op("Reshape", {x, b.ints({2, length, heads, size})});
      return b.op("Transpose", {split}, {Attribute::of_ints("perm", {0, 2, 1, 3})});
    };
    const ValueId q = four("q", 3, 6), k = four("k", 5, 6), v = four("v", 5, 2);
    const ValueId turned = b.op("Transpose", {k}, {Attribute::of_ints("perm", {0, 1, 3, 2})});
    const ValueId y = b.op("MatMul", {b.op("Softmax", {b.op("MatMul", {q, turned})}), v});
    const ValueId back = b.op("Transpose", {y}, {Attribute::of_ints("perm", {0, 2, 1, 3})});
    b.output(b.op("Reshape", {back, b.ints({2, 3, 8})}));
    const auto result =
        transformed(b, kName, {some({3, 2, 4, 6}), some({5, 2, 4, 6}, 2), some({5, 2, 4, 2}, 3)});
    EXPECT_EQ(result.count("Attention"), 1u);
    EXPECT_EQ(result.count("Transpose"), heads == 0 ? 4u : 0u);
  }
}

TEST(RaiseAttention, MatricesBeforeAndAfter) {
  for (const bool copies : {false, true}) {
    const auto make = [&](GraphBuilder& b) {
      const auto four = [&](const std::string& name, int64_t length, int64_t size) {
        const ValueId x = b.input(name, f32({2 * length, 4 * size}));
        const ValueId split = b.op("Reshape", {x, b.ints({2, length, 4, size})});
        return b.op("Transpose", {split}, {Attribute::of_ints("perm", {0, 2, 1, 3})});
      };
      const ValueId q = four("q", 3, 6), k = four("k", 5, 6), v = four("v", 5, 2);
      const ValueId turned = b.op("Transpose", {k}, {Attribute::of_ints("perm", {0, 1, 3, 2})});
      const ValueId y = b.op("MatMul", {b.op("Softmax", {b.op("MatMul", {q, turned})}), v});
      const ValueId back = b.op("Transpose", {y}, {Attribute::of_ints("perm", {0, 2, 1, 3})});
      b.output(b.op("Reshape", {back, copies ? b.ints({0, -1}) : b.ints({6, 8})}));
    };
    const std::vector<Array> inputs = {some({6, 24}), some({10, 24}, 2), some({10, 8}, 3)};
    GraphBuilder b;
    make(b);
    const auto result = transformed(b, kName, inputs);
    // A Reshape that copies a dimension needs the one that the graph has.
    EXPECT_EQ(result.count("Transpose"), copies ? 4u : 0u) << ir::to_text(result.model.graph);
    EXPECT_EQ(result.count("Attention"), 1u);
    GraphBuilder again;
    make(again);
    expect_put_back(again, inputs, result.nodes());
  }
}

TEST(RaiseAttention, IsPutBack) {
  for (const Keys keys : {Keys::kSwapped, Keys::kCombined, Keys::kRank3}) {
    Maker m({.keys = keys, .guard = true});
    const ValueId mask = m.more("mask", ElementType::kFloat32, some({3, 5}));
    m.b.output(m.from(m.b.op("Add", {m.scores(), mask})));
    expect_put_back(m.b, m.arrays, 1);
  }
}

/// When another node has taken the place of the Reshape after it, the view stays.
TEST(RaiseAttention, APutBackResultKeepsItsViewForOtherReaders) {
  Rows rows;
  ir::Model model;
  model.graph = rows.b.done();
  model.opset_imports = rows.b.imports();
  const ir::Graph before = model.graph;
  ASSERT_TRUE(transform::run_pipeline(model.graph, model, only(kName)).ok());
  ir::Graph& graph = model.graph;
  for (ir::NodeId id = 0; id < graph.node_limit(); ++id) {
    if (graph.has_node(id) && graph.node(id).is("Attention")) graph.add_output(graph.node(id).outputs[0]);
  }
  EXPECT_EQ(transform::put_back_for_file(graph, 18), 1u);
  ASSERT_TRUE(ir::verify(graph).ok());
  EXPECT_EQ(graph.node_count(), before.node_count() + 1);
  const auto wanted = evaluate(before, rows.arrays), got = evaluate(graph, rows.arrays);
  ASSERT_TRUE(wanted.ok() && got.ok());
  EXPECT_EQ((*got)[1].dims, (std::vector<int64_t>{1, kQueries, kHeads * kValueSize}));
  EXPECT_EQ((*got)[1].values, (*wanted)[0].values);
}

}  // namespace
}  // namespace tenon::testing
