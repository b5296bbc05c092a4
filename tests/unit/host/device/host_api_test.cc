#include "host/device/host_api.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "host/base/error_struct.h"
#include "host/base/log.h"
#include "host/device/host_services.h"
#include "host/device/tenon_run.h"
#include "host/provider/host_provider.h"
#include "host/services/trace.h"

namespace tenon::runtime {
namespace {

TEST(HostApi, EveryFunctionIsThere) {
  const tenon_host_api* api = host_api();
  EXPECT_EQ(api->struct_size, sizeof(tenon_host_api));
  const auto* words = reinterpret_cast<void* const*>(reinterpret_cast<const char*>(api) + 8);
  for (size_t i = 0; i < (sizeof(tenon_host_api) - 8) / sizeof(void*); ++i) EXPECT_NE(words[i], nullptr) << i;
}

TEST(HostApi, LogLinesNameTheirProvider) {
  tenon_host_provider provider{"acme", "1.2.3"};
  std::vector<std::string> lines;
  set_log_sink([&](const LogLine& line) {
    lines.push_back(std::string(line.provider) + "|" + std::string(line.code) + "|" +
                    std::string(line.message));
  });
  host_api()->log(&provider, TENON_LOG_WARNING, {"A1", 2}, {"hot", 3});
  set_log_sink({});
  host_api()->log(&provider, TENON_LOG_WARNING, {"A1", 2}, {"cold", 4});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "acme 1.2.3|A1|hot");
}

/// Takes what a step gives.
class Sink : public OutputSink {
 public:
  Status alloc_output(uint64_t step, uint32_t output, std::span<const int64_t> dims,
                      tenon_tensor* out) override {
    if (output != 0) return invalid_input("output ", output);
    made = *make_tensor(TENON_FLOAT32, dims);
    *out = made->tensor;
    last_step = step;
    return ok_status();
  }
  Status set_strings(uint64_t, uint32_t, ValueRef value) override {
    made = std::move(value);
    return ok_status();
  }
  Status set_object(uint64_t, uint32_t, ValueRef value) override {
    made = std::move(value);
    return ok_status();
  }
  Result<ValueRef> value_from_input(uint64_t, uint32_t) override { return made; }

