#include "host/provider/registry.h"
#include "host/base/sha256.h"
#include "host/provider/open_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "host/provider/machine.h"

#include "tests/unit/host/provider/provider_folder.h"

namespace tenon::provider {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string version_of(const Result<std::shared_ptr<LoadedProvider>>& provider) {
  return provider ? (*provider)->manifest().version.to_string() : provider.status().to_string();
}

TEST(Registry, FindsChecksAndLoadsOnce) {
  ProviderFolder folder;
  folder.add("good");
  ProviderRegistry registry(folder.options());
  EXPECT_THAT(registry.ids(), ElementsAre("good"));
  auto info = registry.find("good", CheckLevel::kScan);
  ASSERT_EQ(info.status().to_string(), "OK");
  EXPECT_TRUE(info->usable());
  EXPECT_EQ(info->state, State::kScanned);
  ASSERT_EQ(info->devices.size(), 1u);
  EXPECT_EQ(info->devices[0].selector(), "other:0");
  EXPECT_EQ(info->devices[0].name, "Nothing");
  auto first = registry.load("good"), second = registry.load("good");
  ASSERT_EQ(first.status().to_string(), "OK");
  EXPECT_EQ(first->get(), second->get());
  EXPECT_EQ((*first)->label(), "good 1.0.0");
  EXPECT_EQ((*first)->state(), State::kActive);
  EXPECT_EQ((*first)->build_id(), "test");
  EXPECT_EQ(registry.find("good")->state, State::kActive);
  EXPECT_EQ(registry.find("good")->generation, (*first)->generation());
}

TEST(Registry, MissingOnesNameTheNearest) {
  ProviderFolder folder;
  folder.add("good");
  ProviderRegistry registry(folder.options());
  Status status = registry.load("goood").status();
  EXPECT_EQ(status.kind(), ErrorKind::kProviderMissing);
  EXPECT_THAT(std::string(status.message()), HasSubstr("did you mean 'good'?"));
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder.providers()));
}

TEST(Registry, TheHighestVersionUnlessPinned) {
  ProviderFolder folder;
  folder.add("good");
  folder.add("good-next");
  ProviderRegistry registry(folder.options());
  EXPECT_EQ(version_of(registry.load("good")), "1.1.0");
  auto infos = registry.list();
  ASSERT_EQ(infos.size(), 2u);
  EXPECT_TRUE(infos[0].chosen) << infos[0].manifest_path << ": good-next sorts before good.tenon.json";
  EXPECT_THAT(infos[1].reason, HasSubstr("a higher version is taken"));
  EXPECT_EQ(infos[1].refusal, Refusal::kNone);

  RegistryOptions options = folder.options();
  options.versions["good"] = "<1.1";
  ProviderRegistry pinned(options);
  EXPECT_EQ(version_of(pinned.load("good")), "1.0.0");
  EXPECT_THAT(pinned.list()[0].reason, HasSubstr("outside the configured range '<1.1'"));
  EXPECT_THAT(version_of(pinned.load("good", ">=2")),
              HasSubstr("installed in version 1.1.0, 1.0.0, which '>=2' excludes"));
}

TEST(Registry, SeveralVersionsSideBySide) {
  ProviderFolder folder;
  folder.add("good");
  folder.add("good-next");
  ProviderRegistry registry(folder.options());
  auto old = registry.load("good", "1.0.0"), now = registry.load("good", "1.1.0");
  ASSERT_EQ(version_of(old), "1.0.0");
  ASSERT_EQ(version_of(now), "1.1.0");
  EXPECT_NE((*old)->generation(), (*now)->generation());
  EXPECT_NE((*old)->api().run, (*now)->api().run);
}

TEST(Registry, ExplicitPlacesWin) {
  ProviderFolder folder, given;
  folder.add("good-next");
  std::string manifest = given.add("good");
  RegistryOptions options = folder.options();
  options.registered = {manifest};
  ProviderRegistry registry(options);
  EXPECT_EQ(version_of(registry.load("good")), "1.0.0");
  EXPECT_THAT(registry.list()[1].reason, HasSubstr("overridden by"));
  EXPECT_THAT(registry.ids(true), ElementsAre("good")) << "the id is installed, whichever build is taken";
}

