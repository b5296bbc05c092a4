// Runs a model on Vulkan and compares it with the cpu provider.
#pragma once

#include <cmath>
#include <random>

#include "tests/support/explained.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {

inline const config::Config& vulkan() {
  static const config::Config config = config_for({providers_dir()}, {"vulkan", "cpu"});
  return config;
}

/// The numbers of nodes of the parts on the provider, in order.
inline std::vector<size_t> parts_of(const session::Session& session) {
  std::vector<size_t> out;
  const auto explanation = explained(session);
  for (const auto& part : explanation["parts"]) {
    EXPECT_EQ(std::string(part["instance"]).substr(0, 7), "vulkan/") << explanation["nodes"].dump();
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

/// Runs a model on both and returns the parts on Vulkan.
inline std::vector<size_t> expect_as_cpu(const std::string& bytes,
                                         const std::vector<session::NamedValue>& inputs,
                                         const std::string& what) {
  const auto mine = make_session(bytes, vulkan()), cpu = make_session(bytes);
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
