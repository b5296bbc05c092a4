// Inference of every operator there is, on nodes that no exporter would write: it answers, or says what is wrong.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "core/ops/ops.h"
#include "tests/support/cpu_time.h"
#include "tests/unit/core/build_graph.h"

namespace tenon::ops {
namespace {

using ir::Attribute;
using ir::AttributeType;
using ir::ElementType;
using ir::Type;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr size_t kMostInputs = 10, kMostOutputs = 4;
constexpr double kSlow = 5;  // seconds

ir::Node node_of(const OperatorVersion& op, size_t inputs) {
  ir::Node node;
  node.domain = op.domain;
  node.op_type = op.name;
  node.name = "n";
  node.since_version = op.since;
  for (size_t i = 0; i < inputs; ++i) node.inputs.push_back(static_cast<ir::ValueId>(i));
  for (size_t i = 0; i < std::min(op.max_outputs, kMostOutputs); ++i)
    node.outputs.push_back(static_cast<ir::ValueId>(100 + i));
  return node;
}

ir::Graph small_graph() {
  ir::Graph graph;
  const ir::ValueId x = graph.add_value("x", Type::tensor(ElementType::kFloat32, ir::Shape::of({2})));
  graph.add_input(x);
  graph.add_output(x);
  return graph;
}

/// An attribute of the type that the schema asks for; `number` goes into it wherever it fits.
Attribute attribute_of(const OperatorVersion::AttributeRule& rule, int64_t number, size_t length) {
  Attribute made;
  made.name = rule.name;
  made.type = rule.type;
  made.i = number;
  made.f = static_cast<float>(number);
  made.s = "i..j->k";
  made.ints.assign(length, number);
  made.floats.assign(length, static_cast<float>(number));
  made.strings.assign(length, "s");
  if (rule.type == AttributeType::kTensor) made.tensors = {ir::Tensor::of_ints({number})};
  if (rule.type == AttributeType::kGraph) made.graphs.emplace_back(small_graph());
  return made;
}

std::vector<Type> some_types() {
  std::vector<Type> types;
  for (const ElementType element :
       {ElementType::kFloat32, ElementType::kInt64, ElementType::kString, ElementType::kUInt8}) {
    for (const std::vector<int64_t>& dims :
         std::vector<std::vector<int64_t>>{{}, {3}, {0}, {2, 3}, {1, 2, 3, 4}, {1, 1, 1, 1, 1, 1, 1, 1, 1}})
      types.push_back(Type::tensor(element, ir::Shape::of(dims)));
    types.push_back(Type::tensor(element, ir::Shape()));
  }
  types.push_back(Type());
  types.push_back(Type::sequence(types[0]));
  types.push_back(Type::optional(types[0]));
  return types;
}

struct Trial {
  ir::Node node;
  std::vector<const Type*> types;
  std::vector<const ir::Tensor*> values;

