// Models through the oneDNN provider, compared with the cpu provider: what fusing, layouts kept inside and memory that
// is used again must not change.
#include <gmock/gmock.h>

#include <set>
#include <thread>

#include "host/services/trace.h"
#include "tests/onednn/onednn_case.h"
#include "tests/support/explained.h"

namespace tenon::test {
namespace {

/// A bottleneck with a way around it, then a classifier.
std::string residual_model(ir::Dim batch, int64_t channels = 24) {
  std::mt19937 random(7);
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({batch, channels, 9, 9}));
  Id y = m.node("Relu", {conv(m, random, x, channels, 8, 1)});
  y = m.node("Relu", {conv(m, random, y, 8, 8, 3)});
  y = conv(m, random, y, 8, channels, 1);
  y = m.node("Relu", {m.node("Add", {y, conv(m, random, x, channels, channels, 1)})});
  y = m.node("Flatten", {m.node("GlobalAveragePool", {y})});
  const Id w = m.constant("w", {channels, 10}, noise(random, channels * 10));
  m.output(m.node("Softmax", {m.node("Gemm", {y, w, m.constant("b", {10}, noise(random, 10))})}), "p");
  return m.bytes();
}

TEST(OneDnnIslands, AResidualBlockIsOnePartAndOneResult) {
  std::mt19937 random(1);
  const std::string bytes = residual_model(2);
  const auto session = make_session(bytes, onednn());
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(parts_of(*session, "onednn"), 1u);
  EXPECT_EQ(nodes_on(*session, "cpu"), 0u);
  const ValueRef x = image(random, {2, 24, 9, 9});
  for (const char* precision : {"exact", "fast"}) {
    compare(bytes, {{"x", x}}, onednn({std::string("provider.onednn.options.precision=") + precision}), 1e-5f,
            precision);
  }
}

/// Without the operator, the provider runs the nodes of a raised RMSNormalization as before: beside products they are worth it, and
/// alone they are not.
TEST(OneDnnIslands, ARaisedNormalisationBecomesItsNodesAgain) {
  std::mt19937 random(5);
  GraphMaker m;
  const auto product = [&](Id x) {
    return m.node("MatMul", {x, m.constant("w", {256, 256}, noise(random, 256 * 256, 0.1f))});
  };
  const Id x = product(m.input("x", GraphMaker::f32({2048, 256})));
  const Id squares =
      m.node("ReduceMean", {m.node("Pow", {x, m.constant("two", {}, {2})}), m.ints("axes", {-1})});
  const Id root = m.node("Sqrt", {m.node("Add", {squares, m.constant("epsilon", {}, {1e-5f})})});
  const Id scale = m.constant("scale", {256}, noise(random, 256));
  m.output(product(m.node("Mul", {m.node("Div", {x, root}), scale})), "y");
  const std::string bytes = m.bytes();
  const config::Config config = onednn();
  const auto session = make_session(bytes, config);
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(parts_of(*session, "onednn"), 1u);
  EXPECT_EQ(nodes_on(*session, "cpu"), 0u);
  compare(bytes, {{"x", f32({2048, 256}, noise(random, 2048 * 256))}}, config, 1e-4f, "put back");
}

/// The names of the tasks of a Run with the input x.
std::set<std::string> tasks_of(const std::string& bytes, const config::Config& config, const ValueRef& x) {
  const auto session = make_session(bytes, config);
  if (session == nullptr) return {};
  runtime::Trace trace;
  session::RunOptions options;
  options.trace = &trace;
  const std::vector<session::NamedValue> inputs = {{"x", x}};
  std::vector<ValueRef> outputs(session->shown_outputs().size());
  EXPECT_TRUE(session->run(options, inputs, {}, outputs).ok());
  std::set<std::string> names;
  for (const runtime::Trace::Event& event : trace.take()) {
    if (event.category == "span") names.insert(event.name);
  }
  return names;
}

TEST(OneDnnIslands, ATracedRunHasASpanPerTask) {
  std::mt19937 random(1);
  const std::set<std::string> names = tasks_of(residual_model(2), onednn(), image(random, {2, 24, 9, 9}));
  EXPECT_THAT(names, testing::Contains(testing::HasSubstr("(Conv), Relu")))
      << "a node, and one fused with it";
  EXPECT_THAT(names, testing::Contains(testing::HasSubstr("(Softmax)")));
  EXPECT_THAT(names, testing::Not(testing::Contains(testing::HasSubstr("(Relu)"))))
      << "no Relu has work of its own";
}

/// A part of a network: convolutions in groups of 8 channels, a mean over the image that scales its channels, and a mean.
std::string squeeze_model() {
  std::mt19937 random(12);
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({2, 48, 14, 14}));
  const Id y = m.node("Relu", {conv(m, random, conv(m, random, x, 48, 48, 1), 48, 48, 3, 6)});
  const Id mean = m.node("ReduceMean", {y, m.ints("axes", {2, 3})});
  const Id narrow = m.node("Relu", {conv(m, random, mean, 48, 16, 1)});
  const Id scales = m.node("Sigmoid", {conv(m, random, narrow, 16, 48, 1)});
  const Id out = conv(m, random, m.node("Mul", {y, scales}), 48, 32, 1);
  m.output(m.node("GlobalAveragePool", {out}), "y");
  return m.bytes();
}

