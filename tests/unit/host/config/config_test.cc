#include "host/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "host/config/read.h"
#include "host/config/schema.h"

namespace tenon::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string message_of(const Status& status) { return std::string(status.message()); }

std::string error_of(std::string_view toml) {
  Config config;
  Status status = config.apply_toml(toml, "t.toml");
  EXPECT_FALSE(status.ok()) << toml;
  EXPECT_EQ(status.kind(), ErrorKind::kConfig);
  return message_of(status);
}

constexpr std::string_view kEverything = R"(schema = 1
[discovery]
search = ["/opt/acme/tenon"]
allow = ["c*"]
deny = ["cursed"]
trust = "owner"
scan = "off"
scan_timeout = 3
user = true
[select]
order = ["cuda/gpu:0", "onednn", "cpu"]
fallback = "next"
on_declined = "error"
on_compile_failed = "error"
partition = "order"
[provider.cuda]
version = ">=1.2, <2"
devices = ["gpu:0"]
isolation = "inproc"
on_lost = "restart"
[provider.cuda.options]
tf32 = false
workspace = "64MiB"
[[placement]]
match = { op = ["NonMaxSuppression"] }
provider = "cpu"
[[placement]]
match = { node = "/encoder/.*", model = "bert*" }
provider = "cuda"
required = true
[shapes]
keep = 4
input = [[1,128],[8,128]]
[memory]
host_limit = "4GiB"
device_limit = 1024
[threads]
count = 3
[precision]
default = "bf16"
widen = true
deterministic = true
[limits]
model_bytes = "1GB"
graph_depth = 5
fold_bytes = "1.5MiB"
external_data = "deny"
map_weights = false
[transforms]
disable = ["*"]
[upgrade]
mode = "pin"
[profiling]
file = "trace-{pid}.json"
)";

void expect_everything(const Settings& s) {
  EXPECT_THAT(s.discovery.search, ElementsAre("/opt/acme/tenon"));
  EXPECT_THAT(s.discovery.allow, ElementsAre("c*"));
  EXPECT_THAT(s.discovery.deny, ElementsAre("cursed"));
  EXPECT_EQ(s.discovery.trust, Trust::kOwner);
  EXPECT_EQ(s.discovery.scan, Scan::kOff);
  EXPECT_EQ(s.discovery.scan_timeout, 3);
  EXPECT_TRUE(s.discovery.user);
  EXPECT_FALSE(s.select.automatic);
  EXPECT_THAT(s.select.order, ElementsAre("cuda/gpu:0", "onednn", "cpu"));
  EXPECT_EQ(s.select.fallback, OnFailure::kNext);
  EXPECT_EQ(s.select.on_declined, OnFailure::kError);
  EXPECT_EQ(s.select.on_compile_failed, OnFailure::kError);
  const ProviderSettings& cuda = s.providers.at("cuda");
  EXPECT_EQ(cuda.version, ">=1.2, <2");
  EXPECT_THAT(cuda.devices, ElementsAre("gpu:0"));
  EXPECT_EQ(cuda.on_lost, OnLost::kRestart);
  ASSERT_EQ(cuda.options.size(), 2u);
  EXPECT_EQ(cuda.options[0].first, "tf32");
  ASSERT_EQ(s.placement.size(), 2u);
  EXPECT_THAT(s.placement[0].ops, ElementsAre("NonMaxSuppression"));
  EXPECT_EQ(s.placement[1].node, "/encoder/.*");
  EXPECT_TRUE(s.placement[1].required);
  EXPECT_EQ(s.shapes.keep, 4);
  EXPECT_THAT(s.shapes.input.at(""), ElementsAre(ElementsAre(1, 128), ElementsAre(8, 128)));
  EXPECT_EQ(s.memory.host_limit, uint64_t{4} << 30);
  EXPECT_EQ(s.memory.device_limit, 1024u);
  EXPECT_EQ(s.threads.count, 3);
  EXPECT_EQ(s.precision, Precision::kBf16);
  EXPECT_TRUE(s.widen);
  EXPECT_TRUE(s.deterministic);
  EXPECT_EQ(s.limits.model_bytes, 1000000000u);
  EXPECT_EQ(s.limits.graph_depth, 5);
  EXPECT_EQ(s.limits.fold_bytes, 1572864u);
  EXPECT_EQ(s.limits.external_data, ExternalData::kDeny);
  EXPECT_FALSE(s.limits.map_weights);
  EXPECT_THAT(s.transforms.disable, ElementsAre("*"));
  EXPECT_EQ(s.upgrade, UpgradeMode::kPin);
  EXPECT_EQ(s.profiling_file, "trace-{pid}.json");
}