TEST(Registry, ABadHigherVersionGivesWayAndIsExplained) {
  ProviderFolder folder;
  folder.add("good");
  std::string bad = folder.add("good-next");
  ProviderFolder::edit(bad, "/library/sha256", std::string(64, '0'));
  ProviderRegistry registry(folder.options());
  EXPECT_EQ(version_of(registry.load("good")), "1.0.0");
  auto infos = registry.list();
  EXPECT_EQ(infos[0].refusal, Refusal::kShaMismatch);
  EXPECT_TRUE(infos[1].chosen);
  EXPECT_THAT(infos[1].reason, HasSubstr("used because good 1.1.0"));
  EXPECT_THAT(infos[1].reason, HasSubstr("E_SHA_MISMATCH"));
}

TEST(Registry, AFileBesideTheLibraryIsLookedAtAgain) {
  ProviderFolder folder;
  const std::string manifest = folder.add("good");
  folder.write("providers.d/table", "abc");
  ProviderFolder::edit(
      manifest, "/files",
      nlohmann::json::array({{{"path", "table"}, {"size", 3}, {"sha256", sha256_of("abc")}}}));
  const auto load = [&] { return ProviderRegistry(folder.options()).load("good"); };
  EXPECT_EQ(version_of(load()), "1.0.0");
  folder.write("providers.d/table", "abd");
  EXPECT_EQ(load().status().refusal(), "E_SHA_MISMATCH");
  folder.write("providers.d/table", "abc");
  EXPECT_EQ(version_of(load()), "1.0.0");
}

TEST(Registry, DropsAndRemovalsOfARunningProcess) {
  ProviderFolder folder;
  folder.add("good");
  const auto load = [&] { return ProviderRegistry(folder.options()).load("good"); };
  const auto states = [&] {
    std::vector<State> out;
    for (const ProviderInfo& info : ProviderRegistry(folder.options()).list(CheckLevel::kScan))
      out.push_back(info.state);
    return out;
  };
  auto old = load();
  ASSERT_EQ(version_of(old), "1.0.0");
  EXPECT_THAT(states(), ElementsAre(State::kActive));
  std::string dropped = folder.add("good-next");
  auto now = load();
  EXPECT_EQ(version_of(now), "1.1.0");
  EXPECT_THAT(states(), ElementsAre(State::kActive, State::kDraining)) << "the higher version comes first";
  EXPECT_EQ((*old)->devices().value_or(std::vector<DeviceInfo>()).size(), 1u)
      << "who has the old one keeps using it";
  std::filesystem::remove(dropped);
  EXPECT_THAT(states(), ElementsAre(State::kActive));
  EXPECT_EQ(load()->get(), old->get());
}

TEST(Registry, UnloadableOnesAreUnmappedOthersRetire) {
  ProviderFolder folder;
  std::string loose = folder.add("good");
  ProviderFolder::edit(loose, "/traits", {{"unloadable", true}});
  folder.add("good-next");
  ProviderRegistry registry(folder.options());
  uint64_t generation = (*registry.load("good", "1.0.0"))->generation();
  EXPECT_EQ(version_of(registry.load("good", "1.1.0")), "1.1.0");
  auto infos = registry.list();
  EXPECT_EQ(infos[0].state, State::kRetired);
  EXPECT_EQ(infos[1].state, State::kClosed);
  auto again = registry.load("good", "1.0.0");
  ASSERT_EQ(version_of(again), "1.0.0");
  EXPECT_EQ((*again)->generation(), generation);
}

