// Where settings come from: files, variables, --set and the API, and which of them wins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "host/config/config.h"
#include "tests/unit/host/config/message_of.h"

namespace tenon::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Config, LayersAndOrigins) {
  Config config;
  ASSERT_TRUE(
      config.apply_toml("[threads]\ncount = 1\n[shapes]\nkeep = 2", "system.toml", Layer::kSystem).ok());
  ASSERT_TRUE(config.apply_toml("[threads]\ncount = 2", "file.toml", Layer::kFile).ok());
  ASSERT_TRUE(config.set("threads.count", "3").ok());
  EXPECT_EQ(config->threads.count, 3);
  EXPECT_EQ(config.find("threads.count")->origin(), "--set");
  EXPECT_EQ(config.find("threads.count")->layer, Layer::kApi);
  EXPECT_EQ(config.find("shapes.keep")->origin(), "system.toml:4");
  EXPECT_EQ(config.find("select.order")->origin(), "built-in");
  ASSERT_TRUE(config.apply_toml("[threads]\ncount = 9", "late.toml", Layer::kUser).ok());
  EXPECT_EQ(config->threads.count, 3) << "a weaker layer that comes later does not win";
}

TEST(Config, SetTakesTomlAndPlainWords) {
  Config config;
  ASSERT_TRUE(config.set("select.order", "[\"opencl\",\"cpu\"]").ok());
  EXPECT_THAT(config->select.order, ElementsAre("opencl", "cpu"));
  ASSERT_TRUE(config.set("select.order", "opencl/gpu:0, cpu").ok());
  EXPECT_THAT(config->select.order, ElementsAre("opencl/gpu:0", "cpu"));
  ASSERT_TRUE(config.set("select.order", "cpu").ok());
  EXPECT_THAT(config->select.order, ElementsAre("cpu"));
  ASSERT_TRUE(config.set("select.order", "auto").ok());
  EXPECT_TRUE(config->select.automatic);
  ASSERT_TRUE(config.set("select.fallback", "next").ok());
  EXPECT_EQ(config->select.fallback, OnFailure::kNext);
  ASSERT_TRUE(config.set("provider.cuda.version", ">=1.2, <2").ok());
  EXPECT_EQ(config.provider("cuda").version, ">=1.2, <2");
  ASSERT_TRUE(config.set("provider.cuda.version", "1.2").ok());
  EXPECT_EQ(config.provider("cuda").version, "1.2");
  ASSERT_TRUE(config.set("provider.cuda.options.gemm.algo", "7").ok());
  EXPECT_EQ(config.provider("cuda").options[0].first, "gemm.algo");
  ASSERT_TRUE(config.set("memory.host_limit", "2GiB").ok());
  EXPECT_EQ(config->memory.host_limit, uint64_t{2} << 30);
  ASSERT_TRUE(config.set("memory.host_limit", "4096").ok());
  EXPECT_EQ(config->memory.host_limit, 4096u);
  ASSERT_TRUE(config.set("placement", "[{match={op=[\"Conv\"]}, provider=\"cpu\"}]").ok());
  EXPECT_EQ(config->placement.size(), 1u);
}

TEST(Config, SetComplains) {
  Config config;
  EXPECT_THAT(message_of(config.set("thread.count", "1")),
              HasSubstr("--set: unknown key 'thread' (did you mean 'threads'?)"));
  EXPECT_THAT(message_of(config.set("threads.count", "many")),
              HasSubstr("--set: 'threads.count' must be an integer"));
  EXPECT_THAT(message_of(config.set("", "1")), HasSubstr("key is empty"));
  EXPECT_THAT(message_of(config.set("threads.count", "1\nselect.order = 2")),
              HasSubstr("must be an integer"));
  EXPECT_FALSE(config.set("threads..count", "1").ok());
}

class ConfigFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "tenon_config_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_ + "/user/tenon");
    setenv("XDG_CONFIG_HOME", (folder_ + "/user").c_str(), 1);
    options_.system_path = folder_ + "/system.toml";
  }
  void TearDown() override {
    for (const char* name :
         {"XDG_CONFIG_HOME", "TENON_CONFIG", "TENON_THREADS_COUNT", "TENON_PROVIDERS_SELECT",
          "TENON_PROVIDERS_DISABLE", "TENON_DISCOVERY_DENY", "TENON_THREADS_CUONT", "TENON_CPU_ISA"}) {
      unsetenv(name);
    }
    std::filesystem::remove_all(folder_);
  }
  std::string write(const std::string& name, std::string_view text) {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }

  std::string folder_;
  LoadOptions options_;
};