TEST(Config, BuiltInValues) {
  Config config;
  EXPECT_TRUE(config->select.automatic);
  EXPECT_EQ(config->discovery.trust, Trust::kHash);
  EXPECT_EQ(config->discovery.scan, Scan::kOn);
  EXPECT_EQ(config->shapes.keep, 8);
  EXPECT_EQ(config->limits.model_bytes, uint64_t{8} << 30);
  EXPECT_EQ(config->limits.graph_depth, 32);
  EXPECT_EQ(config->memory.host_limit, 0u);
  EXPECT_TRUE(config->limits.map_weights);
  EXPECT_TRUE(config.provider("whatever").version.empty());
}

TEST(Config, EveryBuiltInDefaultPassesItsOwnCheck) {
  for (const KeySpec& spec : schema()) {
    if (spec.default_toml.empty()) continue;
    std::vector<std::string> errors;
    Result<Value> root = read_toml("v = " + std::string(spec.default_toml), "built-in");
    ASSERT_TRUE(root.ok()) << spec.key;
    check_value(spec, spec.key, (*root->as_table())[0].second, errors);
    EXPECT_TRUE(errors.empty()) << errors.front();
  }
}

TEST(Config, ReadsEveryKey) {
  Config config;
  ASSERT_EQ(config.apply_toml(kEverything, "t.toml").to_string(), "OK");
  expect_everything(config.settings());
}

TEST(Config, ItsOwnTextGivesTheSameSettings) {
  Config first, second;
  ASSERT_TRUE(first.apply_toml(kEverything, "t.toml").ok());
  std::string text = first.to_toml(true);
  ASSERT_EQ(second.apply_toml(text, "again.toml").to_string(), "OK") << text;
  expect_everything(second.settings());
  EXPECT_EQ(first.to_toml(), second.to_toml());
}

TEST(Config, JsonOfTheSameShape) {
  Config config;
  Status status = config.apply_json(R"({
  "schema": 1,
  "select": {"order": ["cpu"], "fallback": "next"},
  "memory": {"host_limit": "4GiB"},
  "provider": {"cuda": {"options": {"tf32": true, "ratio": 0.5, "absent": null}}},
  "placement": [{"match": {"op": ["Conv"]}, "provider": "cpu"}]
})",
                                    "t.json");
  ASSERT_EQ(status.to_string(), "OK");
  EXPECT_THAT(config->select.order, ElementsAre("cpu"));
  EXPECT_EQ(config->memory.host_limit, uint64_t{4} << 30);
  EXPECT_EQ(config.provider("cuda").options.size(), 2u);
  EXPECT_EQ(config.find("select.fallback")->origin(), "t.json:3");
}

