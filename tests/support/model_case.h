// Models made by hand, their sessions and results, for tests that compare providers.
#pragma once

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "host/session/describe.h"
#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {

using Id = GraphMaker::Id;

inline std::vector<float> noise(std::mt19937& random, int64_t n, float scale = 1) {
  std::uniform_real_distribution<float> draw(-scale, scale);
  std::vector<float> out(static_cast<size_t>(n));
  for (float& x : out) x = draw(random);
  return out;
}

inline int64_t count(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

inline size_t parts_of(const session::Session& session, const std::string& provider) {
  size_t n = 0;
  const auto json = explained(session);
  for (const auto& part : json["parts"]) {
    n += part["instance"].get<std::string>().starts_with(provider + "/") ? 1 : 0;
  }
  return n;
}
inline size_t nodes_on(const session::Session& session, const std::string& provider) {
  size_t n = 0;
  const auto json = explained(session);
  for (const auto& node : json["nodes"]) n += node["provider"] == provider ? 1 : 0;
  return n;
}

inline void expect_close(const std::vector<ValueRef>& got, const std::vector<ValueRef>& wanted,
                         float tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t o = 0; o < got.size(); ++o) {
    ASSERT_EQ(dims(got[o]), dims(wanted[o])) << what;
    const std::vector<float> a = floats(got[o]), e = floats(wanted[o]);
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(a[i]) && std::isnan(e[i])) continue;
      if (a[i] == e[i]) continue;  // infinities
      ASSERT_LE(std::fabs(a[i] - e[i]), tolerance * (1 + std::fabs(e[i]))) << what << ", element " << i;
    }
  }
}

inline Id conv(GraphMaker& m, std::mt19937& random, Id x, int64_t in, int64_t out, int64_t kernel,
               int64_t group = 1) {
  const std::string name = "w" + std::to_string(m.graph.node_count());
  const std::vector<int64_t> dims{out, in / group, kernel, kernel};
  const Id w =
      m.constant(name, dims, noise(random, count(dims), 1.0f / std::sqrt(static_cast<float>(in * kernel))));
  const Id b = m.constant(name + "b", {out}, noise(random, out));
  const int64_t pad = kernel / 2;
  return m.node(
      "Conv", {x, w, b},
      {ir::Attribute::of_ints("kernel_shape", {kernel, kernel}),
       ir::Attribute::of_ints("pads", {pad, pad, pad, pad}), ir::Attribute::of_int("group", group)});
}

inline ValueRef image(std::mt19937& random, const std::vector<int64_t>& dims) {
  return f32(dims, noise(random, count(dims)));
}

}  // namespace tenon::test