TEST(OneDnnIslands, ATraceTellsWhatRunsReferenceCode) {
  using testing::Contains;
  using testing::HasSubstr;
  std::mt19937 random(1);
  GraphMaker m;
  m.output(m.node("ReduceL2", {m.input("x", GraphMaker::f32({1, 6, 5, 5})), m.ints("axes", {1})}), "y");
  EXPECT_THAT(tasks_of(m.bytes(), onednn(), image(random, {1, 6, 5, 5})),
              Contains(HasSubstr("(ReduceL2), by oneDNN's reference code")));
  std::vector<const char*> precisions = {"exact"};
#if defined(__x86_64__)
  // On other processors the library has only reference code for bfloat16.
  if (__builtin_cpu_supports("avx512bw")) precisions.push_back("bf16");
#endif
  for (const char* precision : precisions) {
    const config::Config config = onednn({std::string("provider.onednn.options.precision=") + precision});
    for (const auto& tasks : {tasks_of(squeeze_model(), config, image(random, {2, 48, 14, 14})),
                              tasks_of(residual_model(2, 32), config, image(random, {2, 32, 9, 9}))}) {
      EXPECT_THAT(tasks, Contains(HasSubstr("(Conv)"))) << precision;
      EXPECT_THAT(tasks, testing::Not(Contains(HasSubstr("reference code")))) << precision;
    }
  }
}

TEST(OneDnnIslands, BFloat16IsNearAndOnlyWhenAskedFor) {
  std::mt19937 random(8);
  const std::string bytes = residual_model(1, 32);
  const ValueRef x = image(random, {1, 32, 9, 9});
  compare(bytes, {{"x", x}}, onednn({"provider.onednn.options.precision=bf16"}), 2e-2f, "bf16");
  compare(bytes, {{"x", x}}, onednn({"precision.default=bf16"}), 2e-2f, "bf16 of the session");
  compare(bytes, {{"x", x}}, onednn({"precision.default=bf16", "provider.onednn.options.precision=exact"}),
          1e-5f, "exact");
}

TEST(OneDnnIslands, ProductsInBFloat16ReadPartsOfASplit) {
  std::mt19937 random(11);
  for (const int64_t pixels : {5, 48, 49}) {
    GraphMaker m;
    const Id qkv = m.input("qkv", GraphMaker::f32({1, 2, 48, pixels}));
    const auto parts = m.nodes("Split", {qkv}, 3,
                               {ir::Attribute::of_int("axis", 2), ir::Attribute::of_int("num_outputs", 3)});
    const Id scores =
        m.node("MatMul",
               {m.node("Transpose", {parts[0]}, {ir::Attribute::of_ints("perm", {0, 1, 3, 2})}), parts[1]});
    m.output(scores, "scores");
    m.output(m.node("MatMul", {parts[2], scores}), "y");
    compare(m.bytes(), {{"qkv", image(random, {1, 2, 48, pixels})}},
            onednn({"provider.onednn.options.precision=bf16"}), 4e-2f, std::to_string(pixels));
  }
}