TEST(Registry, ALibraryReplacedAtItsPathIsTakenForTheOldOneOnlyIfItIsTheSame) {
  ProviderFolder folder;
  std::string manifest = folder.add("good");
  const auto load = [&] { return ProviderRegistry(folder.options()).load("good"); };
  auto old = load();
  ASSERT_TRUE(old.ok());
  const uint64_t generation = (*old)->generation();
  const std::string library = ProviderFolder::library_of(manifest);
  const auto replace = [&](std::string_view appended) {
    std::filesystem::copy_file(library, library + ".new");
    std::ofstream(library + ".new", std::ios::binary | std::ios::app) << appended;
    std::filesystem::rename(library + ".new", library);
    ProviderFolder::rehash(manifest);
  };
  for (int again = 0; again < 2; ++again) {
    replace("");
    auto now = load();
    ASSERT_EQ(version_of(now), "1.0.0");
    EXPECT_EQ(now->get(), old->get());
    EXPECT_EQ(ProviderRegistry(folder.options()).find("good", CheckLevel::kFiles)->generation, generation);
  }
  replace("built again");
  EXPECT_EQ(load().status().refusal(), "E_LOAD");
  EXPECT_THAT(load().status().to_string(), HasSubstr("a path of its own"));
}

TEST(Registry, TheSameLibraryBesideAnotherFileIsAnotherBuild) {
  ProviderFolder folder;
  std::string manifest = folder.add("good");
  const auto write_table = [&](const std::string& text) {
    folder.write("providers.d/table", text);
    ProviderFolder::edit(
        manifest, "/files",
        nlohmann::json::array({{{"path", "table"}, {"size", 3}, {"sha256", sha256_of(text)}}}));
  };
  const auto load = [&] { return ProviderRegistry(folder.options()).load("good"); };
  write_table("abc");
  auto old = load();
  ASSERT_EQ(version_of(old), "1.0.0");
  write_table("abd");
  const std::string library = ProviderFolder::library_of(manifest);
  std::filesystem::copy_file(library, library + ".new");
  std::filesystem::rename(library + ".new", library);
  EXPECT_EQ(load().status().refusal(), "E_LOAD");
}

TEST(Registry, DevicesAreOpenedOnceAndCounted) {
  ProviderFolder folder;
  folder.add("good");
  ProviderRegistry registry(folder.options());
  auto provider = registry.load("good");
  ASSERT_TRUE(provider.ok());
  auto first = (*provider)->open_device("other:0");
  ASSERT_EQ(first.status().to_string(), "OK");
  for (const char* selector : {"", "other", "first"})
    EXPECT_EQ((*provider)->open_device(selector)->get(), first->get());
  Status status = (*provider)->open_device("gpu:3").status();
  EXPECT_EQ(status.kind(), ErrorKind::kProviderMissing);
  EXPECT_THAT(status.to_string(), HasSubstr("it has: other:0 (Nothing)"));
  provider->reset();
  EXPECT_EQ((*first)->provider()->state(), State::kActive) << "a device keeps its provider";
}

TEST(Registry, RegisteredInCodeGoesThroughTheSameChecks) {
  ProviderFolder folder, given;
  folder.add("good");
  std::string bad = given.add("null_slot");
  EXPECT_EQ(check_registered_path("/nonexistent").kind(), ErrorKind::kProviderMissing);
  ASSERT_TRUE(check_registered_path(bad).ok());
  RegistryOptions options = folder.options();
  options.registered = {bad};
  ProviderRegistry registry(options);
  EXPECT_EQ(registry.load("null_slot").status().refusal(), "E_SLOT_MISSING");
  EXPECT_THAT(registry.ids(true), ElementsAre("good")) << "what is only registered must be named";
}

TEST(Registry, PriorityOrdersTheAutomaticChoice) {
  ProviderFolder folder;
  folder.add("good");
  std::string other = folder.add("no_device");
  ProviderFolder::edit(other, "/priority", 10);
  ProviderRegistry registry(folder.options());
  EXPECT_THAT(registry.ids(true), ElementsAre("no_device", "good"));
}

TEST(Registry, AFolderWithoutManifestsTellsOfProvidersDBelow) {
  ProviderFolder folder;
  folder.add("good");
  RegistryOptions options = folder.options();
  options.system_dirs = std::vector<std::string>{};
  options.discovery.search = {folder.path()};
  ProviderRegistry registry(options);
  EXPECT_TRUE(registry.list().empty()) << "no folder is searched below";
  EXPECT_THAT(registry.notices(),
              ElementsAre(HasSubstr("holds no manifest; name '" + folder.providers() + "'")));
  options.discovery.search = {folder.providers()};
  ProviderRegistry right(options);
  EXPECT_EQ(right.list().size(), 1u);
  EXPECT_TRUE(right.notices().empty());
}