  Result<std::vector<Type>> infer() const {
    const double begin = test::cpu_seconds();
    Result<std::vector<Type>> made = infer_node(node, {types, values});
    EXPECT_LT(test::cpu_seconds() - begin, kSlow) << node.op_type << '-' << node.since_version;
    if (!made.ok()) {
      EXPECT_THAT(made.status().to_string(), HasSubstr(node.op_type));
    }
    return made;
  }
};

Trial trial_of(const OperatorVersion& op, size_t inputs, const Type& type) {
  Trial trial{node_of(op, inputs), std::vector<const Type*>(inputs, &type),
              std::vector<const ir::Tensor*>(inputs, nullptr)};
  for (const auto& rule : op.attributes) {
    if (rule.required) trial.node.attributes.push_back(attribute_of(rule, 1, 1));
  }
  return trial;
}

TEST(Hostile, ARequiredInputThatIsMissingIsNamed) {
  const Type type = Type::tensor(ElementType::kFloat32, ir::Shape::of({1, 2, 3, 4}));
  int checked = 0;
  for (const OperatorVersion& op : all_operators()) {
    for (size_t i = 0; i < op.needs_input.size(); ++i) {
      if (!op.needs_input[i]) continue;
      for (const bool is_last : {false, true}) {
        Trial trial = trial_of(op, is_last ? i : std::max(op.needs_input.size(), i + 1), type);
        if (!is_last) trial.node.inputs[i] = ir::kNone;
        const auto made = trial.infer();
        ASSERT_FALSE(made.ok()) << op.name << '-' << op.since << " without input " << i;
        EXPECT_EQ(made.status().kind(), ErrorKind::kInvalidModel);
        EXPECT_THAT(made.status().to_string(), HasSubstr("node 'n'"));
        EXPECT_THAT(made.status().to_string(), HasSubstr("needs its input"));
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 1000);
}

TEST(Hostile, OptionalInputsMayBeMissingAndTypesUnknown) {
  const std::vector<Type> types = some_types();
  const Type unknown;
  for (const OperatorVersion& op : all_operators()) {
    for (size_t inputs = 0; inputs <= std::min(op.max_inputs, kMostInputs); ++inputs) {
      for (const Type& type : types) {
        Trial trial = trial_of(op, inputs, type);
        static_cast<void>(trial.infer());
        for (size_t i = 0; i < inputs; ++i) {
          Trial one = trial;
          one.types[i] = &unknown;
          static_cast<void>(one.infer());
          one.types[i] = nullptr;
          static_cast<void>(one.infer());
          one.node.inputs[i] = ir::kNone;
          static_cast<void>(one.infer());
        }
      }
    }
  }
}

TEST(Hostile, AttributesAtTheirExtremes) {
  const std::vector<Type> types = {Type::tensor(ElementType::kFloat32, ir::Shape::of({1, 2, 3, 4})),
                                   Type::tensor(ElementType::kInt64, ir::Shape::of({3}))};
  const int64_t extremes[] = {INT64_MIN,        INT64_MIN + 1,    -1,       0, 1,
                              int64_t{1} << 31, int64_t{1} << 62, INT64_MAX};
  for (const OperatorVersion& op : all_operators()) {
    for (const auto& rule : op.attributes) {
      for (const Type& type : types) {
        for (const int64_t extreme : extremes) {
          for (const size_t length : {size_t{0}, size_t{1}, size_t{2}, size_t{4}, size_t{8}}) {
            const size_t inputs = std::min(
                {std::max<size_t>(op.min_inputs, op.needs_input.size()), op.max_inputs, kMostInputs});
            Trial trial = trial_of(op, inputs, type);
            std::erase_if(trial.node.attributes, [&](const Attribute& own) { return own.name == rule.name; });
            trial.node.attributes.push_back(attribute_of(rule, extreme, length));
            static_cast<void>(trial.infer());
          }
        }
      }
    }
  }
}

TEST(Hostile, ValuesAtTheirExtremes) {
  const Type x = Type::tensor(ElementType::kFloat32, ir::Shape::of({1, 2, 3, 4}));
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  std::vector<ir::TensorPtr> values;
  for (const int64_t extreme :
       {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{1} << 31, int64_t{1} << 62, INT64_MAX}) {
    for (const size_t length : {0, 1, 2, 4, 8, 40})
      values.push_back(ir::Tensor::of_ints(std::vector<int64_t>(length, extreme)));
    values.push_back(ir::Tensor::scalar_int(extreme));
  }
  for (const float extreme : {nan, infinity, -infinity, -1e30f, 0.0f, 1e-30f, 1e30f})
    values.push_back(tenon::testing::floats({4}, {extreme, extreme, extreme, extreme}));
  for (const OperatorVersion& op : all_operators()) {
    const size_t inputs =
        std::min({std::max<size_t>(op.min_inputs, op.needs_input.size()), op.max_inputs, kMostInputs});
    for (size_t i = 0; i < inputs; ++i) {
      for (const ir::TensorPtr& value : values) {
        const Type type = Type::tensor(value->type(), value->shape());
        Trial trial = trial_of(op, inputs, x);
        // One, and all from this one on.
        trial.types[i] = &type;
        trial.values[i] = value.get();
        static_cast<void>(trial.infer());
        for (size_t j = i; j < inputs; ++j) {
          trial.types[j] = &type;
          trial.values[j] = value.get();
        }
        static_cast<void>(trial.infer());
      }
    }
  }
}

Result<std::vector<Type>> einsum(const std::string& equation) {
  OperatorVersion op;
  op.name = "Einsum";
  op.since = 12;
  op.max_outputs = 1;
  const Type type = Type::tensor(ElementType::kFloat32, ir::Shape::of({2, 2}));
  Trial trial = trial_of(op, 1, type);
  trial.node.attributes.push_back(Attribute::of_string("equation", equation));
  return trial.infer();
}

TEST(Hostile, AnEquationHasLettersAndThreeDots) {
  for (const char* wrong :
       {"i..j->", "i.j", "ij->i.j", "i1j->ij", "ij->i->j", "......ij", "i,j->i;j", "ij->i,j", "i\nj"}) {
    const auto made = einsum(wrong);
    ASSERT_FALSE(made.ok()) << wrong;
    EXPECT_THAT(made.status().to_string(), HasSubstr("attribute 'equation'"));
  }
  for (const char* right : {"ij->ji", "ij", "...i->...", " i j -> j i ", "ii->i", "...->..."})
    EXPECT_TRUE(einsum(right).ok()) << right << ": " << einsum(right).status().to_string();
}

TEST(Hostile, RanksAndCountsThatNobodyTakes) {
  OperatorVersion op;
  op.name = "Reshape";
  op.since = 14;
  op.max_outputs = 1;
  const Type x = Type::tensor(ElementType::kFloat32, ir::Shape::of({1}));
  const auto reshaped = [&](const std::vector<int64_t>& dims) {
    const ir::TensorPtr shape = ir::Tensor::of_ints(dims);
    const Type shape_type = Type::tensor(ElementType::kInt64, shape->shape());
    Trial trial = trial_of(op, 2, x);
    trial.types[1] = &shape_type;
    trial.values[1] = shape.get();
    return trial.infer();
  };
  EXPECT_TRUE(reshaped(std::vector<int64_t>(32, 1)).ok());
  for (const size_t rank : {33, 64, 1000}) {
    const Status refused = reshaped(std::vector<int64_t>(rank, 1)).status();
    EXPECT_EQ(refused.kind(), ErrorKind::kUnsupported);
    EXPECT_THAT(refused.to_string(),
                HasSubstr(str_cat("would have rank ", rank, ", but the highest supported rank is 32")));
  }
  op.name = "ConstantOfShape";
  op.since = 9;
  const ir::TensorPtr shape = ir::Tensor::of_ints({int64_t{1} << 40, int64_t{1} << 40});
  const Type shape_type = Type::tensor(ElementType::kInt64, shape->shape());
  Trial trial = trial_of(op, 1, shape_type);
  trial.values[0] = shape.get();
  EXPECT_EQ(trial.infer().status().kind(), ErrorKind::kOutOfMemory);
}

}  // namespace
}  // namespace tenon::ops
