// Random networks through islands of the cpu provider, compared with the same provider's kernels, node by node.
#include <gmock/gmock.h>

#include <limits>

#include "tests/islands/island_case.h"

namespace tenon::test {
namespace {

using ir::Attribute;

/// Winograd's transforms would spread what is not finite over a tile.
TEST(Islands, NaNAndInfinitiesStayWhereTheyBelong) {
  for (const int64_t filters : {50, 20}) {  // larger and smaller tiles
    std::mt19937 random(4);
    GraphMaker m;
    const Id x = m.input("x", GraphMaker::f32({1, 48, 12, 12}));
    m.output(m.node("Relu", {conv(m, random, x, 48, filters, 3)}), "y");
    std::vector<float> values = noise(random, 48 * 144);
    values[5 * 144 + 40] = NAN, values[7 * 144 + 100] = INFINITY, values[2 * 144 + 3] = 3e38f;
    compare_islands(m.bytes(), {{"x", f32({1, 48, 12, 12}, values)}}, 1e-4f, "numbers that are none");
  }
}

/// 3x3 kernels with many channels, on images whose sides are no multiples of a tile.
TEST(Islands, WinogradGivesWhatKernelsGive) {
  std::mt19937 random(6);
  for (const auto& [images, in, out, height, width] : {std::array<int64_t, 5>{1, 48, 48, 10, 10},
                                                       {2, 53, 61, 13, 22},
                                                       {1, 200, 48, 11, 17},
                                                       {3, 64, 130, 12, 12},
                                                       {1, 16, 16, 10, 10},
                                                       {2, 37, 47, 13, 23},
                                                       {1, 50, 33, 11, 12}}) {
    GraphMaker m;
    const std::vector<ir::Dim> dims{images, in, height, width};
    const Id x = m.input("x", GraphMaker::f32(dims));
    const Id y = m.node("Add", {conv(m, random, x, in, out, 3), conv(m, random, x, in, out, 1)});
    m.output(m.node("Sigmoid", {m.node("Relu", {y})}), "y");
    const std::string what = std::to_string(in) + " to " + std::to_string(out);
    compare_islands(m.bytes(), {{"x", image(random, {images, in, height, width})}}, 2e-5f, what);
  }
}

/// With a few filters sums lie in registers, with a few channels a line of the kernel is one tap. Both with strides, dilations and pads of
/// which some lie outside of all that is read, for one and two spatial axes.
TEST(Islands, FewFiltersOrChannelsGiveWhatKernelsGive) {
  for (uint32_t seed = 0; seed < 120; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    const bool line = draw(0, 2) == 0;
    const int64_t in = draw(0, 1) == 0 ? draw(1, 20) : draw(1, 3),
                  out = draw(0, 1) == 0 ? draw(1, 3) : draw(4, 20);
    std::vector<int64_t> dims{draw(1, 2), in}, weights{out, in}, pads, strides, dilations;
    for (int axis = line ? 1 : 0; axis < 2; ++axis) {
      dims.push_back(draw(1, line ? 300 : 20));
      weights.push_back(draw(1, line ? 60 : 7));
      strides.push_back(draw(1, 4)), dilations.push_back(draw(0, 2) == 0 ? 2 : 1);
    }
    const size_t axes = strides.size();
    for (size_t side = 0; side < 2 * axes; ++side) pads.push_back(draw(0, weights[2 + side % axes] - 1));
    for (size_t axis = 0; axis < axes; ++axis) {
      const int64_t reach = (weights[axis + 2] - 1) * dilations[axis] + 1;
      pads[axis] = std::max(pads[axis], reach - dims[axis + 2] - pads[axis + axes]);
    }
    std::vector<ir::Dim> shape;
    int64_t count = 1;
    for (const int64_t dim : dims) shape.emplace_back(dim);
    for (const int64_t dim : weights) count *= dim;
    std::vector<int64_t> per_channel(dims.size(), 1);
    per_channel[1] = out;
    GraphMaker m;
    const Id x = m.node("Relu", {m.input("x", GraphMaker::f32(shape))});
    std::vector<Id> inputs{x, m.constant("w", weights, noise(random, count, 0.2f))};
    if (draw(0, 1) == 1) inputs.push_back(m.constant("b", {out}, noise(random, out)));
    const Id y = m.node("Conv", inputs,
                        {Attribute::of_ints("pads", pads), Attribute::of_ints("strides", strides),
                         Attribute::of_ints("dilations", dilations)});
    const Id z = draw(0, 1) == 0 ? m.node("Sigmoid", {y}) : m.node("HardSwish", {y});
    m.output(draw(0, 1) == 0 ? z : m.node("Mul", {z, m.constant("s", per_channel, noise(random, out))}), "y");
    compare_islands(m.bytes(), {{"x", image(random, dims)}}, 2e-5f, "seed " + std::to_string(seed));
  }
}

/// Normalised by constants behind a Concat, as in DenseNets, in images, lines and rows of one row; also where another node reads it.
TEST(Islands, BatchNormalizationGivesWhatKernelsGive) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    const int64_t channels = draw(1, 40), axes = seed % 4;
    std::vector<int64_t> dims{draw(1, 3), channels};
    for (int64_t i = 0; i < axes; ++i) dims.push_back(draw(1, 9));
    std::vector<ir::Dim> shape;
    for (size_t i = 0; i < dims.size(); ++i)
      shape.push_back(seed % 3 == 0 && i != 1 ? ir::Dim("d" + std::to_string(i)) : ir::Dim(dims[i]));
    GraphMaker m;
    const Id x = m.input("x", GraphMaker::f32(shape));
    const Id both = m.node("Concat", {x, m.node("Tanh", {x})}, {Attribute::of_int("axis", 1)});
    std::vector<Id> inputs{both};
    for (const char* name : {"scale", "B", "mean"})
      inputs.push_back(m.constant(name, {2 * channels}, noise(random, 2 * channels)));
    std::vector<float> variance = noise(random, 2 * channels);
    for (float& v : variance) v = v * v;
    inputs.push_back(m.constant("var", {2 * channels}, variance));
    const Id y = m.node("BatchNormalization", inputs, {Attribute::of_float("epsilon", 0.01f)});
    m.output(m.node("Relu", {y}), "y");
    if (seed % 2 == 0) m.output(m.node("Sigmoid", {y}), "z");
    const auto session = make_session(m.bytes(), islands_config(true, {"provider.cpu.options.islands=all"}));
    ASSERT_NE(session, nullptr);
    EXPECT_GE(largest_part(*session), 4u) << "one island";
    const auto without = make_session(m.bytes(), islands_config(false));
    const std::vector<session::NamedValue> given{{"x", image(random, dims)}};
    expect_close(run(*session, given), run(*without, given), 1e-5f, "seed " + std::to_string(seed));
  }
}

