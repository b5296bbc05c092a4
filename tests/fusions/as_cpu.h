// Runs a model on a provider that fuses nodes, and compares it with the cpu provider. The tests of this folder run once for each such
// provider: TENON_TEST_PROVIDER is its id (tests/CMakeLists.txt).
#pragma once

#include <cmath>
#include <cstdlib>
#include <map>
#include <random>

#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {

/// The provider under test.
inline const std::string& provider() {
  static const std::string id = [] {
    const char* given = std::getenv("TENON_TEST_PROVIDER");
    return std::string(given == nullptr ? "vulkan" : given);
  }();
  return id;
}

/// What one launch of the provider computes of a chain.
struct ChainLimits {
  size_t operands, steps;
  bool mixes_types;  // and casts are nodes of chains
};
inline const ChainLimits& limits() {
  static const std::map<std::string, ChainLimits> all{{"vulkan", {4, 8, false}}, {"cuda", {8, 32, true}}};
  return all.at(provider());
}

inline const config::Config& mine_then_cpu() {
  static const config::Config config = config_for({providers_dir()}, {provider(), "cpu"});
  return config;
}

/// The numbers of nodes of the parts on the provider, in order.
inline std::vector<size_t> parts_of(const session::Session& session) {
  std::vector<size_t> out;
  const auto explanation = explained(session);
  for (const auto& part : explanation["parts"]) {
    EXPECT_TRUE(std::string(part["instance"]).starts_with(provider() + "/")) << explanation["nodes"].dump();
    out.push_back(part["nodes"]);
  }
  return out;
}

inline void expect_close(const std::vector<float>& got, const std::vector<float>& wanted,
                         const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(wanted[i])) continue;
    if (got[i] == wanted[i]) continue;  // infinities
    ASSERT_LE(std::fabs(got[i] - wanted[i]), 2e-5f * (1 + std::fabs(wanted[i])))
        << what << ", element " << i << ": " << got[i] << " instead of " << wanted[i];
  }
}

/// Runs a model on both and returns the parts on the provider.
inline std::vector<size_t> expect_as_cpu(const std::string& bytes,
                                         const std::vector<session::NamedValue>& inputs,
                                         const std::string& what) {
  const auto mine = make_session(bytes, mine_then_cpu()), cpu = make_session(bytes);
  if (mine == nullptr || cpu == nullptr) return {};
  const auto got = run(*mine, inputs), wanted = run(*cpu, inputs);
  EXPECT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(dims(got[i]), dims(wanted[i])) << what;
    expect_close(floats(got[i]), floats(wanted[i]), what);
  }
  return parts_of(*mine);
}

}  // namespace tenon::test
