// Quantised groups as operators on bytes, on the provider cpu: the same bytes as in floats, but for one quantum where a sum
// lies in the middle of two. Dynamically quantised products as one operator.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using Id = GraphMaker::Id;
using ir::Attribute;
using ir::ElementType;

constexpr ElementType kU8 = ElementType::kUInt8, kI8 = ElementType::kInt8, kI32 = ElementType::kInt32;

int64_t count_of(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

/// A graph of bytes with one input x of shape `dims`.
class Bytes {
 public:
  Bytes(ElementType type, int zero, std::vector<int64_t> dims)
      : dims_(std::move(dims)), type_(type), zero_(zero) {
    x = m.input("x", GraphMaker::type(type, {dims_.begin(), dims_.end()}));
  }

  Id tensor(ElementType type, const std::vector<int64_t>& dims, int low, int high) {
    std::vector<std::byte> bytes;
    for (int64_t i = 0; i < count_of(dims); ++i) {
      const int value = std::uniform_int_distribution<int>(low, high)(random);
      const auto* from = reinterpret_cast<const std::byte*>(&value);
      bytes.insert(bytes.end(), from, from + (type == kI32 ? sizeof value : 1));
    }
    return m.graph.add_constant("constant", *ir::Tensor::make(type, dims, std::move(bytes)));
  }
  /// Parameters of `type`: one, or one for each of `count`.
  std::vector<Id> by(ElementType type, float scale, int zero, int64_t count = 0) {
    const std::vector<int64_t> dims = count == 0 ? std::vector<int64_t>{} : std::vector{count};
    std::vector<float> scales;
    for (int64_t i = 0; i < std::max<int64_t>(1, count); ++i)
      scales.push_back(scale * (1 + 0.125f * static_cast<float>(i % 5)));
    return {m.constant("scale", dims, scales), tensor(type, dims, zero, zero)};
  }
  Id real(Id bytes, std::vector<Id> parameters, int64_t axis = 1) {
    parameters.insert(parameters.begin(), bytes);
    return m.node("DequantizeLinear", parameters, {Attribute::of_int("axis", axis)});
  }
  Id real_x() { return real(x, by(type_, 0.02f, zero_)); }
  Id weights(const std::vector<int64_t>& dims, int64_t axis) {
    const int64_t channels = dims[static_cast<size_t>(axis)];
    return real(tensor(type_, dims, type_ == kI8 ? -100 : 0, 120), by(type_, 0.01f, zero_ / 2, channels),
                axis);
  }
  Id bias(int64_t channels) {
    return real(tensor(kI32, {channels}, -3000, 3000), by(kI32, 0.02f * 0.01f, 0, channels), 0);
  }
  /// The output: `value` in bytes.
  void quantize(Id value, float scale, int zero) {
    std::vector<Id> in = by(type_, scale, zero);
    in.insert(in.begin(), value);
    m.output(m.node("QuantizeLinear", in, {}, "last"), "y");
  }

  /// Expects `op` and nothing else, and the bytes that floats give.
  void expect(const std::string& op, int most_quanta) {
    const std::string bytes = m.bytes(21);
    config::Config off = cpu_config();
    ASSERT_TRUE(off.set("transforms.disable", R"(["quantized_conv", "quantized_matmul", "quantized_gemm",
                                                   "quantized_movement"])")
                    .ok());
    const auto raised = make_session(bytes), plain = make_session(bytes, off);
    ASSERT_TRUE(raised != nullptr && plain != nullptr);
    const auto json = explained(*raised);
    ASSERT_EQ(json["nodes"].size(), 1u) << json["nodes"].dump(1);
    EXPECT_EQ(json["nodes"][0]["op"], op);
    EXPECT_EQ(json["nodes"][0]["provider"], "cpu");
    EXPECT_EQ(json["nodes"][0]["name"], "last");
    EXPECT_GE(json["nodes"][0]["stands_for"].size(), 3u);
    EXPECT_GE(explained(*plain)["nodes"].size(), 3u);
    const ValueRef value = runtime::make_tensor(static_cast<uint32_t>(type_), dims_).value();
    auto* const to = static_cast<uint8_t*>(value->tensor.data);
    for (uint64_t i = 0; i < value->tensor.byte_size; ++i) to[i] = static_cast<uint8_t>(random());
    const std::vector<ValueRef> got = run(*raised, {{"x", value}}), wanted = run(*plain, {{"x", value}});
    ASSERT_TRUE(got[0] && wanted[0]);
    EXPECT_EQ(dims(got[0]), dims(wanted[0]));
    const auto a = numbers(got[0]), b = numbers(wanted[0]);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) ASSERT_LE(std::abs(a[i] - b[i]), most_quanta) << i;
  }

  GraphMaker m;
  Id x;
  std::mt19937 random{7};

 private:
  std::vector<int> numbers(const ValueRef& value) const {
    if (type_ == kI8) {
      const auto all = elements<int8_t>(value);
      return {all.begin(), all.end()};
    }
    const auto all = elements<uint8_t>(value);
    return {all.begin(), all.end()};
  }

  std::vector<int64_t> dims_;
  ElementType type_;
  int zero_;
};