/// The steps after a product run for several panels at a time. 130 rows of 300 columns are more than one such group, if one thread gets
/// all of them.
TEST(Islands, StepsOfAWideProductRunOnce) {
  std::mt19937 random(3);
  GraphMaker m;
  const Id x = m.node("Relu", {m.input("x", GraphMaker::f32({130, 40}))});
  const Id y = m.node("Gemm", {x, m.constant("w", {40, 300}, noise(random, 12000, 0.2f))});
  m.output(m.node("Tanh", {m.node("Sigmoid", {y})}), "y");
  const auto with = make_session(m.bytes(), islands_config(true, {"threads.count=1"})),
             without = make_session(m.bytes(), islands_config(false));
  ASSERT_TRUE(with != nullptr && without != nullptr);
  const std::vector<session::NamedValue> inputs = {{"x", f32({130, 40}, noise(random, 5200))}};
  expect_close(run(*with, inputs), run(*without, inputs), 1e-5f, "130 rows");
}

/// One row passes several panels at a time, and what is left of them singly. Its sums are those of a row of a tile, on any number of
/// threads.
TEST(Islands, ProductsOfOneRowGiveTheBitsOfARowAmongOthers) {
  for (const auto& [in, out] :
       {std::pair<int64_t, int64_t>{600, 300}, {37, 1100}, {256, 64}, {513, 70}, {1, 257}}) {
    const auto model = [in = in, out = out](int64_t rows) {
      std::mt19937 random(9);
      GraphMaker m;
      const Id x = m.node("Relu", {m.input("x", GraphMaker::f32({rows, in}))});
      const Id y = m.node("Gemm", {x, m.constant("w", {in, out}, noise(random, in * out, 0.2f)),
                                   m.constant("b", {out}, noise(random, out))});
      const Id z = m.node("Gemm", {x, m.constant("v", {in, out}, noise(random, in * out, 0.2f))});
      m.output(m.node("Sigmoid", {m.node("Relu", {m.node("Add", {y, z})})}), "y");
      return m.bytes();
    };
    std::mt19937 random(5);
    std::vector<float> one = noise(random, in), rows = one;
    for (int64_t i = 0; i < 6; ++i) {
      const std::vector<float> more = noise(random, in);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    const std::string what = std::to_string(in) + " to " + std::to_string(out);
    compare_islands(model(1), {{"x", f32({1, in}, one)}}, 1e-5f, what);
    for (const char* threads : {"1", "2", "7"}) {
      const config::Config settings = islands_config(true, {std::string("threads.count=") + threads});
      const auto single = make_session(model(1), settings), several = make_session(model(7), settings);
      ASSERT_TRUE(single != nullptr && several != nullptr);
      const auto row = elements<float>(run(*single, {{"x", f32({1, in}, one)}})[0]);
      auto first = elements<float>(run(*several, {{"x", f32({7, in}, rows)}})[0]);
      first.resize(row.size());
      EXPECT_EQ(row, first) << what << ", " << threads << " threads";
    }
  }
}

/// A model without sizes takes the way for the size of each Run, and gives the same bits as a model with that size.
TEST(Islands, ImagesOfOpenSizeGiveTheBitsOfTheirSize) {
  const auto model = [](ir::Dim height, ir::Dim width) {
    std::mt19937 random(6);
    GraphMaker m;
    const Id x = m.input("x", GraphMaker::f32({1, 48, height, width}));
    m.output(m.node("Relu", {conv(m, random, x, 48, 50, 3)}), "y");
    return m.bytes();
  };
  const auto open = make_session(model({}, {}), islands_config(true));
  const auto open_strict = make_session(model({}, {}), islands_config(true, {"precision.strict=true"}));
  ASSERT_NE(open, nullptr);
  ASSERT_NE(open_strict, nullptr);
  for (const auto& [height, width, by_tiles] :
       {std::tuple<int64_t, int64_t, bool>{12, 17, true}, {9, 30, false}, {12, 17, true}, {1, 1, false}}) {
    std::mt19937 random(5);
    const ValueRef x = image(random, {1, 48, height, width});
    const auto fixed = make_session(model(height, width), islands_config(true));
    ASSERT_NE(fixed, nullptr);
    const auto y = elements<float>(run(*open, {{"x", x}})[0]);
    EXPECT_EQ(y, elements<float>(run(*fixed, {{"x", x}})[0])) << height << "x" << width;
    EXPECT_EQ(y != elements<float>(run(*open_strict, {{"x", x}})[0]), by_tiles) << height << "x" << width;
  }
}

/// Depthwise kernels of 5x5 and 7x7: small images are copied with their padding, others are not.
TEST(Islands, LargeDepthwiseKernelsGiveWhatKernelsGive) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    const int64_t channels = draw(1, 70), kernel = draw(0, 1) == 0 ? 5 : 7, stride = draw(1, 3),
                  dilation = draw(1, 2), images = draw(1, 2);
    const std::vector<int64_t> dims{images, channels, draw(1, 25), draw(1, 25)};
    const int64_t reach = (kernel - 1) * dilation + 1;
    std::vector<int64_t> pads;
    for (int side = 0; side < 4; ++side) pads.push_back(draw(0, reach - 1));
    for (size_t axis : {0u, 1u}) pads[axis] = std::max(pads[axis], reach - dims[axis + 2] - pads[axis + 2]);
    GraphMaker m;
    const Id x = m.node("Relu", {m.input("x", GraphMaker::f32({dims[0], dims[1], dims[2], dims[3]}))});
    std::vector<Id> inputs{
        x, m.constant("w", {channels, 1, kernel, kernel}, noise(random, channels * kernel * kernel, 0.2f))};
    if (draw(0, 1) == 1) inputs.push_back(m.constant("b", {channels}, noise(random, channels)));
    const Id y =
        m.node("Conv", inputs,
               {Attribute::of_ints("pads", pads), Attribute::of_ints("strides", {stride, stride}),
                Attribute::of_ints("dilations", {dilation, dilation}), Attribute::of_int("group", channels)});
    m.output(draw(0, 1) == 0 ? m.node("Sigmoid", {y}) : m.node("Sigmoid", {m.node("Relu", {y})}), "y");
    compare_islands(m.bytes(), {{"x", image(random, dims)}}, 1e-5f, "seed " + std::to_string(seed));
  }
}

