// The defect zoo: each member is refused with exactly its code, is explained with cause and cure, and harms
// nobody: the good provider in the same folder is still found and loads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "host/base/sha256.h"
#include "host/provider/open_file.h"
#include "host/provider/quarantine.h"
#include "host/provider/registry.h"
#include "host/provider/scan_read.h"
#include "tests/unit/host/provider/provider_folder.h"

namespace tenon::provider {
namespace {

using ::testing::HasSubstr;

struct Defect {
  const char* name;    // in the table's output
  const char* member;  // of the zoo
  Refusal code;
  const char* says;  // part of the reason
  void (*arrange)(const ProviderFolder& folder, const std::string& manifest) = nullptr;
  void (*options)(RegistryOptions& options) = nullptr;
};

void append_byte(const ProviderFolder&, const std::string& manifest) {
  std::ofstream(ProviderFolder::library_of(manifest), std::ios::app | std::ios::binary) << 'x';
}

void change_byte(const ProviderFolder&, const std::string& manifest) {
  std::fstream file(ProviderFolder::library_of(manifest), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('\x7f');
}

// e_machine at byte 18: 183 is AArch64, 62 x86-64.
void foreign_machine(const ProviderFolder&, const std::string& manifest) {
  std::fstream file(ProviderFolder::library_of(manifest), std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(18);
  char other = file.get() == 62 ? static_cast<char>(183) : 62;
  file.seekp(18);
  file.put(other);
  file.close();
  ProviderFolder::rehash(manifest);
}

/// Lists a file beside the library in the manifest, and then writes `text` into it.
void add_file(const std::string& manifest, const std::string& text) {
  const auto folder = std::filesystem::path(ProviderFolder::library_of(manifest)).parent_path();
  const auto below = folder.lexically_relative(std::filesystem::path(manifest).parent_path()).string();
  ProviderFolder::edit(
      manifest, "/files",
      nlohmann::json::array({{{"path", below + "/table"}, {"size", 3}, {"sha256", sha256_of("abc")}}}));
  if (!text.empty()) std::ofstream(folder / "table") << text;
}

void replace_library(const std::string& manifest, const std::string& text) {
  std::ofstream(ProviderFolder::library_of(manifest), std::ios::trunc | std::ios::binary) << text;
  ProviderFolder::rehash(manifest);
}

void write_manifest(const std::string& manifest, const std::string& text) {
  std::ofstream(manifest, std::ios::trunc) << text;
}

using PF = ProviderFolder;
using F = const ProviderFolder&;
using M = const std::string&;
using O = RegistryOptions&;

const Defect kDefects[] = {
    // The manifest.
    {"bad JSON", "no_device", Refusal::kManifestSyntax, "not valid JSON",
     [](F, M m) { write_manifest(m, "{\"provider\": "); }},
    {"missing key", "no_device", Refusal::kManifestSyntax, "'provider.version'",
     [](F, M m) { PF::edit(m, "/provider/version", nullptr); }},
    {"path with ..", "no_device", Refusal::kManifestSyntax, "stay below",
     [](F, M m) { PF::edit(m, "/library/path", "../x.so"); }},
    {"future manifest", "no_device", Refusal::kManifestVersion, "version 99",
     [](F, M m) { PF::edit(m, "/manifest_version", 99); }},
    {"denied", "no_device", Refusal::kDisabled, "discovery.deny", nullptr,
     [](O o) { o.discovery.deny = {"no_*"}; }},
    {"not allowed", "no_device", Refusal::kDisabled, "discovery.allow", nullptr,
     [](O o) { o.discovery.allow = {"good"}; }},
    // The machine.
    {"foreign architecture", "no_device", Refusal::kArch, "vax",
     [](F, M m) { PF::edit(m, "/library/arch", "vax"); }},
    {"foreign system", "no_device", Refusal::kArch, "plan9",
     [](F, M m) { PF::edit(m, "/library/os", "plan9"); }},
    {"foreign machine code", "no_device", Refusal::kArch, "is compiled for", foreign_machine},
    {"newer C library", "no_device", Refusal::kLibc, "glibc 99.0",
     [](F, M m) { PF::edit(m, "/library/libc", "glibc 99.0"); }},
    {"another C library", "no_device", Refusal::kLibc, "musl",
     [](F, M m) { PF::edit(m, "/library/libc", "musl 1.2"); }},
    {"processor feature", "no_device", Refusal::kCpu, "avx4096",
     [](F, M m) { PF::edit(m, "/library/cpu_features", {"avx4096"}); }},
    {"sanitizer in the manifest", "no_device", Refusal::kSanitizer, "memory",
     [](F, M m) { PF::edit(m, "/library/sanitizer", "memory"); }},
    {"sanitizer in the answer", "other_sanitizer", Refusal::kSanitizer, "sanitizer"},
    // The ABI.
    {"future major", "no_device", Refusal::kAbiTooNew, "speaks ABI 7.0",
     [](F, M m) {
       PF::edit(m, "/abi", {{"major", 7}, {"min_minor", 0}, {"max_minor", 0}});
     }},
    {"future minor", "no_device", Refusal::kAbiTooNew, "speaks ABI",
     [](F, M m) {
       PF::edit(m, "/abi/max_minor", 99);
       PF::edit(m, "/abi/min_minor", 99);
     }},
    {"old minor", "no_device", Refusal::kAbiTooOld, "speaks ABI 0.0",
     [](F, M m) {
       PF::edit(m, "/abi/min_minor", 0);
       PF::edit(m, "/abi/max_minor", 0);
     }},
    {"future major in the answer", "future_major", Refusal::kAbiTooNew, "chose ABI"},
    {"old minor in the answer", "old_minor", Refusal::kAbiTooOld, "chose ABI"},
    // The file.
    {"missing library", "no_device", Refusal::kLoad, "No such file",
     [](F, M m) { std::filesystem::remove(PF::library_of(m)); }},
    {"writable library", "no_device", Refusal::kFileMode, "mode 0666",
     [](F, M m) { chmod(PF::library_of(m).c_str(), 0666); }},
    {"writable manifest", "no_device", Refusal::kFileMode, "writable by others",
     [](F, M m) { chmod(m.c_str(), 0646); }},
    {"writable folder", "no_device", Refusal::kFileMode, "mode 0777",
     [](F, M m) { chmod(std::filesystem::path(PF::library_of(m)).parent_path().c_str(), 0777); }},
    {"stale hash", "no_device", Refusal::kShaMismatch, "SHA-256", change_byte},
    {"other size", "no_device", Refusal::kShaMismatch, "bytes, but its manifest says", append_byte},
    {"missing file of the manifest", "no_device", Refusal::kLoad, "the file '",
     [](F, M m) { add_file(m, ""); }},
    {"stale hash of a file", "no_device", Refusal::kShaMismatch, "table' has the SHA-256",
     [](F, M m) { add_file(m, "abd"); }},
    {"other size of a file", "no_device", Refusal::kShaMismatch,
     "table' has 4 bytes, but its manifest says 3", [](F, M m) { add_file(m, "abcd"); }},
    {"wanted signature", "no_device", Refusal::kSignature, "no signature", nullptr,
     [](O o) { o.discovery.trust = config::Trust::kSignature; }},
    {"no library at all", "no_device", Refusal::kLoad, "not an ELF library",
     [](F, M m) { replace_library(m, "#!/bin/sh\n"); }},
    {"truncated library", "no_device", Refusal::kLoad, "broken ELF library",
     [](F, M m) {
       std::filesystem::resize_file(PF::library_of(m), 1000);
       PF::rehash(m);
     }},
    {"wrong note", "no_device", Refusal::kNoteMismatch, "the library's note says '1.0.0' for 'version'",
     [](F, M m) { PF::edit(m, "/provider/version", "1.0.1"); }},
    {"no note", "no_note", Refusal::kNoteMismatch, "no Tenon note"},
    {"no entry", "no_entry", Refusal::kNoEntry, "does not export tenon_ep_negotiate"},
    {"two exports", "two_exports", Refusal::kExports, "also exports another_export"},
    {"unique symbol", "unique_symbol", Refusal::kExports, "unique in the process: tenon_test_unique"},
    {"missing file", "no_device", Refusal::kDepMissing, "/dev/acme0",
     [](F, M m) {
       PF::edit(m, "/requires", {{"files", {"/dev/acme0"}}, {"hint", "install acme"}});
     }},
    // The scan.
    {"no helper", "no_device", Refusal::kPolicy, "no scan helper", nullptr,
     [](O o) { o.scan_helper = "/nonexistent/tenon-scan"; }},
    {"missing soname", "needs_absent", Refusal::kDepMissing, "libtenon_test_absent.so"},
    {"missing required soname", "no_device", Refusal::kDepMissing, "libacme.so.9",
     [](F, M m) {
       PF::edit(m, "/requires", {{"sonames", {"libacme.so.9"}}});
     }},
    {"abort in a constructor", "constructor_aborts", Refusal::kScanCrash, "initialisers"},
    {"exit in a constructor", "constructor_exits", Refusal::kScanCrash, "initialisers"},
    {"hang in a constructor", "constructor_hangs", Refusal::kScanTimeout, "initialisers"},
    {"SIGSEGV in negotiate", "negotiate_crashes", Refusal::kScanCrash, "died in tenon_ep_negotiate"},
    {"exit in negotiate", "negotiate_exits", Refusal::kScanCrash, "exit code 0"},
    {"exception across the border", "negotiate_throws", Refusal::kNegotiate, "thrown across the border"},
    {"refuses", "negotiate_refuses", Refusal::kNegotiate, "the licence has expired"},
    {"other identity", "other_identity", Refusal::kNegotiate, "somebody-else"},
    {"no table", "no_table", Refusal::kNegotiate, "no function table"},
    {"short struct", "short_struct", Refusal::kNegotiate, "function table has 64 bytes"},
    {"NULL required function", "null_slot", Refusal::kSlotMissing, "compile, run"},
    {"half of a group of functions", "half_stream", Refusal::kSlotMissing, "stream_destroy"},
    {"times without streams", "half_times", Refusal::kSlotMissing, "stream_create"},
    {"create fails", "create_fails", Refusal::kSelftest, "the firmware is too old"},
    {"exception in create", "create_throws", Refusal::kSelftest, "create failed"},
    {"hang in enumerate", "enumerate_hangs", Refusal::kScanTimeout, "in enumerate_devices"},
    {"crash in enumerate", "enumerate_crashes", Refusal::kScanCrash, "died in enumerate_devices"},
    {"exception in enumerate", "enumerate_throws", Refusal::kSelftest, "no driver"},
    {"_exit in enumerate", "enumerate_exits", Refusal::kScanCrash, "died in enumerate_devices"},
    {"crash in destroy", "destroy_crashes", Refusal::kScanCrash, "died in provider_destroy"},
    {"no device", "no_device", Refusal::kNoDevice, "found no device"},
};

class DefectZoo : public ::testing::TestWithParam<Defect> {};

TEST_P(DefectZoo, IsRefusedWithItsCodeAndHarmsNobody) {
  const Defect& defect = GetParam();
  ProviderFolder folder;
  std::string manifest = folder.add(defect.member);
  std::string good = folder.add("good");
  if (defect.arrange != nullptr) defect.arrange(folder, manifest);
  RegistryOptions options = folder.options();
  options.discovery.scan_timeout = defect.code == Refusal::kScanTimeout ? 1 : 60;
  if (defect.options != nullptr) defect.options(options);
  ProviderRegistry registry(options);

  bool found = false;
  for (const ProviderInfo& info : registry.list(CheckLevel::kScan)) {
    if (info.manifest_path != manifest) continue;
    found = true;
    EXPECT_EQ(refusal_name(info.refusal), refusal_name(defect.code)) << info.explain();
    EXPECT_THAT(info.reason, HasSubstr(defect.says));
    EXPECT_FALSE(info.cure.empty());
    EXPECT_FALSE(info.usable());
    EXPECT_THAT(info.explain(), HasSubstr(refusal_name(defect.code)));
    EXPECT_THAT(info.explain(), HasSubstr(manifest));
  }
  EXPECT_TRUE(found);

  Status status = registry.load(defect.member).status();
  EXPECT_EQ(status.kind(), ErrorKind::kProviderRefused);
  EXPECT_EQ(status.refusal(), refusal_name(defect.code));
  EXPECT_THAT(status.to_string(), HasSubstr(defect.says));
  EXPECT_THAT(status.to_string(), HasSubstr("Cause: "));
  EXPECT_THAT(status.to_string(), HasSubstr("Cure: "));

  // Nor is it passed over in silence, by an automatic order or by one that names it.
  for (const std::vector<std::string>& order : {std::vector<std::string>(), {defect.member}}) {
    const auto all = registry.passed_over(order.empty() ? nullptr : &order);
    const auto known = std::find_if(all.begin(), all.end(), [&](const PassedOver& each) {
      return each.code == refusal_name(defect.code) && each.text().find(defect.says) != std::string::npos;
    });
    ASSERT_NE(known, all.end()) << defect.member;
    EXPECT_FALSE(known->cure.empty());
    EXPECT_THAT(known->text(), HasSubstr("is not used"));
  }

  // What is refused by the table's options alone would refuse the good one too.
  if (defect.code == Refusal::kPolicy || defect.code == Refusal::kSignature) return;
  auto loaded = registry.load("good");
  ASSERT_EQ(loaded.status().to_string(), "OK");
  EXPECT_EQ((*loaded)->library_path(), ProviderFolder::library_of(good));
  EXPECT_EQ((*loaded)->devices().value_or(std::vector<DeviceInfo>()).size(), 1u);
}

std::string test_name(const ::testing::TestParamInfo<Defect>& info) {
  std::string name;
  for (const char* c = info.param.name; *c != 0; ++c)
    name += std::isalnum(static_cast<unsigned char>(*c)) ? *c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Each, DefectZoo, ::testing::ValuesIn(kDefects), test_name);

void PrintTo(const Defect& defect, std::ostream* out) { *out << defect.name; }

// A code without a row could be passed over in silence. The rows of those left out are tests of their own.
TEST(DefectZooRows, EveryRefusalHasOne) {
  const std::set<Refusal> elsewhere = {Refusal::kNone, Refusal::kDuplicateId, Refusal::kQuarantined};
  for (int code = 0; !refusal_name(static_cast<Refusal>(code)).empty() || code == 0; ++code) {
    const auto refusal = static_cast<Refusal>(code);
    const bool has_row = std::any_of(std::begin(kDefects), std::end(kDefects),
                                     [&](const Defect& defect) { return defect.code == refusal; });
    EXPECT_TRUE(has_row || elsewhere.count(refusal) == 1) << refusal_name(refusal);
  }
}

// Memory that runs out says nothing of a library: it is neither refused nor passed over, and works when there is memory again.
class DefectZooMemory : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(DefectZooMemory, IsAnErrorOfTheCall) {
  const auto& [member, says] = GetParam();
  ProviderFolder folder;
  folder.add(member);
  for (const config::Scan scan : {config::Scan::kOn, config::Scan::kOff}) {
    RegistryOptions options = folder.options();
    options.discovery.scan = scan;
    ProviderRegistry registry(options);
    Status status = registry.load(member).status();
    // Devices are listed by the scan alone.
    if (scan == config::Scan::kOff && std::string_view(member) == "enumerate_exhausted") continue;
    EXPECT_EQ(status.kind(), ErrorKind::kOutOfMemory) << status.to_string();
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(status.refusal(), "");
    EXPECT_THAT(status.to_string(), HasSubstr(str_cat("provider ", member, " 1.0.0")));
    EXPECT_THAT(status.to_string(), HasSubstr(says));
    EXPECT_TRUE(registry.passed_over(nullptr).empty());
    EXPECT_EQ(registry.load(member).status().kind(), ErrorKind::kOutOfMemory) << "it is tried again";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, DefectZooMemory,
    ::testing::Values(std::pair("negotiate_exhausted", "tenon_ep_negotiate: the table of kernels needs more"),
                      std::pair("negotiate_bad_alloc", "tenon_ep_negotiate: no memory is left"),
                      std::pair("create_bad_alloc", "provider_create: "),
                      std::pair("enumerate_exhausted", "enumerate_devices: ")));

TEST(DefectZooMemoryOfTheHelper, IsReadAsThat) {
  const std::optional<ScanVerdict> verdict = read_verdict(kOutOfMemoryVerdict);
  ASSERT_TRUE(verdict.has_value());
  EXPECT_TRUE(verdict->out_of_memory);
  EXPECT_FALSE(read_verdict(write_verdict(ScanVerdict()))->out_of_memory);
}

TEST(DefectZooTwins, TheLaterOfTwoEqualVersionsIsADuplicate) {
  ProviderFolder folder;
  std::string first = folder.add("good", "a.tenon.json"), second = folder.add("good", "b.tenon.json");
  ProviderRegistry registry(folder.options());
  auto infos = registry.list(CheckLevel::kScan);
  ASSERT_EQ(infos.size(), 2u);
  EXPECT_TRUE(infos[0].usable());
  EXPECT_EQ(infos[1].refusal, Refusal::kDuplicateId);
  EXPECT_THAT(infos[1].reason, HasSubstr(first));
  EXPECT_THAT(infos[1].explain(), HasSubstr("remove one of the two manifests"));
  const auto passed_over = registry.passed_over(nullptr);
  ASSERT_EQ(passed_over.size(), 1u);
  EXPECT_EQ(passed_over[0].code, "E_DUPLICATE_ID");
  EXPECT_EQ(passed_over[0].instead, "good 1.0.0");
}

TEST(DefectZooQuarantine, ThreeCrashesSetALibraryAside) {
  ProviderFolder folder;
  std::string manifest = folder.add("negotiate_crashes");
  for (const char* code :
       {"E_SCAN_CRASH", "E_SCAN_CRASH", "E_SCAN_CRASH", "E_QUARANTINED", "E_QUARANTINED"}) {
    ProviderRegistry registry(folder.options());  // as a new process would
    EXPECT_EQ(registry.load("negotiate_crashes").status().refusal(), code);
    const auto passed_over = registry.passed_over(nullptr);
    ASSERT_EQ(passed_over.size(), 1u);
    EXPECT_EQ(passed_over[0].code, code);
  }
  Quarantine quarantine(folder.state());
  ASSERT_EQ(quarantine.list().size(), 1u);
  QuarantineRecord record = quarantine.list()[0];
  EXPECT_EQ(record.provider_id, "negotiate_crashes");
  EXPECT_THAT(record.reason, HasSubstr("died in tenon_ep_negotiate"));
  ProviderRegistry registry(folder.options());
  EXPECT_THAT(registry.load("negotiate_crashes").status().to_string(),
              HasSubstr("tenon providers quarantine --remove"));
  ASSERT_TRUE(quarantine.remove(record.sha256).ok());
  EXPECT_EQ(ProviderRegistry(folder.options()).load("negotiate_crashes").status().refusal(), "E_SCAN_CRASH")
      << "it gets another chance";
  folder.add("good");
  EXPECT_TRUE(ProviderRegistry(folder.options()).load("good").ok());
}

TEST(DefectZooNames, SignalsAreNamed) {
  ProviderFolder folder;
  folder.add("constructor_aborts");
  ProviderRegistry registry(folder.options());
  EXPECT_THAT(registry.load("constructor_aborts").status().to_string(), HasSubstr("SIGABRT"));
}

}  // namespace
}  // namespace tenon::provider