TEST(Registry, EnvironmentReplacesAndAdds) {
  ProviderFolder folder, named;
  folder.add("good");
  std::string manifest = named.add("good-next");
  RegistryOptions options = folder.options();
  options.environment = true;
  setenv("TENON_ADD_PROVIDER_FILES", ("relative.tenon.json:" + manifest).c_str(), 1);
  {
    ProviderRegistry registry(options);
    EXPECT_EQ(registry.list().size(), 2u);
    EXPECT_EQ(registry.find("good")->place, Place::kEnvAddFiles);
    ASSERT_FALSE(registry.notices().empty());
    EXPECT_THAT(registry.notices()[0], HasSubstr("not an absolute path"));
  }
  unsetenv("TENON_ADD_PROVIDER_FILES");
  setenv("TENON_PROVIDER_FILES", named.providers().c_str(), 1);
  {
    ProviderRegistry registry(options);
    EXPECT_EQ(registry.list().size(), 1u) << "the fixed places are replaced";
    EXPECT_THAT(registry.ids(true), ElementsAre("good"));
  }
  unsetenv("TENON_PROVIDER_FILES");
}

TEST(Registry, KnownProvidersForTheConfig) {
  ProviderFolder folder;
  std::string manifest = folder.add("good");
  ProviderFolder::edit(manifest, "/options", {{{"name", "level"}, {"type", "int"}}});
  ProviderRegistry registry(folder.options());
  config::Config config;
  ASSERT_TRUE(
      config.apply_toml("[select]\norder = [\"good\"]\n[provider.good.options]\nlevl = 1", "t.toml").ok());
  auto known = registry.known();
  EXPECT_THAT(config.check_providers(known.providers).to_string(),
              HasSubstr("t.toml:4: unknown option 'provider.good.options.levl' (did you mean "
                        "'provider.good.options.level'?)"));
  RegistryOptions options = RegistryOptions::from_config(config, nullptr);
  EXPECT_EQ(options.discovery.allow, std::vector<std::string>{"*"});
}

TEST(Registry, TheScanIsRememberedBetweenProcesses) {
  ProviderFolder folder;
  folder.add("good");
  RegistryOptions options = folder.options();
  ASSERT_TRUE(ProviderRegistry(options).find("good", CheckLevel::kScan).ok());
  size_t kept = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder.state() + "/scan"))
    kept += file.is_regular_file();
  EXPECT_EQ(kept, 1u);
  auto again = ProviderRegistry(options).find("good", CheckLevel::kScan);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->devices.size(), 1u);
}

TEST(Registry, AKeptScanIsNotUsedWhereThingsChanged) {
  ProviderFolder folder;
  const std::string manifest = folder.add("good");
  RegistryOptions options = folder.options();
  const auto kept = [&] {
    EXPECT_TRUE(ProviderRegistry(options).find("good", CheckLevel::kScan).ok());
    const std::filesystem::directory_iterator all(folder.state() + "/scan");
    return std::distance(begin(all), end(all));
  };
  EXPECT_EQ(kept(), 1);
  EXPECT_EQ(kept(), 1);
  // Where the loader looks for a library that the provider needs, there is another one now.
  ProviderFolder::edit(manifest, "/requires", {{"sonames", {"libm.so.6"}}});
  EXPECT_EQ(kept(), 2);
  const std::string place = folder.path() + "/libraries";
  std::filesystem::create_directory(place);
  setenv("LD_LIBRARY_PATH", place.c_str(), 1);
  EXPECT_EQ(kept(), 3);
  EXPECT_EQ(kept(), 3);
  std::filesystem::copy_file("/lib/" + std::string(host_arch()) + "-linux-gnu/libm.so.6",
                             place + "/libm.so.6");
  EXPECT_EQ(kept(), 4);
  unsetenv("LD_LIBRARY_PATH");
}