/// The image is small enough only in parts, and an infinite weight shows who multiplies the padding.
TEST(Islands, LargeDepthwiseKernelsDoNotDependOnThreads) {
  std::mt19937 random(3);
  constexpr int64_t kChannels = 64;
  std::vector<float> weights = noise(random, kChannels * 25, 0.2f);
  for (size_t corner = 0; corner < weights.size(); corner += 25)
    weights[corner] = std::numeric_limits<float>::infinity();
  GraphMaker m;
  const Id x = m.node("Relu", {m.input("x", GraphMaker::f32({1, kChannels, 40, 9}))});
  m.output(m.node("Conv", {x, m.constant("w", {kChannels, 1, 5, 5}, weights)},
                  {Attribute::of_ints("pads", {2, 2, 2, 2}), Attribute::of_int("group", kChannels)}),
           "y");
  const std::string bytes = m.bytes();
  const ValueRef value = image(random, {1, kChannels, 40, 9});
  expect_same_with_threads(bytes, {{"x", value}}, "infinite weights");
}

/// Tiles of both sizes, blocks for one worker and for several, and a batch. A session with few threads after one with many has more
/// room than it needs.
TEST(Islands, FilteringByTilesDoesNotDependOnThreads) {
  struct Layer {
    int64_t images, channels, filters, height, width;
  };
  for (const Layer& l : {Layer{1, 32, 32, 56, 56}, Layer{1, 64, 64, 40, 23}, Layer{1, 128, 128, 14, 14},
                         Layer{2, 16, 20, 100, 11}, Layer{3, 48, 96, 10, 10}}) {
    std::mt19937 random(11);
    GraphMaker m;
    const std::vector<int64_t> shape{l.images, l.channels, l.height, l.width};
    const Id w =
        m.constant("w", {l.filters, l.channels, 3, 3}, noise(random, l.filters * l.channels * 9, 0.1f));
    m.output(m.node("Relu", {m.node("Conv", {m.input("x", GraphMaker::f32({shape.begin(), shape.end()})), w},
                                    {Attribute::of_ints("pads", {1, 1, 1, 1})})}),
             "y");
    const std::string bytes = m.bytes();
    const ValueRef x = image(random, shape);
    const std::string what = std::to_string(l.channels) + " channels";
    compare_islands(bytes, {{"x", x}}, 1e-4f, what);
    expect_same_with_threads(bytes, {{"x", x}}, what);
  }
}