TEST(OneDnnIslands, MeansOverImagesReadWhatAConvolutionWrote) {
  std::mt19937 random(12);
  for (const int64_t channels : {16, 24, 5}) {
    for (const int64_t keep : {0, 1}) {
      for (const std::vector<int64_t>& axes :
           {std::vector<int64_t>{2, 3}, {-1, -2}, {2}, {1, 2, 3}, {0, 2, 3}}) {
        GraphMaker m;
        const Id x = m.input("x", GraphMaker::f32({2, 16, 9, 7}));
        const Id y = conv(m, random, x, 16, channels, 3);
        m.output(m.node("ReduceMean", {y, m.ints("axes", axes)}, {ir::Attribute::of_int("keepdims", keep)}),
                 "mean");
        m.output(m.node("Relu", {y}), "y");
        const ValueRef image_of_16 = image(random, {2, 16, 9, 7});
        compare(m.bytes(), {{"x", image_of_16}}, onednn(), 1e-5f, std::to_string(channels));
        compare(m.bytes(), {{"x", image_of_16}}, onednn({"provider.onednn.options.precision=bf16"}), 2e-2f,
                "bf16, " + std::to_string(channels));
      }
    }
  }
}

/// Convolutions of groups of 8 channels write images in blocks of 8, for which the library has no good pooling in bfloat16.
TEST(OneDnnIslands, MeansOverImagesReadBlocksOfEight) {
  std::mt19937 random(12);
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({2, 48, 9, 7}));
  const Id y = conv(m, random, conv(m, random, x, 48, 48, 1), 48, 48, 3, 6);
  m.output(m.node("ReduceMean", {y, m.ints("axes", {2, 3})}), "mean");
  m.output(conv(m, random, y, 48, 16, 1), "y");
  const ValueRef given = image(random, {2, 48, 9, 7});
  compare(m.bytes(), {{"x", given}}, onednn(), 1e-5f, "exact");
  compare(m.bytes(), {{"x", given}}, onednn({"provider.onednn.options.precision=bf16"}), 3e-2f, "bf16");
}

TEST(OneDnnIslands, ASumIsNotWrittenOverWhatIsReadLater) {
  std::mt19937 random(9);
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({1, 16, 7, 7}));
  const Id kept = conv(m, random, x, 16, 16, 3);
  m.output(m.node("Add", {kept, conv(m, random, x, 16, 16, 3)}), "sum");
  m.output(conv(m, random, m.node("Tanh", {kept}), 16, 16, 1), "later");
  compare(m.bytes(), {{"x", image(random, {1, 16, 7, 7})}}, onednn(), 1e-5f, "sum");
}

TEST(OneDnnIslands, ShapesThatChangeGetAPlanEach) {
  std::mt19937 random(2);
  const std::string bytes = residual_model(ir::Dim("batch"));
  const auto mine = make_session(bytes, onednn()), cpu = make_session(bytes);
  ASSERT_TRUE(mine != nullptr && cpu != nullptr);
  EXPECT_EQ(nodes_on(*mine, "cpu"), 0u);
  for (const int64_t batch : {1, 3, 1, 7, 3, 0}) {
    const ValueRef x = image(random, {batch, 24, 9, 9});
    expect_close(run(*mine, {{"x", x}}), run(*cpu, {{"x", x}}), 1e-5f, "batch " + std::to_string(batch));
  }
}

TEST(OneDnnIslands, NaNAndInfinitiesComeThrough) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({1, 1, 2, 8}));
  m.output(m.node("Relu", {m.node("Conv", {x, m.constant("w", {1, 1, 1, 1}, {1})})}), "relu");
  m.output(m.node("Exp", {x}), "exp");
  m.output(m.node("Max", {x, m.constant("zero", {1}, {0})}), "max");
  m.output(m.node("Min", {m.constant("zero2", {1}, {0}), x}), "min");
  m.output(m.node("Softmax", {x}, {ir::Attribute::of_int("axis", -1)}), "softmax");
  m.output(m.node("Clip", {x, m.constant("low", {}, {-1}), m.constant("high", {}, {1})}), "clip");
  m.output(m.node("Sigmoid", {x}), "sigmoid");
  const ValueRef input =
      f32({1, 1, 2, 8}, {1, 2, -INFINITY, -INFINITY, 0, -1, 3, 4, NAN, 2, -3, 0, 5, -6, 100, INFINITY});
  const auto session = make_session(m.bytes(), onednn());
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(nodes_on(*session, "cpu"), 0u);
  compare(m.bytes(), {{"x", input}}, onednn(), 1e-5f, "special values");
}