  ValueRef made;
  uint64_t last_step = 0;
};

TEST(HostApi, OutputsMadeWhileRunning) {
  Sink sink;
  tenon_run run;
  run.sink = &sink;
  run.step = 17;
  tenon_tensor out{};
  const int64_t dims[] = {2, 3};
  tenon_error error = make_error();
  ASSERT_EQ(host_api()->alloc_output(&run, 0, 2, dims, &out, &error), TENON_OK);
  EXPECT_EQ(out.byte_size, 24u);
  EXPECT_EQ(sink.last_step, 17u);
  EXPECT_EQ(host_api()->alloc_output(&run, 5, 2, dims, &out, &error), TENON_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "output 5");
  const int64_t bad[] = {-2};
  EXPECT_EQ(host_api()->alloc_output(&run, 0, 1, bad, &out, &error), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(host_api()->alloc_output(&run, 0, 1, nullptr, &out, nullptr), TENON_INVALID_ARGUMENT);

  const int64_t offsets[] = {0, 2, 3};
  ASSERT_EQ(host_api()->set_strings(&run, 0, 1, dims, offsets, "abc", nullptr), TENON_OK);
  EXPECT_EQ(sink.made->tensor.dtype, static_cast<uint32_t>(TENON_STRING));

  tenon_value* sequence = nullptr;
  ASSERT_EQ(host_api()->value_make(TENON_KIND_SEQUENCE, TENON_INT64, nullptr, 0, &sequence, nullptr),
            TENON_OK);
  ASSERT_EQ(host_api()->set_object(&run, 0, sequence, nullptr), TENON_OK);
  EXPECT_EQ(sink.made->count.load(), 1u);

  tenon_run without;
  EXPECT_EQ(host_api()->alloc_output(&without, 0, 2, dims, &out, nullptr), TENON_FAILED_PRECONDITION);
  EXPECT_EQ(host_api()->scratch(&without, 10), nullptr);
}

TEST(HostApi, SpansGoToTheTraceOfTheRun) {
  const auto trace = host_api()->trace;
  EXPECT_EQ(trace(nullptr, {"a", 1}, 10, 20), 0u);
  tenon_run run;
  EXPECT_EQ(trace(&run, {"a", 1}, 10, 20), 0u) << "not traced";
  Trace events;
  run.trace = &events;
  run.traced_as = "acme/gpu:0";
  EXPECT_EQ(trace(&run, {nullptr, 0}, 0, 0), 1u) << "only asks";
  EXPECT_EQ(trace(&run, {"inner", 5}, 10, 25), 1u);
  const std::vector<Trace::Event> added = events.take();
  ASSERT_EQ(added.size(), 1u);
  EXPECT_EQ(added[0].name, "inner");
  EXPECT_EQ(added[0].category, "span");
  EXPECT_EQ(added[0].provider, "acme/gpu:0");
  EXPECT_EQ(added[0].begin_ns, 10);
  EXPECT_EQ(added[0].duration_ns, 15);
}

TEST(HostApi, ValuesThroughTheTable) {
  const tenon_host_api& api = *host_api();
  tenon_value* tensor = nullptr;
  void* data = nullptr;
  const int64_t dims[] = {4};
  ASSERT_EQ(api.value_make_tensor(TENON_INT32, 1, dims, &tensor, &data, nullptr), TENON_OK);
  EXPECT_NE(data, nullptr);
  tenon_value* sequence = nullptr;
  ASSERT_EQ(api.value_make(TENON_KIND_SEQUENCE, 0, &tensor, 1, &sequence, nullptr), TENON_OK);
  api.value_release(tensor);
  EXPECT_EQ(api.value_kind(sequence), static_cast<uint32_t>(TENON_KIND_SEQUENCE));
  EXPECT_EQ(api.value_size(sequence), 1u);
  EXPECT_EQ(api.value_element(sequence, 1), nullptr);
  tenon_tensor out{};
  EXPECT_EQ(api.value_tensor(api.value_element(sequence, 0), &out), TENON_OK);
  EXPECT_EQ(out.data, data);
  EXPECT_EQ(api.value_tensor(sequence, &out), TENON_INVALID_ARGUMENT);
  api.value_retain(sequence);
  api.value_release(sequence);
  api.value_release(sequence);
}

TEST(HostApi, SharedObjectsAreApartByPrefix) {
  SharedCache cache;
  tenon_host_instance a{"device=1/lib/", "lib/", &cache, nullptr},
      b{"device=2/lib/", "lib/", &cache, nullptr};
  const auto make = [](void* context, void** out, tenon_error*) -> tenon_status {
    *out = context;
    return TENON_OK;
  };
  int one = 0, two = 0;
  void* got = nullptr;
  ASSERT_EQ(host_api()->shared(&a, {"k", 1}, make, &one, nullptr, &got, nullptr), TENON_OK);
  ASSERT_EQ(host_api()->shared(&b, {"k", 1}, make, &two, nullptr, &got, nullptr), TENON_OK);
  EXPECT_EQ(got, &two);
  host_api()->shared_release(&a, {"k", 1});
  host_api()->shared_release(&b, {"k", 1});
  tenon_str blob{};
  EXPECT_EQ(host_api()->cache_get(&a, {"k", 1}, &blob, nullptr), TENON_NOT_FOUND);
  EXPECT_EQ(host_api()->cache_put(&a, {"k", 1}, {"b", 1}, nullptr), TENON_OK);
}

TEST(HostApi, ABlobAboveALimitIsNamedInTheLog) {
  const std::string folder = ::testing::TempDir() + "blobs_of_host_api";
  std::filesystem::remove_all(folder);
  BlobCache cache(folder);
  tenon_host_instance host;
  host.blobs = &cache;
  host.blob_limits = {3, 0};
  std::vector<std::string> lines;
  set_log_sink([&](const LogLine& line) { lines.push_back(str_cat(line.code, ": ", line.message)); });
  EXPECT_EQ(host_api()->cache_put(&host, {"k", 1}, {"four", 4}, nullptr), TENON_RESOURCE_EXHAUSTED);
  EXPECT_EQ(host_api()->cache_put(&host, {"k", 1}, {"two", 3}, nullptr), TENON_OK);
  set_log_sink({});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].rfind("CACHE: a blob of 4 bytes for the cache exceeds limits.cache_blob_bytes (3)", 0),
            0u)
      << lines[0];
  std::filesystem::remove_all(folder);
}

TEST(Border, StatusThereAndBack) {
  tenon_error error = make_error();
  const Status status = out_of_memory("no room").with_context("node 'a' (Conv)");
  EXPECT_EQ(give_status(status, &error), TENON_RESOURCE_EXHAUSTED);
  EXPECT_STREQ(error.where, "node 'a' (Conv)");
  EXPECT_EQ(error.kind, static_cast<uint32_t>(ErrorKind::kOutOfMemory));
  const Status back = take_status(error.code, error, "acme 1.0.0");
  EXPECT_EQ(back.kind(), ErrorKind::kOutOfMemory);
  EXPECT_EQ(back.message(), "no room");
  EXPECT_EQ(back.where(), "acme 1.0.0: node 'a' (Conv)");
  EXPECT_EQ(give_status(status, nullptr), TENON_RESOURCE_EXHAUSTED);

  error = make_error();
  error.flags = TENON_ERROR_DEVICE_LOST;
  EXPECT_EQ(take_status(TENON_UNAVAILABLE, error, "x").kind(), ErrorKind::kDeviceLost);
  EXPECT_EQ(take_status(4711, make_error(), "x").code(), StatusCode::kUnknown);
  EXPECT_FALSE(take_status(4711, make_error(), "x").message().empty());
}

TEST(Border, NeverWritesBeyondTheCallersStruct) {
  tenon_error error;
  std::memset(&error, 0x5A, sizeof(error));
  error.struct_size = offsetof(tenon_error, message);
  give_status(internal_error("text"), &error);
  EXPECT_EQ(error.code, TENON_INTERNAL);
  EXPECT_EQ(error.message[0], 0x5A);
  std::memset(&error, 0x5A, sizeof(error));
  error.struct_size = 8;
  give_status(internal_error("text"), &error);
  EXPECT_EQ(error.flags, 0x5A5A5A5Au);
}

}  // namespace
}  // namespace tenon::runtime