/// Each type with the zero points 0 and another one.
void for_types(const std::function<void(ElementType, int)>& test) {
  for (const auto& [type, zero] : {std::pair(kU8, 0), {kU8, 130}, {kI8, 0}, {kI8, -9}}) {
    SCOPED_TRACE(str_cat(ir::element_type_name(type), " ", zero));
    test(type, zero);
  }
}

TEST(RaiseQuantized, Conv) {
  struct Case {
    int64_t batch, channels, outs, groups;
  };
  for_types([](ElementType type, int zero) {
    for (const Case& c : {Case{2, 20, 33, 1}, {1, 8, 12, 4}, {1, 16, 16, 16}, {0, 4, 4, 1}}) {
      SCOPED_TRACE(c.groups);
      Bytes b(type, zero, {c.batch, c.channels, 9, 7});
      const Id sum =
          b.m.node("Conv", {b.real_x(), b.weights({c.outs, c.channels / c.groups, 3, 3}, 0), b.bias(c.outs)},
                   {Attribute::of_int("group", c.groups), Attribute::of_ints("pads", {1, 1, 1, 1}),
                    Attribute::of_ints("strides", {2, 1})});
      b.quantize(b.m.node("Relu", {sum}), 0.3f, type == kU8 ? 0 : -128);
      b.expect("QLinearConv", 1);
    }
  });
}

TEST(RaiseQuantized, MatMul) {
  for_types([](ElementType type, int zero) {
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{3, 40}, {2, 5, 40}, {0, 40}}) {
      Bytes b(type, zero, dims);
      b.quantize(b.m.node("MatMul", {b.real_x(), b.weights({40, 37}, 1)}), 0.3f, 5);
      b.expect("QLinearMatMul", 1);
    }
  });
}

TEST(RaiseQuantized, Gemm) {
  for_types([](ElementType type, int zero) {
    for (const int64_t rows : {5, 0}) {
      for (const bool turned : {false, true}) {
        Bytes b(type, zero, {turned ? 40 : rows, turned ? rows : 40});
        const Id w = turned ? b.weights({37, 40}, 0) : b.weights({40, 37}, 1);
        const auto turn = [&](const char* name) { return Attribute::of_int(name, turned ? 1 : 0); };
        b.quantize(b.m.node("Gemm", {b.real_x(), w, b.bias(37)}, {turn("transA"), turn("transB")}), 0.3f, 5);
        b.expect("QGemm", 1);
      }
    }
  });
}

TEST(RaiseQuantized, Movements) {
  using Make = std::function<Id(GraphMaker&, Id)>;
  const std::map<std::string, Make> operators = {
      {"MaxPool",
       [](GraphMaker& m, Id x) {
         return m.node("MaxPool", {x},
                       {Attribute::of_ints("kernel_shape", {3, 2}), Attribute::of_ints("pads", {1, 1, 1, 0}),
                        Attribute::of_ints("strides", {2, 1})});
       }},
      {"Concat",
       [](GraphMaker& m, Id x) {
         return m.node("Concat", {x, x}, {Attribute::of_int("axis", 1)});
       }},
      {"DepthToSpace",
       [](GraphMaker& m, Id x) { return m.node("DepthToSpace", {x}, {Attribute::of_int("blocksize", 2)}); }},
      {"SpaceToDepth",
       [](GraphMaker& m, Id x) { return m.node("SpaceToDepth", {x}, {Attribute::of_int("blocksize", 2)}); }},
      {"Expand",
       [](GraphMaker& m, Id x) {
         return m.node("Expand", {x, m.ints("to", {2, 1, 8, 4, 6})});
       }},
      {"Flatten", [](GraphMaker& m, Id x) { return m.node("Flatten", {x}); }},
      {"Gather",
       [](GraphMaker& m, Id x) {
         return m.node("Gather", {x, m.ints("at", {0, 0})});
       }},
      {"GatherND",
       [](GraphMaker& m, Id x) {
         return m.node("GatherND", {x, m.ints("at", {0, 3})});
       }},
      {"Max",
       [](GraphMaker& m, Id x) {
         return m.node("Max", {x, x});
       }},
      {"Min",
       [](GraphMaker& m, Id x) {
         return m.node("Min", {x, x});
       }},
      {"Pad",
       [](GraphMaker& m, Id x) {
         return m.node("Pad", {x, m.ints("pads", {0, 0, 1, 2, 0, 0, 0, 1}), m.constant("v", {}, {0.33f})});
       }},
      {"ReduceMax",
       [](GraphMaker& m, Id x) {
         return m.node("ReduceMax", {x, m.ints("axes", {2})});
       }},
      {"ReduceMin",
       [](GraphMaker& m, Id x) {
         return m.node("ReduceMin", {x, m.ints("axes", {2})});
       }},
      {"Reshape",
       [](GraphMaker& m, Id x) {
         return m.node("Reshape", {x, m.ints("to", {-1, 4})});
       }},
      {"Resize",
       [](GraphMaker& m, Id x) {
         return m.node("Resize", {x, ir::kNone, m.constant("s", {4}, {1, 1, 2, 1.5f})},
                       {Attribute::of_string("mode", "nearest")});
       }},
      {"Slice",
       [](GraphMaker& m, Id x) {
         return m.node("Slice", {x, m.ints("b", {1}), m.ints("e", {3}), m.ints("a", {2})});
       }},
      {"Squeeze",
       [](GraphMaker& m, Id x) {
         return m.node("Squeeze", {x, m.ints("axes", {0})});
       }},
      {"Unsqueeze",
       [](GraphMaker& m, Id x) {
         return m.node("Unsqueeze", {x, m.ints("axes", {0})});
       }},
      {"Tile",
       [](GraphMaker& m, Id x) {
         return m.node("Tile", {x, m.ints("r", {2, 1, 1, 2})});
       }},
      {"Transpose",
       [](GraphMaker& m, Id x) {
         return m.node("Transpose", {x}, {Attribute::of_ints("perm", {0, 2, 3, 1})});
       }},
      {"Where",
       [](GraphMaker& m, Id x) {
         return m.node("Where", {m.yes("c"), x, x});
       }},
  };
  for_types([&](ElementType type, int zero) {
    for (const auto& [name, make] : operators) {
      SCOPED_TRACE(name);
      Bytes b(type, zero, {1, 8, 4, 6});
      b.quantize(make(b.m, b.real_x()), 0.02f, zero);
      b.expect(name, 0);
    }
  });
}