TEST_F(ConfigFiles, LayersOfAProcess) {
  write("system.toml",
        "[threads]\ncount = 1\n[shapes]\nkeep = 1\n[limits]\ngraph_depth = 1\n[upgrade]\nmode = \"pin\"");
  write("user/tenon/config.toml", "[threads]\ncount = 2\n[shapes]\nkeep = 2\n[limits]\ngraph_depth = 2");
  setenv("TENON_CONFIG", write("file.toml", "[threads]\ncount = 3\n[shapes]\nkeep = 3").c_str(), 1);
  setenv("TENON_THREADS_COUNT", "4", 1);
  setenv("TENON_PROVIDERS_SELECT", "cpu,opencl", 1);
  setenv("TENON_PROVIDERS_DISABLE", "cuda*", 1);
  Result<Config> config = Config::load(options_);
  ASSERT_EQ(config.status().to_string(), "OK");
  EXPECT_EQ((*config)->threads.count, 4);
  EXPECT_EQ((*config)->shapes.keep, 3);
  EXPECT_EQ((*config)->limits.graph_depth, 2);
  EXPECT_EQ((*config)->upgrade, UpgradeMode::kPin);
  EXPECT_THAT((*config)->discovery.allow, ElementsAre("cpu", "opencl"));
  EXPECT_THAT((*config)->discovery.deny, ElementsAre("cuda*"));
  EXPECT_EQ(config->find("threads.count")->origin(), "environment variable TENON_THREADS_COUNT");
  options_.file = write("named.json", "{\"shapes\": {\"keep\": 7}}");
  config = Config::load(options_);
  ASSERT_EQ(config.status().to_string(), "OK");
  EXPECT_EQ((*config)->shapes.keep, 7) << "the application's file replaces TENON_CONFIG";
}

TEST_F(ConfigFiles, NamedFilesMustExistAndVariablesBeRight) {
  options_.file = folder_ + "/none.toml";
  EXPECT_THAT(message_of(Config::load(options_).status()), HasSubstr("none.toml' does not exist"));
  options_.file.clear();
  setenv("TENON_THREADS_COUNT", "few", 1);
  EXPECT_THAT(message_of(Config::load(options_).status()),
              HasSubstr("environment variable TENON_THREADS_COUNT: 'threads.count' must be an integer"));
}

TEST_F(ConfigFiles, TwoVariablesOfOneKeyAreAnError) {
  setenv("TENON_PROVIDERS_DISABLE", "cuda", 1);
  setenv("TENON_DISCOVERY_DENY", "cpu", 1);
  EXPECT_THAT(message_of(Config::load(options_).status()),
              HasSubstr("environment variable TENON_PROVIDERS_DISABLE: 'discovery.deny' is given by "
                        "TENON_DISCOVERY_DENY too"));
}

TEST_F(ConfigFiles, VariablesThatNothingReadsAreTold) {
  setenv("TENON_THREADS_CUONT", "4", 1);
  setenv("TENON_THREADS_COUNT", "4", 1);
  setenv("TENON_CPU_ISA", "generic", 1);
  const auto told = [](const std::vector<std::string>& ids) {
    std::string out;
    for (const std::string& line : unknown_variables(ids)) out += line + "\n";
    return out;
  };
  EXPECT_THAT(told({"cpu"}),
              HasSubstr("TENON_THREADS_CUONT has no effect: there is no such key (did you mean "
                        "TENON_THREADS_COUNT?)"));
  EXPECT_THAT(told({"cpu"}), Not(HasSubstr("variable TENON_THREADS_COUNT")));
  EXPECT_THAT(told({"cpu"}), Not(HasSubstr("TENON_CPU_ISA"))) << "it is the provider's";
  EXPECT_THAT(told({}), HasSubstr("TENON_CPU_ISA"));
}

}  // namespace
}  // namespace tenon::config
