// A decoder with a cache of keys and values, fed token by token: with state pairs, and as a model whose application
// carries the cache.
#pragma once

#include <optional>
#include <random>
#include <utility>

#include "host/session/slots.h"
#include "host/session/state.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {

/// y = tanh(q K) V, where K and V have a column and a row for each token so far. The accelerator has all operators.
inline std::string decoder() {
  GraphMaker m;
  const ir::Dim tokens("tokens"), past("past"), all("all");
  const auto q = m.input("q", GraphMaker::f32({tokens, 4}));
  const auto k = m.input("k", GraphMaker::f32({4, tokens}));
  const auto past_k = m.input("past_k", GraphMaker::f32({4, past}));
  const auto past_v = m.input("past_v", GraphMaker::f32({past, 4}));
  const auto weights =
      m.constant("w", {4, 4}, {1, 0.5f, -1, 0, 0, 1, 0.25f, 0, -0.5f, 0, 1, 1, 0.125f, 0, 0, 1});
  const auto keys = m.node("Concat", {past_k, m.node("MatMul", {weights, k}, {}, "new_k")},
                           {ir::Attribute::of_int("axis", 1)}, "join_k");
  const auto values = m.node("Concat", {past_v, m.node("MatMul", {q, weights}, {}, "new_v")},
                             {ir::Attribute::of_int("axis", 0)}, "join_v");
  const auto scores = m.node("Tanh", {m.node("MatMul", {q, keys}, {}, "scores")});
  m.output(m.node("MatMul", {scores, values}, {}, "mix"), "y", GraphMaker::f32({tokens, 4}));
  m.output(keys, "present_k", GraphMaker::f32({4, all}));
  m.output(values, "present_v", GraphMaker::f32({all, 4}));
  return m.bytes();
}

inline config::Config with_pairs(config::Config config, const std::string& pairs = "[\"past_*=present_*\"]") {
  const Status status = config.set("state.pairs", pairs);
  EXPECT_TRUE(status.ok()) << status.to_string();
  return config;
}

/// The inputs of Runs, the same for the same seed.
class Text {
 public:
  explicit Text(unsigned seed) : random_(seed) {}

  /// q and k of `tokens` tokens.
  std::vector<session::NamedValue> next(int64_t tokens) {
    return {{"q", f32({tokens, 4}, draw(4 * tokens))}, {"k", f32({4, tokens}, draw(4 * tokens))}};
  }

 private:
  std::vector<float> draw(int64_t n) {
    std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
    std::vector<float> out(static_cast<size_t>(n));
    for (float& x : out) x = uniform(random_);
    return out;
  }
  std::mt19937 random_;
};

/// A sequence whose cache the application carries.
class Carried {
 public:
  explicit Carried(std::shared_ptr<session::Session> session) : session_(std::move(session)) {}

  std::vector<float> step(std::vector<session::NamedValue> inputs) {
    inputs.push_back({"past_k", past_k});
    inputs.push_back({"past_v", past_v});
    std::vector<ValueRef> outputs = run(*session_, inputs);
    past_k = outputs[1];
    past_v = outputs[2];
    return floats(outputs[0]);
  }

  ValueRef past_k = f32({4, 0}, {}), past_v = f32({0, 4}, {});

 private:
  std::shared_ptr<session::Session> session_;
};

/// A sequence with a state of its own.
class Kept {
 public:
  explicit Kept(const std::shared_ptr<session::Session>& session) : session_(session) {
    options_.state = *session->make_state();
  }

  std::vector<float> step(const std::vector<session::NamedValue>& inputs) {
    const std::vector<ValueRef> outputs = run(*session_, inputs, options_);
    return outputs[0] ? floats(outputs[0]) : std::vector<float>();
  }
  Status try_step(const std::vector<session::NamedValue>& inputs) {
    std::vector<ValueRef> outputs(1);
    return session_->run(options_, inputs, {}, outputs);
  }
  session::State& state() { return *options_.state; }
  const session::RunOptions& options() const { return options_; }

 private:
  std::shared_ptr<session::Session> session_;
  session::RunOptions options_;
};

/// Providers round differently.
inline void expect_near(const std::vector<float>& got, const std::vector<float>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-5f) << "element " << i;
}

/// y = relu(next), with next = cache in which `row` is at `index`. `reads_both`: y = cache + next, which needs the old
/// one, too.
inline std::string fixed_cache(bool reads_both) {
  GraphMaker m;
  const auto cache = m.input("cache", GraphMaker::f32({3, 2}));
  const auto index = m.input("index", GraphMaker::i64({1, 1}));
  const auto row = m.input("row", GraphMaker::f32({1, 2}));
  const auto next = m.node("ScatterND", {cache, index, row}, {}, "put");
  m.output(reads_both ? m.node("Add", {cache, next}) : m.node("Relu", {next}), "y", GraphMaker::f32({3, 2}));
  m.output(next, "next", GraphMaker::f32({3, 2}));
  return m.bytes();
}

inline std::vector<session::NamedValue> row_at(int64_t index, std::vector<float> row) {
  return {{"index", i64({1, 1}, {index})}, {"row", f32({1, 2}, row)}};
}

}  // namespace tenon::test
