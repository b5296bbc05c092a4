// What a config file says, and what the settings then are.
#include "host/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/config/read.h"
#include "host/config/schema.h"

namespace tenon::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
strict = true
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
  EXPECT_TRUE(s.strict);
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
  EXPECT_EQ(config->limits.cache_blob_bytes, uint64_t{256} << 20);
  EXPECT_EQ(config->limits.cache_bytes, uint64_t{1} << 30);
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

}  // namespace
}  // namespace tenon::config
