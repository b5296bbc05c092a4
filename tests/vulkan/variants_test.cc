// Which form of a kernel does the rows of a launch: measured once for a device, and kept.
#include "variants.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/unit/host/session/session_case.h"
#include "tests/vulkan/interposed.h"

namespace tenon::vulkan {
namespace {

constexpr Form kAll[] = {Form::kItem, Form::kShared, Form::kSubgroup};

/// A device that takes the given times, and counts.
struct Timer {
  int64_t item = 100, shared = 100, subgroup = 100;
  int calls = 0;
  Variants::Measure measure() {
    return [this](Form form, const ep::Rows&) {
      ++calls;
      return form == Form::kItem ? item : form == Form::kShared ? shared : subgroup;
    };
  }
};

TEST(VulkanVariants, AreMeasuredOncePerKernelAndKindOfRows) {
  Variants variants("key");
  Timer timer{.item = 1000, .shared = 200, .subgroup = 100};
  const ep::Rows rows{3, 1000, false};
  EXPECT_EQ(variants.fastest("softmax", rows, kAll, timer.measure()), Form::kSubgroup);
  EXPECT_EQ(timer.calls, 3);
  timer.item = 1;  // too late
  EXPECT_EQ(variants.fastest("softmax", {2, 600, false}, kAll, timer.measure()), Form::kSubgroup);
  EXPECT_EQ(timer.calls, 3) << "as many and as long within a power of two";
  EXPECT_EQ(variants.fastest("reduce", rows, kAll, timer.measure()), Form::kItem);
  EXPECT_EQ(variants.fastest("softmax", {3, 1024, false}, kAll, timer.measure()), Form::kItem);
  EXPECT_EQ(variants.fastest("softmax", {4, 1000, false}, kAll, timer.measure()), Form::kItem);
  EXPECT_EQ(variants.fastest("softmax", {3, 1000, true}, kAll, timer.measure()), Form::kItem);
  EXPECT_EQ(timer.calls, 15);
}

TEST(VulkanVariants, OfAboutTheSameTimeTheFirstIsTaken) {
  Variants variants("key");
  Timer timer{.item = 100, .shared = 95, .subgroup = 91};
  EXPECT_EQ(variants.fastest("a", {1, 64, false}, kAll, timer.measure()), Form::kItem);
  timer.subgroup = 80;
  EXPECT_EQ(variants.fastest("b", {1, 64, false}, kAll, timer.measure()), Form::kSubgroup);
  EXPECT_EQ(variants.fastest("c", {1, 64, false}, {kAll, 2}, timer.measure()), Form::kItem);
}

TEST(VulkanVariants, WhatIsMeasuredFitsIntoItsMemory) {
  Variants variants("key");
  for (const ep::Rows& rows : {ep::Rows{1, size_t{1} << 28, false}, ep::Rows{size_t{1} << 28, 64, true}}) {
    const auto measure = [](Form, const ep::Rows& probe) {
      EXPECT_LE(probe.count * probe.length, kMostOfProbe);
      return 1;
    };
    EXPECT_EQ(variants.fastest("softmax", rows, kAll, measure), Form::kItem);
  }
}

TEST(VulkanVariants, AreForcedByTheOption) {
  EXPECT_EQ(forced_form("auto", true), std::nullopt);
  EXPECT_EQ(forced_form("item", false), Form::kItem);
  EXPECT_EQ(forced_form("shared", false), Form::kShared);
  EXPECT_EQ(forced_form("subgroup", true), Form::kSubgroup);
  EXPECT_THROW(forced_form("subgroup", false), ep::Error);
}

/// The host's cache, with one blob.
std::string g_blob;
int g_puts = 0;
class VulkanVariantsKept : public ::testing::Test {
 protected:
  void SetUp() override {
    g_blob.clear();
    g_puts = 0;
    before_ = ep::detail::g_host;
    ep::detail::g_host.cache_get = [](tenon_host_instance*, tenon_str, tenon_str* out,
                                      tenon_error*) -> tenon_status {
      *out = ep::to_str(g_blob);
      return g_blob.empty() ? TENON_NOT_FOUND : TENON_OK;
    };
    ep::detail::g_host.cache_done = [](tenon_host_instance*, tenon_str) {};
    ep::detail::g_host.cache_put = [](tenon_host_instance*, tenon_str, tenon_str blob,
                                      tenon_error*) -> tenon_status {
      g_blob = ep::view(blob);
      ++g_puts;
      return TENON_OK;
    };
    instance_.host = reinterpret_cast<tenon_host_instance*>(this);  // never looked into
  }
  void TearDown() override { ep::detail::g_host = before_; }

  ep::InstanceSettings instance_;

