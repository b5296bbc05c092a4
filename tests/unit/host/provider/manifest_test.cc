#include "host/provider/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/support/cpu_time.h"

namespace tenon::provider {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

nlohmann::json good() {
  return nlohmann::json::parse(R"({
    "manifest_version": 1,
    "provider": {"id": "acme", "name": "Acme NPU", "vendor": "Acme", "version": "1.2.3"},
    "abi": {"major": 0, "min_minor": 1, "max_minor": 1},
    "library": {"path": "acme/1.2.3/tenon_ep_acme.so", "size": 100, "os": "linux", "arch": "x86_64",
      "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "libc": "glibc 2.31", "cpu_features": ["avx2"], "sanitizer": "none"},
    "files": [{"path": "acme/1.2.3/libhelp.so", "size": 7,
      "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}],
    "requires": {"sonames": ["libacme.so.1"], "files": ["/dev/acme"], "hint": "install acme-driver"},
    "devices": [{"kind": "npu", "pci_vendor": "0x1234"}],
    "traits": {"completes": true, "isolation": ["inproc"], "unloadable": true, "fork_safe": false, "deterministic": true},
    "opsets": {"": [1, 22]},
    "ops_file": "ops.json",
    "options": [{"name": "tf32", "type": "bool", "default": true, "doc": "x", "live": true},
                {"name": "level", "type": "int", "min": 0, "max": 9}],
    "priority": 50,
    "conformance": {"kit": "0.1", "classes": ["A"], "report": "r.html"},
    "signature": "abc",
    "x-note": {"anything": 1}
  })");
}

std::string refused(const nlohmann::json& manifest, std::string_view code = "E_MANIFEST_SYNTAX") {
  Result<Manifest> parsed = parse_manifest(manifest.dump(1), "/p/acme.tenon.json");
  EXPECT_FALSE(parsed.ok()) << manifest.dump();
  EXPECT_EQ(parsed.status().refusal(), code);
  EXPECT_EQ(parsed.status().kind(), ErrorKind::kProviderRefused);
  return std::string(parsed.status().message());
}

nlohmann::json with(const char* pointer, nlohmann::json value) {
  nlohmann::json manifest = good();
  manifest[nlohmann::json::json_pointer(pointer)] = std::move(value);
  return manifest;
}

TEST(Manifest, ReadsEveryField) {
  Result<Manifest> parsed = parse_manifest(good().dump(), "/p/acme.tenon.json");
  ASSERT_EQ(parsed.status().to_string(), "OK");
  const Manifest& m = *parsed;
  EXPECT_EQ(m.id, "acme");
  EXPECT_EQ(m.version.to_string(), "1.2.3");
  EXPECT_EQ(m.abi_min_minor, 1u);
  EXPECT_EQ(m.file_path(), "/p/acme/1.2.3/tenon_ep_acme.so");
  EXPECT_THAT(m.file.cpu_features, ElementsAre("avx2"));
  ASSERT_EQ(m.files.size(), 1u);
  EXPECT_EQ(m.path_of(m.files[0]), "/p/acme/1.2.3/libhelp.so");
  EXPECT_EQ(m.files[0].size, 7u);
  EXPECT_THAT(m.required_sonames, ElementsAre("libacme.so.1"));
  EXPECT_EQ(m.required_hint, "install acme-driver");
  EXPECT_EQ(m.devices.at(0).kind, "npu");
  EXPECT_TRUE(m.traits.completes);
  EXPECT_TRUE(m.traits.unloadable);
  EXPECT_EQ(m.opsets.at("")[1], 22);
  EXPECT_EQ(m.options.size(), 2u);
  EXPECT_TRUE(m.options[0].live);
  EXPECT_EQ(m.options[1].max, 9.0);
  EXPECT_EQ(m.priority, 50);
  EXPECT_EQ(m.unknown.count("x-note"), 1u);
}

TEST(Manifest, UnknownKeysAreKept) {
  nlohmann::json manifest = good();
  manifest["brand_new"] = {1, 2};
  manifest["library"]["future"] = true;
  EXPECT_TRUE(parse_manifest(manifest.dump(), "/p/m.json").ok());
}

TEST(Manifest, OnlyTheRequiredOnes) {
  nlohmann::json manifest = good();
  for (const char* key : {"files", "requires", "devices", "traits", "opsets", "ops_file", "options",
                          "priority", "conformance", "signature"}) {
    manifest.erase(key);
  }
  Result<Manifest> parsed = parse_manifest(manifest.dump(), "/p/m.json");
  ASSERT_EQ(parsed.status().to_string(), "OK");
  EXPECT_FALSE(parsed->traits.unloadable);
}

TEST(Manifest, MissingAndMistyped) {
  for (const char* pointer :
       {"/provider/id", "/provider/version", "/provider/name", "/abi/major", "/library/path",
        "/library/sha256", "/library/size", "/library/os", "/library/arch"}) {
    nlohmann::json::json_pointer at(pointer);
    nlohmann::json manifest = good();
    manifest[at.parent_pointer()].erase(at.back());
    EXPECT_THAT(refused(manifest), HasSubstr("' is missing")) << pointer;
    EXPECT_THAT(refused(with(pointer, nlohmann::json::array())), HasSubstr("must be")) << pointer;
  }
  EXPECT_THAT(refused(with("/provider/id", "Bad Id")), HasSubstr("'provider.id' is 'Bad Id'"));
  EXPECT_THAT(refused(with("/provider/version", "1.2")), HasSubstr("is not a version"));
  EXPECT_THAT(refused(with("/library/sha256", "ABC")), HasSubstr("64 lower-case"));
  EXPECT_THAT(refused(with("/files/0/path", "../libhelp.so")), HasSubstr("'files[].path' must be relative"));
  EXPECT_THAT(refused(with("/files/0/sha256", "ABC")), HasSubstr("64 lower-case"));
  EXPECT_THAT(refused(with("/files/0/size", 0)), HasSubstr("'files[].size'"));
  EXPECT_THAT(refused(with("/abi/min_minor", 9)), HasSubstr("above max_minor"));
  EXPECT_THAT(refused(with("/priority", "high")), HasSubstr("must be an integer"));
  EXPECT_THAT(refused(with("/opsets", {{"", {3, 1}}})), HasSubstr("[lowest, highest]"));
  EXPECT_THAT(refused(with("/options/0/type", "boolean")), HasSubstr("types are bool"));
  EXPECT_THAT(refused(with("/options/0/default", "yes")), HasSubstr("does not fit the option itself"));
  EXPECT_THAT(refused(with("/options/1/name", "tf32")), HasSubstr("declared twice"));
  EXPECT_THAT(refused(with("/options", {1})), HasSubstr("must hold objects only"));
  EXPECT_THAT(refused(with("/traits", 1)), HasSubstr("must be an object"));
}

TEST(Manifest, ThePathStaysBelow) {
  for (const char* path : {"/abs/lib.so", "../lib.so", "a/../../lib.so", "C:/x.dll", "a\\b.dll"}) {
    EXPECT_THAT(refused(with("/library/path", path)), HasSubstr("stay below")) << path;
  }
}

TEST(Manifest, OtherFormatVersion) { refused(with("/manifest_version", 2), "E_MANIFEST_VERSION"); }

TEST(Manifest, HostileText) {
  for (std::string text : {std::string(), std::string("{"), std::string("nul"), std::string(100000, '['),
                           std::string("{\"a\":1,\"a\":2}"), std::string("\xff\xfe{}"), std::string("[]"),
                           std::string("3"), std::string((2 << 20), ' ')}) {
    Result<Manifest> parsed = parse_manifest(text, "/p/m.json");
    EXPECT_EQ(parsed.status().refusal(), "E_MANIFEST_SYNTAX");
  }
  EXPECT_EQ(read_manifest("/nonexistent/x.tenon.json").status().refusal(), "E_MANIFEST_SYNTAX");
  EXPECT_EQ(read_manifest("/dev/zero").status().refusal(), "E_MANIFEST_SYNTAX");
}

// A manifest is read before it is trusted: time and words stay in proportion to it.
TEST(Manifest, AMegabyteOfMistakesIsToldInAFewWords) {
  struct Row {
    const char* before;
    const char* each;
    const char* says;
  };
  const Row rows[] = {{"\"options\":[", "{\"name\":\"x\"},", "'x' is declared twice"},
                      {"\"options\":[", "1,", "must hold objects only"},
                      {"\"files\":[", "{\"path\":\"..\"},", "stay below"},
                      {"\"opsets\":{", "\"%d\":7,", "[lowest, highest]"},
                      {"\"more\":{", "\"%d\":7,", "is missing"}};
  const auto seconds = [](const Row& row, uint32_t bytes) {
    std::string text = std::string("{\"manifest_version\":1,") + row.before;
    for (int i = 0; text.size() < bytes - 64; ++i) {
      std::string each = row.each;
      if (const size_t at = each.find("%d"); at != std::string::npos) each.replace(at, 2, std::to_string(i));
      text += each;
    }
    text.back() = row.before[std::strlen(row.before) - 1] == '[' ? ']' : '}';
    text += "}";
    const double begin = test::cpu_seconds();
    const Status status = parse_manifest(text, "/p/m.json").status();
    const double taken = test::cpu_seconds() - begin;
    EXPECT_EQ(status.refusal(), "E_MANIFEST_SYNTAX");
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.says)) << row.each;
    EXPECT_LT(status.message().size(), 16000u) << row.each;
    return taken;
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.each);
    test::expect_nearly_linear(1 << 20, [&](uint32_t bytes) { return seconds(row, bytes); });
  }
}

TEST(Manifest, EveryTruncationIsRefused) {
  std::string text = good().dump();
  for (size_t n = 0; n < text.size(); n += 7)
    EXPECT_FALSE(parse_manifest(text.substr(0, n), "/p/m.json").ok()) << n;
}

}  // namespace
}  // namespace tenon::provider