TEST(Config, JsonMistakesNameTheirLine) {
  Config config;
  EXPECT_THAT(message_of(config.apply_json("{\n\"threads\": {\n\"count\": \"x\"\n}}", "t.json")),
              HasSubstr("t.json:3: 'threads.count' must be an integer, not a string"));
  EXPECT_THAT(message_of(config.apply_json("{\n\"threads\": {\n\"count\": 99999\n}}", "t.json")),
              HasSubstr("t.json:3:"));
  EXPECT_THAT(message_of(config.apply_json("{\n  \"a\" 1}", "t.json")),
              HasSubstr("t.json:2: not valid JSON"));
  EXPECT_THAT(message_of(config.apply_json("{\"schema\": 1,\n\"schema\": 1}", "t.json")),
              HasSubstr("t.json:2: key 'schema' is given twice"));
  EXPECT_THAT(message_of(config.apply_json("[]", "t.json")), HasSubstr("must be an object"));
  EXPECT_THAT(message_of(config.apply_json("", "t.json")), HasSubstr("not valid JSON"));
  EXPECT_THAT(message_of(config.apply_json(std::string(100, '['), "t.json")), HasSubstr("nested deeper"));
}

TEST(Config, UnknownKeysNameTheNearest) {
  EXPECT_EQ(error_of("[select]\n\nordr = [\"cpu\"]"),
            "t.toml:3: unknown key 'select.ordr' (did you mean 'select.order'?)");
  EXPECT_THAT(error_of("[selct]\norder = [\"cpu\"]"),
              HasSubstr("t.toml:1: unknown key 'selct' (did you mean 'select'?)"));
  EXPECT_THAT(error_of("[provider.cuda]\nverson = \"1\""),
              HasSubstr("'provider.cuda.verson' (did you mean 'provider.cuda.version'?)"));
  EXPECT_THAT(error_of("[upgrade]\nwhatever = 1"), HasSubstr("(valid: upgrade.mode)"));
}

