// Models through islands of the cpu provider, and through its kernels alone.
#pragma once

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
                                     const std::string& what) {
  std::vector<float> first;
  for (const char* threads : {"1", "2", "3", "7", "2"}) {
    const auto session = make_session(bytes, islands_config(true, {std::string("threads.count=") + threads}));
    ASSERT_NE(session, nullptr) << what;
    const std::vector<float> y = floats(run(*session, inputs)[0]);
    if (first.empty()) first = y;
    EXPECT_EQ(y.size(), first.size());
    EXPECT_EQ(std::memcmp(y.data(), first.data(), y.size() * sizeof(float)), 0)
        << what << ", " << threads << " threads";
  }
}

}  // namespace tenon::test