 private:
  tenon_host_api before_{};
};

TEST_F(VulkanVariantsKept, AreFoundAgainInTheCache) {
  const ep::Rows rows{3, 1000, true};
  Timer timer{.item = 100, .shared = 10, .subgroup = 50};
  Variants first("key");
  first.load(instance_);
  EXPECT_EQ(first.fastest("softmax/0/1", rows, kAll, timer.measure()), Form::kShared);
  first.save(instance_);
  first.save(instance_);
  EXPECT_EQ(g_puts, 1) << "nothing is new";
  Variants second("key");
  second.load(instance_);
  EXPECT_EQ(second.fastest("softmax/0/1", rows, kAll, timer.measure()), Form::kShared);
  EXPECT_EQ(timer.calls, 3);
  second.save(instance_);
  EXPECT_EQ(g_puts, 1);
}

TEST_F(VulkanVariantsKept, LinesThatNoVersionWritesAreLeftOut) {
  Timer timer{.item = 10};
  for (const std::string blob : {"x/2x512 9\n", "x/2x512\n", "\n", "x/2x512 2", "\n\n 1\n"}) {
    g_blob = blob;
    timer.calls = 0;
    Variants variants("key");
    variants.load(instance_);
    EXPECT_EQ(variants.fastest("x", {2, 512, false}, kAll, timer.measure()), Form::kItem) << blob;
    EXPECT_EQ(timer.calls, 3) << blob;
  }
}

}  // namespace
}  // namespace tenon::vulkan

namespace tenon::test {
namespace {

namespace fs = std::filesystem;

/// A cache of its own for this process, asked for before anything looks. Mesa's stays where it is.
const fs::path kCache = [] {
  const char* home = std::getenv("HOME");
  if (home != nullptr) setenv("MESA_SHADER_CACHE_DIR", (std::string(home) + "/.cache").c_str(), 0);
  const fs::path folder = fs::temp_directory_path() / ("tenon_vulkan_cache_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  return folder;
}();

std::string softmax_of(int64_t length) {
  GraphMaker m;
  m.output(m.node("Softmax", {m.input("x", GraphMaker::f32({2, length}))}), "y");
  return m.bytes();
}

/// The number of submissions of a Run.
int submissions(session::Session& session, int64_t length) {
  vulkan_calls().reset();
  std::vector<float> values(static_cast<size_t>(2 * length), 0.5f);
  const std::vector<float> y = floats(run(session, {{"x", f32({2, length}, values)}})[0]);
  for (const float v : y) EXPECT_NEAR(v, 1.0f / static_cast<float>(length), 1e-7f);
  return vulkan_calls().submitted;
}

class VulkanVariantsOfSessions : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(kCache / "tenon"); }
  static void TearDownTestSuite() { fs::remove_all(kCache); }

  static config::Config config(const std::string& setting = "") {
    config::Config out = config_for({providers_dir()}, {"vulkan"});
    EXPECT_TRUE(out.set("provider.vulkan.options.memory", "shared").ok());
    EXPECT_TRUE(setting.empty() || assign(out, setting).ok()) << setting;
    return out;
  }
};

TEST_F(VulkanVariantsOfSessions, MeasureOncePerDeviceAndCache) {
  const std::string model = softmax_of(1000), longer = softmax_of(3000);
  {
    const auto first = make_session(model, config()), second = make_session(model, config()),
               third = make_session(longer, config());
    ASSERT_TRUE(first != nullptr && second != nullptr && third != nullptr);
    EXPECT_GT(submissions(*first, 1000), 1) << "nothing was measured";
    EXPECT_EQ(submissions(*first, 1000), 1);
    EXPECT_EQ(submissions(*second, 1000), 1) << "measured again";
    EXPECT_GT(submissions(*third, 3000), 1) << "longer rows are another question";
  }
  {
    const auto again = make_session(longer, config());  // the device was closed meanwhile
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(submissions(*again, 3000), 1) << "not found in the cache";
  }
  fs::remove_all(kCache / "tenon");
  const auto without = make_session(model, config());
  ASSERT_NE(without, nullptr);
  EXPECT_GT(submissions(*without, 1000), 1) << "the cache is gone";
}

TEST_F(VulkanVariantsOfSessions, MeasureNothingWhereTheFormIsGiven) {
  for (const std::string setting :
       {"provider.vulkan.options.variants=item", "provider.vulkan.options.variants=shared",
        "provider.vulkan.options.variants=subgroup", "precision.deterministic=true"}) {
    const auto session = make_session(softmax_of(1000), config(setting));
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(submissions(*session, 1000), 1) << setting;
  }
  const auto short_rows = make_session(softmax_of(20), config());
  ASSERT_NE(short_rows, nullptr);
  EXPECT_EQ(submissions(*short_rows, 20), 1) << "short rows";
}

}  // namespace
}  // namespace tenon::test