TEST(Config, AllMistakesOfAFileAndNothingApplied) {
  Config config;
  Status status = config.apply_toml(
      "[threads]\ncount = 2\n[select]\nfallback = \"nxt\"\norder = []\n[limits]\ngraph_depth = "
      "0\nmodel_bytes = \"4 parsec\"\n"
      "[discovery]\nsearch = [\"here\"]\nallow = \"cpu\"\n",
      "t.toml");
  std::string text = message_of(status);
  EXPECT_THAT(text, HasSubstr("t.toml:4: 'select.fallback' cannot be \"nxt\" (did you mean 'next'?)"));
  EXPECT_THAT(text, HasSubstr("t.toml:5: 'select.order' is an empty list"));
  EXPECT_THAT(text, HasSubstr("t.toml:7: 'limits.graph_depth' is 0, outside its range 1..1024"));
  EXPECT_THAT(text, HasSubstr("t.toml:8: 'limits.model_bytes' is invalid: '4 parsec' is not a size"));
  EXPECT_THAT(text, HasSubstr("t.toml:10: 'discovery.search' holds 'here', which is not an absolute path"));
  EXPECT_THAT(text, HasSubstr("t.toml:11: 'discovery.allow' must be a list of strings, not a string"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_EQ(config->threads.count, 0);
}

TEST(Config, WrongThings) {
  EXPECT_THAT(error_of("select = 3"), HasSubstr("'select' must be a table, not an integer"));
  EXPECT_THAT(error_of("schema = 2"), HasSubstr("'schema' is 2, but this version reads only 1"));
  EXPECT_THAT(error_of("[provider.Cuda]\n"), HasSubstr("'Cuda' is not a provider id"));
  EXPECT_THAT(error_of("[provider]\ncuda = 1\n"), HasSubstr("'provider.cuda' must be a table"));
  EXPECT_THAT(error_of("[provider.cuda]\noptions = 1\n"), HasSubstr("must be a table"));
  EXPECT_THAT(error_of("[provider.cuda]\nversion = \"newest\"\n"), HasSubstr("is not a version range"));
  EXPECT_THAT(error_of("[select]\norder = \"cpu\""), HasSubstr("or a list such as [\"cpu\"]"));
  EXPECT_THAT(error_of("[select]\norder = [\"cpu\", \"cpu\"]"), HasSubstr("names 'cpu' twice"));
  EXPECT_THAT(error_of("[memory]\nhost_limit = -1"), HasSubstr("is negative"));
  EXPECT_THAT(error_of("[shapes]\ninput = [[-1]]"), HasSubstr("is not a shape"));
  EXPECT_THAT(error_of("[[placement]]\nprovider = \"cpu\""), HasSubstr("lacks 'match'"));
  EXPECT_THAT(error_of("[[placement]]\nmatch = { node = \"(\" }\nprovider = \"cpu\""),
              HasSubstr("not a regular expression"));
  EXPECT_THAT(error_of("[[placement]]\nmatch = { opp = [\"Conv\"] }\nprovider = \"cpu\""),
              HasSubstr("did you mean 'op'?"));
  EXPECT_THAT(error_of("[threads]\ncount = 1979-05-27"), HasSubstr("t.toml:2: dates and times"));
  EXPECT_THAT(error_of("[threads\n"), HasSubstr("t.toml:1: invalid TOML"));
}

TEST(Config, WhatThisVersionCannotDoIsRefusedWithPlaceReasonAndCure) {
  EXPECT_EQ(error_of("[select]\npartition = \"cost\"").substr(0, 45),
            "t.toml:2: 'select.partition' cannot be \"cost\"");
  EXPECT_THAT(error_of("[select]\npartition = \"cost\""), HasSubstr("set it to \"order\""));
  EXPECT_THAT(error_of("[provider.cuda]\n\nisolation = \"process\""),
              testing::AllOf(
                  HasSubstr("t.toml:3: 'provider.cuda.isolation' cannot be \"process\": a provider cannot"),
                  HasSubstr("set it to \"inproc\"")));
  EXPECT_THAT(error_of("[upgrade]\nmode = \"migrate\""), HasSubstr("set it to \"next-session\""));
  EXPECT_THAT(error_of("[discovery]\ntrust = \"signature\""), HasSubstr("set it to \"hash\""));
}

template <class Enum>
void expect_words(std::initializer_list<std::pair<Enum, std::string_view>> wanted) {
  for (const auto& [value, text] : wanted) EXPECT_EQ(word_of(value), text);
}

TEST(Words, StandBesideTheirEnumerators) {
  expect_words<Trust>({{Trust::kNone, "none"}, {Trust::kOwner, "owner"}, {Trust::kHash, "hash"}});
  expect_words<Scan>({{Scan::kOn, "on"}, {Scan::kOff, "off"}});
  expect_words<OnFailure>({{OnFailure::kError, "error"}, {OnFailure::kNext, "next"}});
  expect_words<OnLost>({{OnLost::kRestart, "restart"}, {OnLost::kNext, "next"}, {OnLost::kFail, "fail"}});
  expect_words<Precision>({{Precision::kExact, "exact"},
                           {Precision::kFast, "fast"},
                           {Precision::kBf16, "bf16"},
                           {Precision::kFp16, "fp16"}});
  expect_words<ExternalData>({{ExternalData::kDeny, "deny"}, {ExternalData::kBeneathModel, "beneath-model"}});
  expect_words<UpgradeMode>({{UpgradeMode::kPin, "pin"}, {UpgradeMode::kNextSession, "next-session"}});
}

TEST(Words, AllOfTheSameKindMeanTheSameInEveryKey) {
  for (const char* key : {"select.fallback", "select.on_declined", "select.on_compile_failed"}) {
    Config config;
    const auto value_of = [&] {
      const Select& select = config->select;
      return std::string_view(key) == "select.fallback"      ? select.fallback
             : std::string_view(key) == "select.on_declined" ? select.on_declined
                                                             : select.on_compile_failed;
    };
    ASSERT_TRUE(config.set(key, "error").ok());
    EXPECT_EQ(value_of(), OnFailure::kError) << key;
    ASSERT_TRUE(config.set(key, "next").ok());
    EXPECT_EQ(value_of(), OnFailure::kNext) << key;
  }
}

TEST(Config, ShapesAtOnePositionBelongTogether) {
  EXPECT_THAT(error_of("[shapes]\ninput = { a = [[1], [2]], b = [[1]] }"),
              HasSubstr("'shapes.input' gives 1 shapes for 'b' and 2 for 'a'"));
  EXPECT_THAT(error_of("[shapes]\ninput = []"), HasSubstr("must hold at least one shape"));
  EXPECT_THAT(error_of("[shapes]\ninput = {}"), HasSubstr("must name at least one input"));
}

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
  ASSERT_TRUE(config.set_assignment("select.fallback=next").ok());
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
  EXPECT_THAT(message_of(config.set_assignment("threads.count")), HasSubstr("key=value"));
  EXPECT_THAT(message_of(config.set("thread.count", "1")),
              HasSubstr("--set: unknown key 'thread' (did you mean 'threads'?)"));
  EXPECT_THAT(message_of(config.set("threads.count", "many")),
              HasSubstr("--set: 'threads.count' must be an integer"));
  EXPECT_THAT(message_of(config.set("", "1")), HasSubstr("key is empty"));
  EXPECT_THAT(message_of(config.set("threads.count", "1\nselect.order = 2")),
              HasSubstr("must be an integer"));
  EXPECT_FALSE(config.set("threads..count", "1").ok());
}

TEST(Config, CheckProvidersNamesUnknownOnesAndOptions) {
  Config config;
  ASSERT_TRUE(
      config
          .apply_toml(
              "[select]\norder = [\n\"cpu\",\n\"cudda/gpu:0\"]\n[provider.cpu.options]\nisaa = \"avx2\"\n"
              "level = 12\n[[placement]]\nmatch = { op = \"Conv\" }\nprovider = \"npu\"",
              "t.toml")
          .ok());
  OptionSpec isa{"isa", OptionType::kString, {}, {}, {}, {}, "", false};
  OptionSpec level{"level", OptionType::kInt, {}, 0.0, 9.0, {}, "", false};
  std::vector<OptionSpec> options = {isa, level};
  std::vector<KnownProvider> known = {{"cpu", options}, {"cuda", {}}};
  std::string text = message_of(config.check_providers(known));
  EXPECT_THAT(text, HasSubstr("t.toml:4: 'select.order' names the unknown provider 'cudda' (did you mean "
                              "'cuda'?); installed: cpu, cuda"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "t.toml:6: unknown option 'provider.cpu.options.isaa' (did you mean 'provider.cpu.options.isa'?)"));
  EXPECT_THAT(text, HasSubstr("t.toml:7: 'provider.cpu.options.level' is 12, but must be at most 9"));
  EXPECT_THAT(text, HasSubstr("t.toml:10: 'placement' names the unknown provider 'npu'"));
  ASSERT_TRUE(config.set("select.fallback", "next").ok());
  EXPECT_THAT(message_of(config.check_providers(known)), Not(HasSubstr("unknown provider")));
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

TEST(Config, AFileOfMistakesIsToldInAFewWordsAndSoon) {
  std::string text;
  for (int i = 0; text.size() < (1 << 19); ++i) text += "unknown_key_" + std::to_string(i) + " = 1\n";
  const auto begin = std::chrono::steady_clock::now();
  Config config;
  const std::string message = message_of(config.apply_toml(text, "t.toml"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_THAT(message, HasSubstr("more keys were not checked"));
  EXPECT_LT(message.size(), 16000u);
}

TEST(Config, JsonOfManyKeysIsReadInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 60000; ++i) text += "\"k" + std::to_string(i) + "\":1,";
  text.back() = '}';
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(read_json(text, "t.json").ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  text.back() = ',';
  EXPECT_THAT(message_of(read_json(text + "\"k7\":1}", "t.json").status()), HasSubstr("'k7' is given twice"));
}

TEST(Schema, ThePageNamesEveryKey) {
  std::string page = schema_markdown();
  EXPECT_THAT(page, HasSubstr("| `provider.<id>.version` | version range |"));
  EXPECT_THAT(page, HasSubstr("| `select.fallback` | one of error, next | `\"error\"` |"));
}

}  // namespace
}  // namespace tenon::config
