// An application that stays up while a provider is upgraded and rolled back under it.
//   upgrade_app MODEL PROVIDERS_D STAGED_V1 STAGED_V2: exit 0 when every session ran the version that it
//   should.
#include <cstdio>
#include <filesystem>
#include <string>

#include "tenon/tenon.hpp"

namespace {

namespace fs = std::filesystem;

// An upgrade writes the library first and renames the manifest into place last.
void drop_in(const fs::path& staged, const fs::path& providers_d, const std::string& manifest) {
  for (const auto& entry : fs::directory_iterator(staged))
    if (entry.is_directory())
      fs::copy(entry.path(), providers_d / entry.path().filename(), fs::copy_options::recursive);
  fs::copy_file(staged / "minimal.tenon.json", providers_d / "staged.tmp");
  fs::rename(providers_d / "staged.tmp", providers_d / manifest);
}

float run(tenon::Session& session) {
  auto outputs = session.run({{"x", tenon::Value::tensor<float>({3}, {0.5f, 1.5f, 2.5f})}});
  return outputs[0].value.data<float>()[0];
}

int failures = 0;
void expect(const char* what, float actual, float wanted) {
  std::printf("%-34s %.1f%s\n", what, actual, actual == wanted ? "" : "   WRONG");
  if (actual != wanted) ++failures;
}

int use(const std::string& model, const fs::path& providers_d, const fs::path& v1, const fs::path& v2) {
  tenon::Config config;
  config.set("discovery.search", "[\"" + providers_d.string() + "\"]").set("select.order", "[\"minimal\"]");
  drop_in(v1, providers_d, "minimal-1.tenon.json");
  tenon::Session first(model, config);
  expect("version 1", run(first), 1.5f);

  drop_in(v2, providers_d, "minimal-2.tenon.json");
  tenon::Session second(model, config);
  expect("after dropping in version 2", run(second), 2.5f);
  expect("the session that had version 1", run(first), 1.5f);

  config.set("provider.minimal.version", "\"<2\"");
  tenon::Session pinned(model, config);
  expect("pinned to <2", run(pinned), 1.5f);
  config.set("provider.minimal.version", "\"*\"");

  fs::remove(providers_d / "minimal-2.tenon.json");
  tenon::Session third(model, config);
  expect("after removing version 2", run(third), 1.5f);
  expect("the session that had version 2", run(second), 2.5f);
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 5) {
    std::fprintf(stderr, "usage: upgrade_app MODEL PROVIDERS_D STAGED_V1 STAGED_V2\n");
    return 2;
  }
  return use(argv[1], argv[2], argv[3], argv[4]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