// NaN is left out: ONNX does not say whether the greatest of a window is one.
TEST(OneDnnIslands, TheGreatestOfInfinitiesIsInfinite) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({1, 1, 1, 8}));
  m.output(
      m.node("MaxPool", {x},
             {ir::Attribute::of_ints("kernel_shape", {1, 2}), ir::Attribute::of_ints("strides", {1, 2})}),
      "pool");
  const float lowest = -std::numeric_limits<float>::max();
  for (const float v : {1.0f, lowest}) {
    const ValueRef input =
        f32({1, 1, 1, 8}, {v, v, INFINITY, -INFINITY, 0, 1, v == 1 ? -INFINITY : v, v == 1 ? -INFINITY : v});
    compare(m.bytes(), {{"x", input}}, onednn(), 0, "pool");
  }
}

TEST(OneDnnIslands, WeightsThatAreInputsAreReorderedInEachRun) {
  std::mt19937 random(3);
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({1, 5, 6, 6})), w = m.input("w", GraphMaker::f32({7, 5, 3, 3}));
  m.output(m.node("Conv", {x, w}), "y");
  for (int i = 0; i < 3; ++i) {
    compare(m.bytes(), {{"x", image(random, {1, 5, 6, 6})}, {"w", image(random, {7, 5, 3, 3})}}, onednn(),
            1e-5f, "conv");
  }
}

TEST(OneDnnIslands, EverySideOfABinaryOperatorIsRepeated) {
  const std::vector<std::vector<int64_t>> shapes = {{2, 4, 5}, {4, 5},    {5},       {1},   {},
                                                    {2, 1, 5}, {1, 4, 1}, {2, 1, 1}, {4, 1}};
  std::mt19937 random(4);
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max"}) {
    for (const auto& a : shapes) {
      for (const auto& b : shapes) {
        GraphMaker m;
        const auto type = [](const std::vector<int64_t>& s) { return GraphMaker::f32({s.begin(), s.end()}); };
        m.output(m.node(op, {m.input("a", type(a)), m.input("b", type(b))}), "y");
        compare(m.bytes(), {{"a", image(random, a)}, {"b", image(random, b)}}, onednn(), 1e-5f,
                std::string(op) + " " + std::to_string(a.size()) + " " + std::to_string(b.size()));
      }
    }
  }
}

/// A graph of convolutions, pointwise nodes, moves and products over values of one shape.
std::string random_model(uint32_t seed, ir::Dim batch) {
  std::mt19937 random(seed);
  const int64_t c = 3 + static_cast<int64_t>(random() % 20);
  GraphMaker m;
  std::vector<Id> values{m.input("x", GraphMaker::f32({batch, c, 6, 5})),
                         m.input("z", GraphMaker::f32({batch, c, 6, 5}))};
  const auto any = [&] { return values[random() % values.size()]; };
  const auto permuted = [&](Id v) {
    const Id turned = m.node("Transpose", {v}, {ir::Attribute::of_ints("perm", {0, 2, 3, 1})});
    return m.node("Transpose", {m.node("Tanh", {turned})}, {ir::Attribute::of_ints("perm", {0, 3, 1, 2})});
  };
  for (int i = 0; i < 12; ++i) {
    const std::string name = "c" + std::to_string(i);
    switch (random() % 12) {
      case 0:
        values.push_back(conv(m, random, any(), c, c, 3));
        break;
      case 1:
        values.push_back(conv(m, random, any(), c, c, 1));
        break;
      case 2:
        values.push_back(conv(m, random, any(), c, c, 3, c));
        break;
      case 3:
        values.push_back(m.node("Relu", {any()}));
        break;
      case 4:
        values.push_back(m.node("Sigmoid", {any()}));
        break;
      case 5:
        values.push_back(m.node("Add", {any(), any()}));
        break;
      case 6:
        values.push_back(m.node("Mul", {any(), m.constant(name, {1, c, 1, 1}, noise(random, c))}));
        break;
      case 7:
        values.push_back(m.node("Sub", {m.constant(name, {5}, noise(random, 5)), any()}));
        break;
      case 8:
        values.push_back(permuted(any()));
        break;
      case 9: {
        const auto halves =
            m.nodes("Split", {m.node("Concat", {any(), any()}, {ir::Attribute::of_int("axis", 1)})}, 2,
                    {ir::Attribute::of_int("axis", 1), ir::Attribute::of_int("num_outputs", 2)});
        values.insert(values.end(), halves.begin(), halves.end());
        break;
      }
      case 10:
        values.push_back(m.node(
            "MaxPool", {any()},
            {ir::Attribute::of_ints("kernel_shape", {3, 3}), ir::Attribute::of_ints("pads", {1, 1, 1, 1})}));
        break;
      default:
        values.push_back(m.node("MatMul", {any(), m.constant(name, {5, 5}, noise(random, 25, 0.5f))}));
        break;
    }
  }
  for (int i = 0; i < 3; ++i)
    m.output(m.node("Identity", {values[values.size() - 1 - random() % 4]}), "y" + std::to_string(i));
  return m.bytes();
}

