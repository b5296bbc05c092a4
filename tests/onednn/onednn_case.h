// Models through the oneDNN provider beside the cpu provider.
#pragma once

#include "tests/support/model_case.h"

namespace tenon::test {

/// Whatever the provider can take, it takes: these models are too small to be worth it.
inline config::Config onednn(const std::vector<std::string>& settings = {}) {
  config::Config config = config_for({providers_dir()}, {"onednn", "cpu"});
  std::vector<std::string> all{"provider.onednn.options.claim=all"};
  all.insert(all.end(), settings.begin(), settings.end());
  for (const std::string& setting : all) {
    const Status status = assign(config, setting);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  return config;
}

/// The same through onednn and cpu.
inline void compare(const std::string& bytes, const std::vector<session::NamedValue>& inputs,
                    const config::Config& config, float tolerance, const std::string& what) {
  const auto mine = make_session(bytes, config), cpu = make_session(bytes);
  ASSERT_TRUE(mine != nullptr && cpu != nullptr) << what;
  expect_close(run(*mine, inputs), run(*cpu, inputs), tolerance, what);
}

}  // namespace tenon::test
