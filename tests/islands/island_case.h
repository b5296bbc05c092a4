// Models through islands of the cpu provider, and through its kernels alone.
#pragma once

#include <cstdlib>
#include <cstring>

#include "tests/support/model_case.h"

namespace tenon::test {

inline config::Config islands_config(bool on, const std::vector<std::string>& settings = {}) {
  config::Config config = config_for({providers_dir()}, {"cpu"});
  std::vector<std::string> all{std::string("provider.cpu.options.islands=") + (on ? "on" : "off")};
  all.insert(all.end(), settings.begin(), settings.end());
  for (const std::string& setting : all) {
    const Status status = assign(config, setting);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  return config;
}

/// Whether the cpu provider computes in bfloat16 here.
inline bool has_bfloat16() {
#if defined(__x86_64__)
  const char* isa = std::getenv("TENON_CPU_ISA");
  return (isa == nullptr || std::string(isa) == "avx512_bf16") && __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

/// With precision.default = "bf16" results are near those of float32, and the same only if the processor has no bfloat16.
inline void compare_bfloat16(const std::string& bytes, const std::vector<session::NamedValue>& inputs,
                             bool changes, const std::string& what) {
  const auto low = make_session(bytes, islands_config(true, {"precision.default=bf16"})),
             exact = make_session(bytes, islands_config(true));
  ASSERT_TRUE(low != nullptr && exact != nullptr) << what;
  const std::vector<ValueRef> got = run(*low, inputs), wanted = run(*exact, inputs);
  expect_close(got, wanted, 2e-2f, what);
  const bool same = std::equal(got.begin(), got.end(), wanted.begin(), [](const auto& a, const auto& b) {
    const std::vector<float> x = floats(a), y = floats(b);
    return x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  });
  if (changes || !has_bfloat16()) {
    EXPECT_EQ(same, !has_bfloat16()) << what;
  }
}

/// The number of nodes of the largest part.
inline size_t largest_part(const session::Session& session) {
  size_t most = 0;
  const auto json = explained(session);
  for (const auto& part : json["parts"]) most = std::max(most, part["nodes"].get<size_t>());
  return most;
}

/// The model gives the same with islands and without.
inline void compare_islands(const std::string& bytes, const std::vector<session::NamedValue>& inputs,
                            float tolerance, const std::string& what) {
  const auto with = make_session(bytes, islands_config(true)),
             without = make_session(bytes, islands_config(false));
  ASSERT_TRUE(with != nullptr && without != nullptr) << what;
  expect_close(run(*with, inputs), run(*without, inputs), tolerance, what);
}

/// The first output has the same bits with any number of threads.
inline void expect_same_with_threads(const std::string& bytes, const std::vector<session::NamedValue>& inputs,
                                     const std::string& what, const std::vector<std::string>& settings = {}) {
  std::vector<float> first;
  for (const char* threads : {"1", "2", "3", "7", "2"}) {
    std::vector<std::string> all{std::string("threads.count=") + threads};
    all.insert(all.end(), settings.begin(), settings.end());
    const auto session = make_session(bytes, islands_config(true, all));
    ASSERT_NE(session, nullptr) << what;
    const std::vector<float> y = floats(run(*session, inputs)[0]);
    if (first.empty()) first = y;
    EXPECT_EQ(y.size(), first.size());
    EXPECT_EQ(std::memcmp(y.data(), first.data(), y.size() * sizeof(float)), 0)
        << what << ", " << threads << " threads";
  }
}

}  // namespace tenon::test
