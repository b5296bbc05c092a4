// Attention of the cpu provider with products in bfloat16, compared with the same in float32.
#include "tests/islands/island_case.h"

namespace tenon::test {
namespace {

using ir::Attribute;

struct Heads {
  int64_t batch = 1, heads = 2, kv_heads = 1, queries = 7, keys = 40, size = 16, value_size = 16, past = 0;
  bool causal = false, mask = false, inside = false;
  float cap = 0;

  std::string text() const {
    std::string out;
    for (const int64_t n : {batch, heads, kv_heads, queries, keys, size, value_size, past})
      out += std::to_string(n) + " ";
    return out + (causal ? "causal " : "") + (mask ? "mask " : "") + (inside ? "inside " : "") +
           std::to_string(cap);
  }
  std::vector<int64_t> dims(int64_t count, int64_t length, int64_t width) const {
    return inside ? std::vector<int64_t>{batch, length, count * width}
                  : std::vector<int64_t>{batch, count, length, width};
  }
};

struct Case {
  std::string network;
  std::vector<session::NamedValue> values;
};

Case attention(const Heads& p, std::mt19937& random) {
  GraphMaker m;
  Case out;
  const auto input = [&](const char* name, const std::vector<int64_t>& dims) {
    out.values.push_back({name, image(random, dims)});
    return m.input(name, GraphMaker::f32(std::vector<ir::Dim>(dims.begin(), dims.end())));
  };
  std::vector<Id> inputs{input("q", p.dims(p.heads, p.queries, p.size)),
                         input("k", p.dims(p.kv_heads, p.keys, p.size)),
                         input("v", p.dims(p.kv_heads, p.keys, p.value_size)),
                         p.mask ? input("mask", {p.queries, p.past + p.keys}) : ir::kNone};
  if (p.past > 0) {
    inputs.push_back(input("past_k", {p.batch, p.kv_heads, p.past, p.size}));
    inputs.push_back(input("past_v", {p.batch, p.kv_heads, p.past, p.value_size}));
  }
  std::vector<Attribute> attributes{Attribute::of_int("is_causal", p.causal),
                                    Attribute::of_float("softcap", p.cap)};
  if (p.inside) {
    attributes.push_back(Attribute::of_int("q_num_heads", p.heads));
    attributes.push_back(Attribute::of_int("kv_num_heads", p.kv_heads));
  }
  m.output(m.node("Attention", inputs, attributes), "y");
  out.network = m.bytes(23);
  return out;
}

TEST(AttentionInBFloat16, AnyShapeIsNear) {
  int changed = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    Heads p;
    p.kv_heads = draw(1, 3), p.heads = p.kv_heads * draw(1, 2), p.batch = draw(0, 2);
    p.queries = draw(1, 70), p.keys = draw(0, 150), p.size = draw(0, 70), p.value_size = draw(0, 140);
    if (draw(0, 9) == 0) p.keys = draw(1400, 1900);  // several blocks
    if (draw(0, 9) == 0) p.size = draw(200, 300);
    if (draw(0, 3) == 0) p.past = draw(1, 90);
    p.causal = draw(0, 2) == 0, p.mask = draw(0, 1) == 0, p.inside = draw(0, 2) == 0;
    p.cap = draw(0, 4) == 0 ? 1.5f : 0.0f;
    const Case it = attention(p, random);
    const bool changes = p.batch > 0 && p.queries > 4 && p.keys > 1 && p.size > 0 && p.value_size > 0;
    changed += changes ? 1 : 0;
    compare_bfloat16(it.network, it.values, changes, "seed " + std::to_string(seed) + ": " + p.text());
  }
  EXPECT_GE(changed, 60);
}

/// Steps of a decoder read their keys once: there is nothing to win.
TEST(AttentionInBFloat16, FewQueriesStayInFloat32) {
  std::mt19937 random(1);
  const Case it = attention({.queries = 4, .keys = 90}, random);
  const auto low = make_session(it.network, islands_config(true, {"precision.default=bf16"})),
             exact = make_session(it.network, islands_config(true));
  EXPECT_EQ(floats(run(*low, it.values)[0]), floats(run(*exact, it.values)[0]));
}

TEST(AttentionInBFloat16, ThreadsDoNotChangeBits) {
  std::mt19937 random(2);
  const Case it = attention({.queries = 130, .keys = 1700, .size = 65, .value_size = 33}, random);
  expect_same_with_threads(it.network, it.values, "attention", {"precision.default=bf16"});
}

TEST(AttentionInBFloat16, OnlyARowThatSeesAnInfiniteKeyIsNaN) {
  std::mt19937 random(3);
  const Heads p{.heads = 1, .queries = 20, .keys = 20, .causal = true};
  Case it = attention(p, random);
  std::vector<float> keys = floats(it.values[1].value);
  keys[static_cast<size_t>(11 * p.size + 3)] = INFINITY;
  std::vector<float> queries = floats(it.values[0].value);
  for (float& x : queries) x = std::fabs(x) + 0.1f;
  it.values[0].value = f32(p.dims(p.heads, p.queries, p.size), queries);
  it.values[1].value = f32(p.dims(p.kv_heads, p.keys, p.size), keys);
  const auto session = make_session(it.network, islands_config(true, {"precision.default=bf16"}));
  const std::vector<float> y = floats(run(*session, it.values)[0]);
  for (int64_t i = 0; i < p.queries; ++i)
    EXPECT_EQ(std::isnan(y[static_cast<size_t>(i * p.value_size)]), i >= 11) << i;
}

TEST(AttentionInBFloat16, ValuesThatAreNotFiniteGoWhereFloat32PutsThem) {
  for (const float odd : {INFINITY, -INFINITY, NAN, 1e38f}) {
    std::mt19937 random(4);
    const Heads p{.heads = 1, .queries = 20, .keys = 20, .causal = true};
    Case it = attention(p, random);
    std::vector<float> values = floats(it.values[2].value);
    values[static_cast<size_t>(11 * p.value_size + 3)] = odd;
    it.values[2].value = f32(p.dims(p.kv_heads, p.keys, p.value_size), values);
    compare_bfloat16(it.network, it.values, false, std::to_string(odd));
  }
}

}  // namespace
}  // namespace tenon::test
