// A second version of a provider that comes and goes while the process runs.
#pragma once

#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "tests/unit/host/session/session_case.h"

namespace tenon::test {

/// Of the provider `id` as the session uses it.
inline std::string version_in(const session::Session& session, const std::string& id) {
  for (const auto& instance : session.assembly()->selection.instances) {
    if (instance->provider_id() == id) return instance->device().provider()->manifest().version.to_string();
  }
  return "none";
}

/// A folder of providers that goes with the object.
class DropFolder {
 public:
  explicit DropFolder(const std::string& id)
      : path_(std::filesystem::path(testing::TempDir()) /
              ("tenon_drop." + id + "." + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~DropFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  DropFolder(const DropFolder&) = delete;
  DropFolder& operator=(const DropFolder&) = delete;

  std::string path() const { return path_.string(); }
  /// As an installer does it: the files first, the manifest last and by renaming.
  void add(const std::string& name) const { add(name, fakes_dir() + "/next"); }
  void add(const std::string& name, const std::filesystem::path& staged) const {
    std::filesystem::copy(staged / name, path_ / name, std::filesystem::copy_options::recursive);
    std::filesystem::copy_file(staged / (name + ".tenon.json"), path_ / "staged.tmp");
    std::filesystem::rename(path_ / "staged.tmp", path_ / (name + ".tenon.json"));
  }
  void remove(const std::string& name) const { std::filesystem::remove(path_ / (name + ".tenon.json")); }

 private:
  std::filesystem::path path_;
};

/// Sessions take version 99.0.0 of provider `id` as soon as it is there, and the first version again when it is gone;
/// those that run keep theirs; all give the same.
inline void expect_versions_to_come_and_go(const std::string& id, const std::string& bytes,
                                           const std::vector<session::NamedValue>& inputs) {
  const DropFolder folder(id);
  const config::Config config = config_for({folder.path(), providers_dir()}, {id, "cpu"});
  std::vector<float> wanted;
  const auto expect_answer = [&](session::Session& session, const char* when) {
    const std::vector<float> got = floats(run(session, inputs)[0]);
    ASSERT_EQ(got.size(), wanted.size()) << when;
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_LE(std::fabs(got[i] - wanted[i]), 1e-5f * (1 + std::fabs(wanted[i])))
          << when << ", element " << i;
  };
  const auto first = make_session(bytes, config);
  ASSERT_NE(first, nullptr);
  const std::string version = version_in(*first, id);
  EXPECT_NE(version, "99.0.0");
  EXPECT_NE(version, "none");
  wanted = floats(run(*first, inputs)[0]);

  folder.add(id + "-next");
  const auto second = make_session(bytes, config);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(version_in(*second, id), "99.0.0");
  EXPECT_EQ(version_in(*first, id), version);
  expect_answer(*second, "after dropping it in");
  expect_answer(*first, "the session from before");

  folder.remove(id + "-next");
  const auto third = make_session(bytes, config);
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(version_in(*third, id), version);
  expect_answer(*third, "after taking it out");
  expect_answer(*second, "the session that had it");
}

}  // namespace tenon::test