TEST(Registry, AScanAfreshDoesNotLookAtWhatIsKept) {
  ProviderFolder folder;
  folder.add("good");
  RegistryOptions options = folder.options();
  const pid_t child = fork();  // what this process has scanned it would know without a file
  if (child == 0) _exit(ProviderRegistry(options).find("good", CheckLevel::kScan).ok() ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  for (const auto& file : std::filesystem::directory_iterator(folder.state() + "/scan")) {
    std::ifstream in(file.path());
    std::string text((std::istreambuf_iterator<char>(in)), {});
    const size_t at = text.find("Nothing");
    ASSERT_NE(at, std::string::npos);
    text.replace(at, 7, "Written");
    std::ofstream(file.path()) << text;
  }
  EXPECT_EQ(ProviderRegistry(options).find("good", CheckLevel::kScan)->devices[0].name, "Written");
  options.scan_afresh = true;
  EXPECT_EQ(ProviderRegistry(options).find("good", CheckLevel::kScan)->devices[0].name, "Nothing");
  options.scan_afresh = false;
  EXPECT_EQ(ProviderRegistry(options).find("good", CheckLevel::kScan)->devices[0].name, "Nothing")
      << "kept again";
  std::filesystem::remove_all(folder.state());
  EXPECT_EQ(ProviderRegistry(options).find("good", CheckLevel::kScan)->devices[0].name, "Nothing");
  EXPECT_FALSE(std::filesystem::exists(folder.state() + "/scan")) << "scanned again by the same process";
}

/// Bytes that this process has read so far.
uint64_t bytes_read() {
  std::ifstream in("/proc/self/io");
  std::string name;
  uint64_t bytes = 0;
  in >> name >> bytes;
  return bytes;
}

TEST(Registry, AFileThatDidNotChangeIsReadOnce) {
  ProviderFolder folder;
  const std::string library = ProviderFolder::library_of(folder.add("good"));
  const uint64_t size = std::filesystem::file_size(library);
  const auto reads = [&] {
    const uint64_t before = bytes_read();
    EXPECT_TRUE(ProviderRegistry(folder.options()).find("good", CheckLevel::kFiles).ok());
    return bytes_read() - before;
  };
  EXPECT_GE(reads(), size);
  EXPECT_GE(reads(), size) << "just written: a change within the same tick of the clock would not show";
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_GE(reads(), size);
  EXPECT_LT(reads(), size / 2);
  // The same size and the same time of modification.
  const auto time = std::filesystem::last_write_time(library);
  {
    std::fstream file(library, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size) - 1);
    file.put('x');
  }
  std::filesystem::last_write_time(library, time);
  EXPECT_EQ(ProviderRegistry(folder.options()).find("good", CheckLevel::kFiles).status().refusal(),
            "E_SHA_MISMATCH");
}

TEST(Registry, WhatALibraryStartsInTheScanEndsWithIt) {
  ProviderFolder folder;
  folder.add("leaves_child");
  ProviderRegistry registry(folder.options());
  auto found = registry.find("leaves_child", CheckLevel::kScan);
  ASSERT_EQ(found.status().to_string(), "OK");
  const std::string& process = found->devices[0].name;
  ASSERT_GT(std::stoi(process), 1);
  // Gone, or a zombie whose new parent has not looked yet.
  std::string state = "Z";
  for (int i = 0; i < 100; ++i) {
    std::ifstream stat("/proc/" + process + "/stat");
    std::string word;
    if (!(stat >> word >> word >> state) || state == "Z") return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << "process " << process << " lives on in state " << state;
}

TEST(Registry, ManyThreadsLoadAndDrop) {
  ProviderFolder folder;
  std::string loose = folder.add("good");
  ProviderFolder::edit(loose, "/traits", {{"unloadable", true}});
  ProviderRegistry registry(folder.options());
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 50; ++n) {
        auto provider = registry.load("good");
        if (!provider || !(*provider)->open_device("").ok()) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace tenon::provider
