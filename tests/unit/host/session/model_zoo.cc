#include "tests/unit/host/session/model_zoo.h"

#include <functional>
#include <map>

#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using Attribute = ir::Attribute;
using Inputs = std::vector<session::NamedValue>;

/// Small numbers of both signs, none of them special: any order of summation but one's own shows in the last bits.
std::vector<float> numbers(size_t count, int seed) {
  std::vector<float> out(count);
  uint32_t state = 2654435761U * static_cast<uint32_t>(seed + 1);
  for (float& value : out) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / 16777216.F - 0.5F;
  }
  return out;
}

size_t product(const std::vector<int64_t>& dims) {
  size_t count = 1;
  for (int64_t dim : dims) count *= static_cast<size_t>(dim);
  return count;
}

/// GraphMaker with weights made up on the way.
class Weighted : public GraphMaker {
 public:
  Id weight(const std::vector<int64_t>& dims) {
    const int number = weights_++;
    return constant("w" + std::to_string(number), dims, numbers(product(dims), 1000 + number));
  }

 private:
  int weights_ = 0;
};

ValueRef random_f32(const std::vector<int64_t>& dims, int seed) {
  return f32(dims, numbers(product(dims), seed));
}

std::string cnn() {
  Weighted m;
  const auto x = m.input("x", GraphMaker::f32({1, 3, 20, 20}));
  const Attribute same = Attribute::of_ints("pads", {1, 1, 1, 1});
  const auto first = m.node("Relu", {m.node("Conv", {x, m.weight({8, 3, 3, 3}), m.weight({8})}, {same})});
  const auto pooled =
      m.node("MaxPool", {first},
             {Attribute::of_ints("kernel_shape", {2, 2}), Attribute::of_ints("strides", {2, 2})});
  const auto depthwise =
      m.node("Conv", {pooled, m.weight({8, 1, 3, 3})}, {same, Attribute::of_int("group", 8)});
  const auto second = m.node("Add", {m.node("Conv", {depthwise, m.weight({8, 8, 1, 1})}), pooled});
  const auto flat = m.node("Flatten", {m.node("GlobalAveragePool", {m.node("Sigmoid", {second})})});
  m.output(m.node("Softmax", {m.node("Gemm", {flat, m.weight({8, 10}), m.weight({10})})}), "y");
  return m.bytes();
}
Inputs cnn_inputs(int seed) { return {{"x", random_f32({1, 3, 20, 20}, seed)}}; }

/// Embedding, one block of attention over two heads, one feed-forward layer; 6 tokens of width 16.
std::string transformer() {
  Weighted m;
  const auto ids = m.input("ids", GraphMaker::i64({6}));
  const auto x = m.node("Gather", {m.weight({32, 16}), ids});
  const auto normal = m.node("LayerNormalization", {x, m.weight({16}), m.weight({16})});
  const auto heads = [&](const std::vector<int64_t>& order) {
    const auto projected = m.node("Add", {m.node("MatMul", {normal, m.weight({16, 16})}), m.weight({16})});
    const auto shape = m.ints("heads" + std::to_string(m.graph.node_count()), {6, 2, 8});
    return m.node("Transpose", {m.node("Reshape", {projected, shape})}, {Attribute::of_ints("perm", order)});
  };
  const auto query = heads({1, 0, 2}), key = heads({1, 2, 0}), value = heads({1, 0, 2});
  const auto scores = m.node("Softmax", {m.node("MatMul", {query, key})});
  const auto context =
      m.node("Transpose", {m.node("MatMul", {scores, value})}, {Attribute::of_ints("perm", {1, 0, 2})});
  const auto merged = m.node("Reshape", {context, m.ints("merge", {6, 16})});
  const auto attended = m.node("Add", {m.node("MatMul", {merged, m.weight({16, 16})}), x});
  const auto hidden = m.node("Gelu", {m.node("MatMul", {attended, m.weight({16, 64})})});
  m.output(m.node("Add", {m.node("MatMul", {hidden, m.weight({64, 16})}), attended}), "y");
  return m.bytes();
}
Inputs transformer_inputs(int seed) {
  std::vector<int64_t> ids(6);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = (seed * 7 + static_cast<int64_t>(i) * 5) % 32;
  return {{"ids", i64({6}, ids)}};
}