TEST(OneDnnIslands, RandomGraphsGiveWhatTheCpuProviderGives) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const bool dynamic = seed % 3 == 0;
    const std::string bytes = random_model(seed, dynamic ? ir::Dim("n") : ir::Dim(2));
    std::mt19937 random(seed);
    const int64_t channels = make_session(bytes)->inputs()[0].type.shape.dims[1].value;
    const std::vector<int64_t> dims{dynamic ? int64_t{1 + seed % 4} : 2, channels, 6, 5};
    const ValueRef x = image(random, dims), z = image(random, dims);
    const std::string precision = seed % 2 == 0 ? "exact" : "fast";
    compare(bytes, {{"x", x}, {"z", z}}, onednn({"provider.onednn.options.precision=" + precision}), 2e-4f,
            "seed " + std::to_string(seed));
    const auto rough = make_session(bytes, onednn({"provider.onednn.options.precision=bf16"}));
    for (const ValueRef& y : run(*rough, {{"x", x}, {"z", z}})) {
      for (const float v : floats(y)) ASSERT_TRUE(std::isfinite(v)) << "seed " << seed;
    }
  }
}

TEST(OneDnnIslands, RunsAtTheSameTimeGiveTheSameBits) {
  std::mt19937 random(5);
  const auto session = make_session(residual_model(1), onednn());
  ASSERT_NE(session, nullptr);
  const ValueRef x = image(random, {1, 24, 9, 9});
  const std::vector<float> wanted = floats(run(*session, {{"x", x}})[0]);
  std::vector<std::thread> threads;
  std::atomic<int> different{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 30; ++i) different += floats(run(*session, {{"x", x}})[0]) != wanted ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(different, 0);
}

TEST(OneDnnIslands, ThreadCountsGiveTheSame) {
  std::mt19937 random(6);
  const std::string bytes = residual_model(4, 64);
  const ValueRef x = image(random, {4, 64, 9, 9});
  for (const char* threads : {"threads.count=1", "threads.count=2", "threads.count=3"}) {
    compare(bytes, {{"x", x}}, onednn({threads}), 1e-5f, threads);
  }
}

TEST(OneDnnIslands, DeclinesNameOperatorAndReason) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({2, 3})), n = m.input("n", GraphMaker::i64({2}));
  m.output(m.node("Add", {n, n}), "sum");
  m.output(m.node("ReduceMax", {x}), "max");
  m.output(m.node("Log", {x}), "log");
  const auto session = make_session(m.bytes(), onednn());
  ASSERT_NE(session, nullptr);
  const auto json = explained(*session);
  std::map<std::string, std::pair<std::string, std::string>> found;
  for (const auto& node : json["nodes"]) {
    for (const auto& decline : node["declines"]) found[node["op"]] = {decline["code"], decline["text"]};
  }
  EXPECT_EQ(found["Add"].first, "type");
  EXPECT_THAT(found["Add"].second, testing::HasSubstr("int64"));
  EXPECT_THAT(found["ReduceMax"].second, testing::HasSubstr("precision fast"));
  EXPECT_EQ(found["Log"].first, "operator");
}

}  // namespace
}  // namespace tenon::test