/// Kernels as large as the strides run in islands, and others do not.
TEST(Islands, TransposedConvolutionsGiveWhatKernelsGive) {
  struct Case {
    std::vector<ir::Dim> x;
    std::vector<int64_t> given, kernel, strides, pads;
    bool bias, in_island;
  };
  const ir::Dim n("n"), h("h");
  const Case cases[] = {{{1, 20, 5, 7}, {1, 20, 5, 7}, {2, 2}, {2, 2}, {}, true, true},
                        {{3, 17, 4, 1}, {3, 17, 4, 1}, {3, 2}, {3, 2}, {0, 0, 0, 0}, false, true},
                        {{n, 20, h, 9}, {2, 20, 13, 9}, {1, 4}, {1, 4}, {}, true, true},
                        {{n, 20, h, 9}, {2, 20, 0, 9}, {2, 2}, {2, 2}, {}, true, true},
                        {{2, 18, 11}, {2, 18, 11}, {5}, {5}, {}, true, true},
                        {{1, 9, 6, 6}, {1, 9, 6, 6}, {1, 1}, {}, {}, true, true},
                        {{1, 20, 5, 7}, {1, 20, 5, 7}, {2, 2}, {2, 2}, {0, 1, 0, 1}, true, false},
                        {{1, 20, 5, 7}, {1, 20, 5, 7}, {3, 3}, {2, 2}, {}, true, false},
                        {{1, 20, 5, 7}, {1, 20, 5, 7}, {2, 2}, {}, {}, false, false}};
  for (size_t i = 0; i < std::size(cases); ++i) {
    const Case& c = cases[i];
    for (const int64_t filters : {1, 7, 32, 50}) {
      std::mt19937 random(8);
      GraphMaker m;
      std::vector<int64_t> weights{c.given[1], filters};
      weights.insert(weights.end(), c.kernel.begin(), c.kernel.end());
      const Id x = m.node("Relu", {m.input("x", GraphMaker::f32(c.x))});
      std::vector<Id> inputs{x, m.constant("w", weights, noise(random, count(weights), 0.2f))};
      if (c.bias) inputs.push_back(m.constant("b", {filters}, noise(random, filters)));
      std::vector<Attribute> attributes;
      if (!c.strides.empty()) attributes.push_back(Attribute::of_ints("strides", c.strides));
      if (!c.pads.empty()) attributes.push_back(Attribute::of_ints("pads", c.pads));
      m.output(m.node("Sigmoid", {m.node("ConvTranspose", inputs, attributes)}), "y");
      const std::string what = "case " + std::to_string(i) + ", " + std::to_string(filters) + " filters";
      compare_islands(m.bytes(), {{"x", image(random, c.given)}}, 1e-5f, what);
      const auto session = make_session(m.bytes(), islands_config(true, {"threads.count=2"}));
      ASSERT_TRUE(session != nullptr) << what;
      EXPECT_EQ(largest_part(*session), c.in_island ? 3u : 1u) << what;
    }
  }
}