std::string lstm() {
  Weighted m;
  const auto x = m.input("x", GraphMaker::f32({7, 2, 8}));
  const auto out =
      m.nodes("LSTM", {x, m.weight({2, 64, 8}), m.weight({2, 64, 16}), m.weight({2, 128})}, 3,
              {Attribute::of_int("hidden_size", 16), Attribute::of_string("direction", "bidirectional")});
  for (size_t i = 0; i < out.size(); ++i) m.output(out[i], "y" + std::to_string(i));
  return m.bytes();
}
Inputs lstm_inputs(int seed) { return {{"x", random_f32({7, 2, 8}, seed)}}; }

/// The number of iterations is an input; the body carries a value, captures one and collects one.
std::string loop() {
  Weighted m;
  const auto trips = m.input("trips", GraphMaker::i64({}));
  const auto x = m.input("x", GraphMaker::f32({2, 8}));
  Weighted body;
  body.input("i", GraphMaker::i64({}));
  const auto go = body.input("go", GraphMaker::boolean({}));
  const auto carried = body.input("carried", GraphMaker::f32({2, 8}));
  const auto step = body.node("Tanh", {body.node("MatMul", {carried, body.weight({8, 8})})});
  body.output(body.node("Identity", {go}), "go_on", GraphMaker::boolean({}));
  body.output(body.node("Add", {step, body.capture(x, "outer")}), "next", GraphMaker::f32({2, 8}));
  body.output(body.node("ReduceSum", {step}, {Attribute::of_int("keepdims", 0)}), "sum", GraphMaker::f32({}));
  const auto out = m.nodes("Loop", {trips, ir::kNone, x}, 2, {Attribute::of_graph("body", body.graph)});
  m.output(out[0], "last");
  m.output(out[1], "sums");
  return m.bytes();
}
Inputs loop_inputs(int seed) { return {{"trips", i64({}, {1 + seed % 4})}, {"x", random_f32({2, 8}, seed)}}; }

/// A symbolic dim, and a selection whose size only the data tell.
std::string dynamic() {
  Weighted m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 8}));
  const auto soft = m.node("Softmax", {m.node("MatMul", {x, m.weight({8, 8})})});
  const auto cut = m.node("Relu", {m.node("Sub", {soft, m.constant("cut", {1}, {0.125F})})});
  const auto flat = m.node("Reshape", {cut, m.ints("all", {-1})});
  m.output(m.node("Gather", {flat, m.node("NonZero", {flat})}), "picked");
  m.output(m.node("Shape", {x}), "shape");
  return m.bytes();
}
Inputs dynamic_inputs(int seed) { return {{"x", random_f32({1 + seed % 5, 8}, seed)}}; }

/// Parts: accelerator (Add, Mul), cpu (Softmax), accelerator (Sub, Relu), cpu (Transpose).
std::string divided() {
  Weighted m;
  const auto x = m.input("x", GraphMaker::f32({4, 8}));
  const auto squared = m.node("Add", {x, m.weight({8})});
  const auto scaled = m.node("Mul", {squared, squared});
  const auto cut = m.node("Relu", {m.node("Sub", {scaled, m.node("Softmax", {scaled})})});
  m.output(m.node("Transpose", {cut}), "y");
  return m.bytes();
}
Inputs divided_inputs(int seed) { return {{"x", random_f32({4, 8}, seed)}}; }

struct Entry {
  std::string (*bytes)();
  Inputs (*inputs)(int seed);
  bool accelerated = false;
};
const std::map<std::string, Entry>& entries() {
  static const std::map<std::string, Entry> all = {
      {"cnn", {cnn, cnn_inputs}},
      {"transformer", {transformer, transformer_inputs}},
      {"lstm", {lstm, lstm_inputs}},
      {"loop", {loop, loop_inputs}},
      {"dynamic", {dynamic, dynamic_inputs}},
      {"divided", {divided, divided_inputs, true}},
  };
  return all;
}

}  // namespace

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries()) names.push_back(name);
  return names;
}

ZooModel zoo_model(const std::string& name) {
  const Entry& entry = entries().at(name);
  config::Config config = entry.accelerated ? config_for({fakes_dir() + "/accelerator", providers_dir()},
                                                         {"accelerator/npu:0", "cpu"})
                                            : cpu_config();
  return {name, entry.bytes(), std::move(config), entry.inputs};
}

}  // namespace tenon::test