/// x in floats, quantised by DynamicQuantizeLinear and multiplied with a matrix of 40 rows and 37 columns.
struct Dynamic {
  ElementType type = kI8;
  std::vector<int64_t> dims = {3, 40};
  int64_t scales = 0;  // 0: one scale, as a scalar
  bool has_bias = true;

  std::string model() const {
    Bytes b(type, 0, {});  // makes constants
    b.m = {};
    const Id x = b.m.input("x", GraphMaker::f32({dims.begin(), dims.end()}));
    const std::vector<Id> a = b.m.nodes("DynamicQuantizeLinear", {x}, 3), by = b.by(type, 0.01f, 3, scales);
    const Id w = b.tensor(type, {40, 37}, type == kI8 ? -100 : 0, 120);
    const Id sums = b.m.node("MatMulInteger", {a[0], w, a[2], by[1]});
    const Id real = b.m.node("Cast", {sums}, {Attribute::of_int("to", TENON_FLOAT32)});
    Id y = b.m.node("Mul", {real, b.m.node("Mul", {a[1], by[0]})}, {}, "product");
    if (has_bias)
      y = b.m.node("Add", {y, b.m.constant("bias", {37}, std::vector<float>(37, 0.3f))}, {}, "sum");
    b.m.output(y, "y");
    return b.m.bytes(20);
  }
  std::vector<float> input() const {
    std::mt19937 random{7};
    std::vector<float> out(static_cast<size_t>(count_of(dims)));
    for (float& value : out) value = std::uniform_real_distribution<float>(-2, 3)(random);
    return out;
  }
};

/// The sums are the same integers; what is multiplied and added in floats may be rounded once less.
TEST(RaiseQuantized, DynamicallyQuantizedMatMul) {
  config::Config off = cpu_config();
  ASSERT_TRUE(off.set("transforms.disable", R"(["matmul_integer_to_float"])").ok());
  for (const ElementType type : {kU8, kI8}) {
    for (const int64_t scales : {0, 37}) {
      for (const std::vector<int64_t>& dims : {std::vector<int64_t>{3, 40}, {2, 5, 40}, {0, 40}}) {
        for (const bool has_bias : {true, false}) {
          const Dynamic c{type, dims, scales, has_bias};
          const auto raised = make_session(c.model()), plain = make_session(c.model(), off);
          ASSERT_TRUE(raised != nullptr && plain != nullptr);
          const auto json = explained(*raised);
          ASSERT_EQ(json["nodes"].size(), 2u) << json["nodes"].dump(1);
          EXPECT_EQ(json["nodes"][1]["op"], "MatMulIntegerToFloat");
          EXPECT_EQ(json["nodes"][1]["provider"], "cpu");
          EXPECT_EQ(json["nodes"][1]["name"], has_bias ? "sum" : "product");
          EXPECT_EQ(json["nodes"][1]["stands_for"].size(), has_bias ? 5u : 4u);
          EXPECT_EQ(explained(*plain)["nodes"].size(), has_bias ? 6u : 5u);
          const ValueRef x = f32(dims, c.input());
          const std::vector<ValueRef> got = run(*raised, {{"x", x}}), wanted = run(*plain, {{"x", x}});
          ASSERT_TRUE(got[0] && wanted[0]);
          EXPECT_EQ(test::dims(got[0]), test::dims(wanted[0]));
          const std::vector<float> a = floats(got[0]), b = floats(wanted[0]);
          ASSERT_EQ(a.size(), b.size());
          for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-6f * (1 + std::fabs(b[i]))) << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::test