/// Draws networks of images: each node takes values that exist, and what nobody reads becomes an output.
class Drawer {
 public:
  explicit Drawer(uint32_t seed) : random_(seed) {}

  std::string network() {
    shape_ = {draw(1, 2), draw(1, 40), draw(1, 12), draw(1, 12)};
    const bool is_dynamic = draw(0, 3) == 0;
    add(m_.input("x", GraphMaker::f32({is_dynamic ? ir::Dim("batch") : ir::Dim(shape_[0]), shape_[1],
                                       shape_[2], shape_[3]})),
        shape_);
    const int64_t nodes = draw(2, 14);
    for (int64_t i = 0; i < nodes; ++i) add_node();
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].uses == 0) m_.output(values_[i].id, "out" + std::to_string(i));
    }
    return m_.bytes();
  }
  ValueRef input() { return image(random_, shape_); }

 private:
  struct Drawn {
    Id id;
    std::vector<int64_t> dims;
    int uses = 0;
  };

  int64_t draw(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  void add(Id id, std::vector<int64_t> dims) { values_.push_back({id, std::move(dims)}); }
  /// Late values are likelier, so that networks are deep.
  size_t pick() {
    const auto last = static_cast<int64_t>(values_.size()) - 1;
    const auto at = static_cast<size_t>(std::max(draw(0, last), draw(0, last)));
    return at;
  }
  Drawn use(size_t i) {
    ++values_[i].uses;
    return values_[i];
  }

  void add_node() {
    const size_t at = pick();
    const bool is_image = values_[at].dims.size() == 4;
    switch (draw(0, 10)) {
      case 0:
      case 1:
      case 2:
        return is_image ? add_conv(at) : add_gemm(at);
      case 3:
        return is_image ? add_pool(at) : add_gemm(at);
      case 4:
      case 5:
        return add_unary(at);
      case 6:
      case 7:
        return add_binary(at);
      case 8:
        return add_concat(at);
      case 9:
        return is_image ? add_transposed(at) : add_gemm(at);
      default:
        return is_image ? add_squeeze(at) : add_unary(at);
    }
  }

  void add_conv(size_t at) {
    const Drawn x = use(at);
    const int64_t channels = x.dims[1], rows = draw(1, 3), columns = draw(1, 5), stride = draw(1, 2),
                  dilation = draw(1, 2);
    const bool depthwise = draw(0, 2) == 0;
    int64_t groups = 1;
    if (depthwise) {
      groups = channels;
    } else if (draw(0, 3) == 0 && channels % 2 == 0) {
      groups = 2;
    }
    const int64_t filters = depthwise ? channels : groups * draw(1, 70);
    const auto spans = [&](int64_t n, int64_t kernel) {
      return n + 2 * (kernel / 2) - ((kernel - 1) * dilation + 1);
    };
    if (spans(x.dims[2], rows) < 0 || spans(x.dims[3], columns) < 0) return add_unary(at);
    const std::string name = "w" + std::to_string(m_.graph.node_count());
    const std::vector<int64_t> dims{filters, channels / groups, rows, columns};
    std::vector<Id> inputs{
        x.id, m_.constant(
                  name, dims,
                  noise(random_, count(dims), 1.0f / std::sqrt(static_cast<float>(count(dims) / filters))))};
    if (draw(0, 1) == 1) inputs.push_back(m_.constant(name + "b", {filters}, noise(random_, filters)));
    const Id y =
        m_.node("Conv", inputs,
                {Attribute::of_ints("pads", {rows / 2, columns / 2, rows / 2, columns / 2}),
                 Attribute::of_ints("strides", {stride, stride}),
                 Attribute::of_ints("dilations", {dilation, dilation}), Attribute::of_int("group", groups)});
    add(y, {x.dims[0], filters, spans(x.dims[2], rows) / stride + 1, spans(x.dims[3], columns) / stride + 1});
  }

  void add_transposed(size_t at) {
    const Drawn x = use(at);
    const int64_t rows = draw(1, 2), columns = draw(1, 2), filters = draw(1, 40);
    if (x.dims[2] * rows > 24 || x.dims[3] * columns > 24) return add_unary(at);
    const std::string name = "t" + std::to_string(m_.graph.node_count());
    const std::vector<int64_t> dims{x.dims[1], filters, rows, columns};
    const float scale = 1.0f / std::sqrt(static_cast<float>(x.dims[1]));
    const Id y = m_.node("ConvTranspose", {x.id, m_.constant(name, dims, noise(random_, count(dims), scale))},
                         {Attribute::of_ints("strides", {rows, columns})});
    add(y, {x.dims[0], filters, x.dims[2] * rows, x.dims[3] * columns});
  }

  void add_gemm(size_t at) {
    const Drawn x = use(at);
    const std::string name = "g" + std::to_string(m_.graph.node_count());
    const int64_t k = x.dims.back(), n = draw(1, 150);
    const Id w = m_.constant(name, {n, k}, noise(random_, n * k, 1.0f / std::sqrt(static_cast<float>(k))));
    const Id y = m_.node("Gemm", {x.id, w, m_.constant(name + "c", {n}, noise(random_, n))},
                         {Attribute::of_int("transB", 1)});
    add(y, {x.dims[0], n});
  }

  void add_pool(size_t at) {
    const Drawn x = use(at);
    if (draw(0, 2) == 0) return add(m_.node("GlobalAveragePool", {x.id}), {x.dims[0], x.dims[1], 1, 1});
    const int64_t rows = draw(1, std::min<int64_t>(3, x.dims[2])),
                  columns = draw(1, std::min<int64_t>(3, x.dims[3])), stride = draw(1, 2);
    const bool greatest = draw(0, 1) == 0;
    std::vector<Attribute> attributes{Attribute::of_ints("kernel_shape", {rows, columns}),
                                      Attribute::of_ints("strides", {stride, stride}),
                                      Attribute::of_ints("pads", {rows / 2, columns / 2, 0, 0})};
    if (!greatest) attributes.push_back(Attribute::of_int("count_include_pad", draw(0, 1)));
    const Id y = m_.node(greatest ? "MaxPool" : "AveragePool", {x.id}, attributes);
    add(y, {x.dims[0], x.dims[1], (x.dims[2] + rows / 2 - rows) / stride + 1,
            (x.dims[3] + columns / 2 - columns) / stride + 1});
  }

  void add_unary(size_t at) {
    static constexpr const char* kNames[] = {"Relu",      "Sigmoid", "Tanh",        "HardSwish",
                                             "LeakyRelu", "Elu",     "HardSigmoid", "Neg",
                                             "Abs",       "Erf",     "Clip"};
    const Drawn x = use(at);
    const std::string name = kNames[draw(0, std::size(kNames) - 1)];
    std::vector<Id> inputs{x.id};
    const std::string number = std::to_string(m_.graph.node_count());
    if (name == "Clip")
      inputs.push_back(m_.constant("low" + number, {}, {-0.5f})),
          inputs.push_back(m_.constant("high" + number, {}, {0.7f}));
    add(m_.node(name, inputs), x.dims);
  }

  void add_binary(size_t at) {
    static constexpr const char* kNames[] = {"Add", "Sub", "Mul", "Max", "Min"};
    const Drawn x = use(at);
    const std::string name = kNames[draw(0, std::size(kNames) - 1)];
    Id other;
    std::vector<int64_t> dims = x.dims;
    const size_t with = pick();
    if (draw(0, 1) == 0 && values_[with].dims == x.dims) {
      other = use(with).id;
    } else {  // a constant that broadcasts
      for (int64_t& d : dims) d = draw(0, 1) == 0 ? d : 1;
      if (x.dims[0] != 1) dims[0] = 1;  // the batch may be symbolic
      if (draw(0, 2) == 0) dims.erase(dims.begin());
      other = m_.constant("c" + std::to_string(m_.graph.node_count()), dims, noise(random_, count(dims)));
    }
    add(draw(0, 1) == 0 ? m_.node(name, {x.id, other}) : m_.node(name, {other, x.id}), x.dims);
  }

  /// A gate per channel, as in squeeze-and-excitation.
  void add_squeeze(size_t at) {
    const Drawn x = use(at);
    ++values_[at].uses;
    const Id gate = m_.node("Sigmoid", {m_.node("GlobalAveragePool", {x.id})});
    add(m_.node("Mul", {x.id, gate}), x.dims);
  }

  void add_concat(size_t at) {
    const Drawn x = use(at);
    const size_t with = pick();
    std::vector<int64_t> dims = values_[with].dims, own = x.dims;
    if (dims.size() == own.size()) dims[1] = own[1];
    if (dims != own) return add_unary(at);
    const Drawn y = use(with);
    own[1] += y.dims[1];
    add(m_.node("Concat", {x.id, y.id}, {Attribute::of_int("axis", 1)}), own);
  }

  std::mt19937 random_;
  GraphMaker m_;
  std::vector<int64_t> shape_;
  std::vector<Drawn> values_;
};

TEST(Islands, RandomNetworksGiveWhatKernelsGive) {
  size_t islands = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Drawer drawer(seed);
    const std::string bytes = drawer.network();
    const ValueRef x = drawer.input();
    const std::string what = "seed " + std::to_string(seed);
    const auto with = make_session(bytes, islands_config(true)),
               without = make_session(bytes, islands_config(false));
    ASSERT_TRUE(with != nullptr && without != nullptr) << what;
    islands += largest_part(*with) > 1 ? 1 : 0;
    EXPECT_LE(largest_part(*without), 1u) << what;
    expect_close(run(*with, {{"x", x}}), run(*without, {{"x", x}}), 2e-4f, what);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(islands, 150u) << "most networks have an island of several nodes";
}

/// A table of words that is the last weights as well: MatMul takes it with its axes exchanged.
TEST(Islands, AConstantWithExchangedAxesIsAFactor) {
  for (const bool read_twice : {false, true}) {
    for (const int64_t rows : {1, 7}) {
      std::mt19937 random(5);
      GraphMaker m;
      const Id x = m.node("Relu", {m.input("x", GraphMaker::f32({2, rows, 37}))});
      const Id words = m.constant("words", {150, 37}, noise(random, 150 * 37));
      const Id turned = m.node("Transpose", {words}, {Attribute::of_ints("perm", {1, 0})});
      m.output(m.node("Neg", {m.node("MatMul", {x, turned})}), "y");
      if (read_twice) m.output(m.node("Relu", {turned}), "turned");
      const std::vector<session::NamedValue> inputs{{"x", image(random, {2, rows, 37})}};
      compare_islands(m.bytes(), inputs, 1e-5f, read_twice ? "read twice" : "read once");
      const auto session =
          make_session(m.bytes(), islands_config(true, {"transforms.disable=[\"constant_folding\"]"}));
      ASSERT_TRUE(session != nullptr);
      EXPECT_EQ(largest_part(*session), read_twice ? 1u : 4u);
      expect_close(run(*session, inputs), run(*make_session(m.bytes(), islands_config(false)), inputs), 1e-5f,
                   "unfolded");
    }
  }
}

/// Windows entirely inside the padding have no element.
TEST(Islands, PoolsOfPaddingGiveWhatKernelsGive) {
  for (const char* op : {"MaxPool", "AveragePool"}) {
    std::mt19937 random(3);
    GraphMaker m;
    const Id x = conv(m, random, m.input("x", GraphMaker::f32({1, 20, 3, 3})), 20, 20, 1);
    m.output(m.node(op, {x},
                    {Attribute::of_ints("kernel_shape", {1, 1}), Attribute::of_ints("pads", {1, 1, 1, 1})}),
             "y");
    compare_islands(m.bytes(), {{"x", image(random, {1, 20, 3, 3})}}, 1e-5f, op);
  }
}

TEST(Islands, ResultsDoNotDependOnThreads) {
  for (uint32_t seed = 300; seed < 320; ++seed) {
    Drawer drawer(seed);
    const std::string bytes = drawer.network();
    const ValueRef x = drawer.input();
    const auto one = make_session(bytes, islands_config(true, {"threads.count=1"}));
    const auto two = make_session(bytes, islands_config(true, {"threads.count=2"}));
    ASSERT_TRUE(one != nullptr && two != nullptr);
    const std::vector<ValueRef> a = run(*one, {{"x", x}}), b = run(*two, {{"x", x}});
    for (size_t o = 0; o < a.size(); ++o) EXPECT_EQ(floats(a[o]), floats(b[o])) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tenon::test
