// The table that Provider makes from classes: which functions it has, and what they read and write.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tenon/ep/provider.hpp"

namespace tenon::ep {
namespace {

std::vector<std::string> g_calls;

struct Plain {
  static constexpr std::string_view kId = "plain", kVersion = "1.0.0";
  struct Provider {
    explicit Provider(const tenon_provider_params&) {}
    void devices(const DeviceSink&) {}
  };
  struct Device {
    Device(Provider&, std::string_view stable_id) { g_calls.push_back(cat("open ", stable_id)); }
  };
  struct Instance {
    Instance(Device&, const tenon_instance_params&) {}
    void offer(const tenon_graph*, const tenon_claim_sink*) {}
  };
  struct Program {
    Program(Instance&, const tenon_compile_args&) {}
    std::unique_ptr<int> prepare(tenon_prepare_args&) { return std::make_unique<int>(1); }
    void run(const tenon_run_args&) {}
  };
};

struct Queued : Plain {
  struct Stream {
    explicit Stream(Instance&) {}
    void flush() {}
    uint64_t point() { return 7; }
    void wait(Stream& other, uint64_t point) {
      g_calls.push_back(cat(&other == this ? "wait for itself " : "wait for another ", point));
    }
    void wait_point(uint64_t point, int64_t timeout_ns) {
      g_calls.push_back(cat("wait for point ", point, " ", timeout_ns));
      throw Error{TENON_UNAVAILABLE, "the work was lost", TENON_ERROR_ASYNC, "node 'early' (Add)"};
    }
  };
};

struct Timed : Plain {
  struct Stream : Queued::Stream {
    Stream(Instance& instance, const tenon_stream_params& params) : Queued::Stream(instance) {
      g_calls.push_back(cat("stream with the flags ", params.flags));
    }
    void wait(Stream&, uint64_t) {}
    void times(const TimeSink& sink) { sink.add({"node 'a' (Add)", 3, 10, 25}); }
  };
};

struct Recorded : Plain {
  struct Stream;
  struct Recording {
    ~Recording() { g_calls.push_back("recording destroyed"); }
    void run(Stream&) { g_calls.push_back("recording run"); }
  };
  struct Stream : Queued::Stream {
    using Queued::Stream::Stream;
    void wait(Stream&, uint64_t) {}
    void record_begin() { g_calls.push_back("record"); }
    std::unique_ptr<Recording> record_end() { return std::make_unique<Recording>(); }
  };
};

struct Owner : Plain {
  struct Device : Plain::Device {
    using Plain::Device::Device;
    void domains(const DomainSink&) {}
    Allocation allocate(uint32_t domain, uint64_t bytes, void* stream) {
      g_calls.push_back(cat("allocate ", domain, " ", bytes, stream == nullptr ? "" : " on a stream"));
      return {reinterpret_cast<tenon_buffer*>(this), this};
    }
    void free(tenon_buffer*, void*) {}
    void copy(const tenon_location& to, const tenon_location& from, uint64_t bytes, void*) {
      g_calls.push_back(cat("copy ", from.domain, " to ", to.domain, " ", bytes));
    }
  };
};

struct Mapped : Owner {
  struct Device : Owner::Device {
    using Owner::Device::Device;
    void* map(tenon_buffer*, uint64_t byte_offset, uint64_t bytes, uint32_t flags) {
      g_calls.push_back(cat("map ", byte_offset, " ", bytes, " ", flags));
      return this;
    }
    void unmap(tenon_buffer*, void*) {}
    tenon_memory_info memory() { return {0, 0, 100, 40}; }
    void trim() { g_calls.push_back("trim"); }
  };
};

template <class Traits>
const tenon_ep_api& api_of() {
  tenon_ep_negotiation io{};
  io.struct_size = sizeof(io);
  io.host_major = TENON_EP_ABI_MAJOR;
  io.host_minor = TENON_EP_ABI_MINOR;
  io.host_oldest_minor = TENON_EP_ABI_OLDEST_MINOR;
  EXPECT_EQ(Provider<Traits>::negotiate(&io), TENON_OK) << io.reason;
  return *io.api;
}

std::set<std::string> functions(const tenon_ep_api& api) {
  std::set<std::string> out;
#define ADD(function, need, threads, time) \
  if (api.function != nullptr) out.insert(#function);
  TENON_EP_SLOTS(ADD)
#undef ADD
  return out;
}

/// The required functions, those of the groups, and the named ones.
std::set<std::string> wanted(const std::set<std::string>& groups, std::set<std::string> out = {}) {
#define ADD(function, need, threads, time) \
  if (std::string(#need) == "REQUIRED" || groups.count(#need) != 0) out.insert(#function);
  TENON_EP_SLOTS(ADD)
#undef ADD
  return out;
}

class ProviderTable : public testing::Test {
 protected:
  ProviderTable() { g_calls.clear(); }
};

TEST_F(ProviderTable, HasTheFunctionsOfTheMembers) {
  EXPECT_EQ(functions(api_of<Plain>()), wanted({}));
  EXPECT_EQ(functions(api_of<Queued>()), wanted({"STREAM"}, {"stream_create"}));
  EXPECT_EQ(functions(api_of<Recorded>()), wanted({"STREAM", "RECORD"}, {"stream_create", "record_begin"}));
  EXPECT_EQ(functions(api_of<Timed>()), wanted({"STREAM"}, {"stream_create", "stream_times"}));
  EXPECT_EQ(functions(api_of<Owner>()), wanted({"DOMAIN"}, {"device_domains"}));
  EXPECT_EQ(functions(api_of<Mapped>()),
            wanted({"DOMAIN", "MAP"}, {"device_domains", "map", "device_memory", "device_trim"}));
}

template <class Traits>
class Opened {
 public:
  Opened() : api(api_of<Traits>()) {
    tenon_provider_params provider_params{};
    provider_params.struct_size = sizeof(provider_params);
    EXPECT_EQ(api.provider_create(&provider_params, &provider, nullptr), TENON_OK);
    tenon_device_params device_params{};
    device_params.struct_size = sizeof(device_params);
    device_params.stable_id = to_str("0");
    EXPECT_EQ(api.device_open(provider, &device_params, &device, nullptr), TENON_OK);
    tenon_instance_params instance_params{};
    instance_params.struct_size = sizeof(instance_params);
    EXPECT_EQ(api.instance_create(device, &instance_params, &instance, nullptr), TENON_OK);
    if (api.stream_create != nullptr) {
      tenon_stream_params stream_params{};
      stream_params.struct_size = sizeof(stream_params);
      EXPECT_EQ(api.stream_create(instance, &stream_params, &stream, nullptr), TENON_OK);
    }
    g_calls.clear();
  }
  ~Opened() {
    if (stream != nullptr) api.stream_destroy(stream);
    api.instance_destroy(instance);
    api.device_close(device);
    api.provider_destroy(provider);
  }

  const tenon_ep_api& api;
  tenon_provider* provider = nullptr;
  tenon_device* device = nullptr;
  tenon_instance* instance = nullptr;
  tenon_stream* stream = nullptr;
};

TEST_F(ProviderTable, ReadsArgumentsWithinTheirSize) {
  Opened<Mapped> opened;
  const auto garbage = reinterpret_cast<tenon_stream*>(8);
  tenon_allocate_params allocate{offsetof(tenon_allocate_params, stream), 1, 64, garbage};
  tenon_allocation made{};
  made.struct_size = sizeof(made);
  EXPECT_EQ(opened.api.allocate(opened.device, &allocate, &made, nullptr), TENON_OK);
  tenon_copy_params copy{};
  copy.struct_size = offsetof(tenon_copy_params, stream);
  copy.destination.domain = 1;
  copy.bytes = 32;
  EXPECT_EQ(opened.api.copy(opened.device, &copy, nullptr), TENON_OK);
  void* address = nullptr;
  tenon_map_params map{offsetof(tenon_map_params, bytes), TENON_MAP_WRITE | TENON_MAP_DISCARD, made.buffer,
                       16, 32};
  EXPECT_EQ(opened.api.map(opened.device, &map, &address, nullptr), TENON_OK);
  EXPECT_EQ(address, opened.device);
  EXPECT_EQ(opened.api.device_trim(opened.device, nullptr), TENON_OK);
  EXPECT_EQ(g_calls, (std::vector<std::string>{"allocate 1 64", "copy 0 to 1 32", "map 16 0 6", "trim"}));
}

TEST_F(ProviderTable, WritesResultsWithinTheirSize) {
  Opened<Mapped> opened;
  const auto untouched = reinterpret_cast<void*>(8);
  tenon_allocate_params allocate{sizeof(tenon_allocate_params), 1, 64, nullptr};
  tenon_allocation made{offsetof(tenon_allocation, address), 9, nullptr, untouched};
  EXPECT_EQ(opened.api.allocate(opened.device, &allocate, &made, nullptr), TENON_OK);
  EXPECT_EQ(made.struct_size, offsetof(tenon_allocation, address));
  EXPECT_EQ(made.reserved, 0u);
  EXPECT_EQ(static_cast<void*>(made.buffer), opened.device);
  EXPECT_EQ(made.address, untouched);
  made.struct_size = sizeof(made);
  EXPECT_EQ(opened.api.allocate(opened.device, &allocate, &made, nullptr), TENON_OK);
  EXPECT_EQ(made.address, opened.device);

  tenon_memory_info memory{offsetof(tenon_memory_info, free_bytes), 0, 1, 2};
  EXPECT_EQ(opened.api.device_memory(opened.device, &memory, nullptr), TENON_OK);
  EXPECT_EQ(memory.total_bytes, 100u);
  EXPECT_EQ(memory.free_bytes, 2u);
  memory.struct_size = sizeof(memory);
  EXPECT_EQ(opened.api.device_memory(opened.device, &memory, nullptr), TENON_OK);
  EXPECT_EQ(memory.free_bytes, 40u);
}

TEST_F(ProviderTable, KeepsThePlaceOfALateError) {
  Opened<Queued> opened;
  uint64_t point = 0;
  EXPECT_EQ(opened.api.stream_point(opened.stream, &point, nullptr), TENON_OK);
  EXPECT_EQ(point, 7u);
  EXPECT_EQ(opened.api.stream_wait(opened.stream, opened.stream, 5, nullptr), TENON_OK);
  tenon_error error{};
  error.struct_size = sizeof(error);
  error.kind = 77;
  EXPECT_EQ(opened.api.point_wait(opened.stream, 7, -1, &error), TENON_UNAVAILABLE);
  EXPECT_EQ(error.flags, uint32_t{TENON_ERROR_ASYNC});
  EXPECT_EQ(error.kind, 0u);
  EXPECT_STREQ(error.where, "node 'early' (Add)");
  EXPECT_STREQ(error.message, "the work was lost");
  EXPECT_EQ(g_calls, (std::vector<std::string>{"wait for itself 5", "wait for point 7 -1"}));
}

TEST_F(ProviderTable, PassesTheFlagsOfAStreamAndItsTimes) {
  Opened<Timed> opened;
  tenon_stream_params params{sizeof(tenon_stream_params), TENON_STREAM_TIMED};
  tenon_stream* stream = nullptr;
  ASSERT_EQ(opened.api.stream_create(opened.instance, &params, &stream, nullptr), TENON_OK);
  EXPECT_EQ(g_calls, (std::vector<std::string>{"stream with the flags 1"}));
  std::vector<std::string> seen;
  tenon_time_sink sink{sizeof(tenon_time_sink), 0, &seen, nullptr};
  sink.add = [](void* context, const tenon_time_span* span, tenon_error* error) -> tenon_status {
    auto& all = *static_cast<std::vector<std::string>*>(context);
    all.push_back(cat(view(span->name), " ", span->work_id, " ", span->begin_ns, " ", span->end_ns));
    return all.size() == 1 ? TENON_OK : detail::fill_error(error, TENON_RESOURCE_EXHAUSTED, 0, {}, "full");
  };
  EXPECT_EQ(opened.api.stream_times(stream, &sink, nullptr), TENON_OK);
  EXPECT_EQ(seen, (std::vector<std::string>{"node 'a' (Add) 3 10 25"}));
  EXPECT_EQ(opened.api.stream_times(stream, &sink, nullptr), TENON_RESOURCE_EXHAUSTED);
  opened.api.stream_destroy(stream);
}

TEST_F(ProviderTable, OwnsNoRecordingThatTheHostDropsOrTakes) {
  Opened<Recorded> opened;
  EXPECT_EQ(opened.api.record_begin(opened.stream, nullptr), TENON_OK);
  EXPECT_EQ(opened.api.record_end(opened.stream, nullptr, nullptr), TENON_OK);
  EXPECT_EQ(g_calls, (std::vector<std::string>{"record", "recording destroyed"}));
  g_calls.clear();
  tenon_recording* recording = nullptr;
  EXPECT_EQ(opened.api.record_end(opened.stream, &recording, nullptr), TENON_OK);
  ASSERT_NE(recording, nullptr);
  EXPECT_EQ(opened.api.recording_run(recording, opened.stream, nullptr), TENON_OK);
  EXPECT_EQ(g_calls, (std::vector<std::string>{"recording run"}));
  opened.api.recording_destroy(recording);
  EXPECT_EQ(g_calls.back(), "recording destroyed");
}

TEST(Report, PrefersThePlaceOfTheErrorToThatOfTheCall) {
  const auto where = [](const Error& thrown) {
    tenon_error error{};
    error.struct_size = sizeof(error);
    try {
      throw thrown;
    } catch (...) {
      EXPECT_EQ(report(&error, "node 'now' (Mul)"), thrown.code);
    }
    return std::string(error.where);
  };
  EXPECT_EQ(where({TENON_INTERNAL, "text"}), "node 'now' (Mul)");
  EXPECT_EQ(where({TENON_INTERNAL, "text", TENON_ERROR_ASYNC, "node 'then' (Add)"}), "node 'then' (Add)");
}

TEST(CallHost, KeepsThePlaceThatTheHostNames) {
  const auto refuse = [](int, tenon_error* error) -> tenon_status {
    return detail::fill_error(error, TENON_NOT_FOUND, TENON_ERROR_RETRYABLE, "file 'a'", "not there");
  };
  try {
    call_host(static_cast<tenon_status (*)(int, tenon_error*)>(refuse), 1);
    FAIL() << "a failure of the host was lost";
  } catch (const Error& e) {
    EXPECT_EQ(e.code, TENON_NOT_FOUND);
    EXPECT_EQ(e.flags, uint32_t{TENON_ERROR_RETRYABLE});
    EXPECT_EQ(e.where, "file 'a'");
    EXPECT_EQ(e.text, "not there");
  }
}

TEST(DeviceSink, SetsTheFlagsOfWhatIsGiven) {
  std::vector<tenon_device_info> seen;
  tenon_device_sink raw{};
  raw.struct_size = sizeof(raw);
  raw.context = &seen;
  raw.add = [](void* context, const tenon_device_info* info, tenon_error*) -> tenon_status {
    static_cast<std::vector<tenon_device_info>*>(context)->push_back(*info);
    return TENON_OK;
  };
  const DeviceSink sink(&raw);
  sink.add({.stable_id = "bare", .flags = TENON_DEVICE_SOFTWARE_EMULATED});
  std::array<uint8_t, 16> uuid{};
  uuid[15] = 0xab;
  sink.add({.stable_id = "gpu", .driver_version = "550.1", .pci = PciAddress{1, 2, 3, 4}, .uuid = uuid});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].flags, uint32_t{TENON_DEVICE_SOFTWARE_EMULATED});
  EXPECT_EQ(seen[1].flags, uint32_t{TENON_DEVICE_HAS_PCI | TENON_DEVICE_HAS_UUID});
  EXPECT_EQ(seen[1].pci_domain, 1u);
  EXPECT_EQ(seen[1].pci_bus, 2u);
  EXPECT_EQ(seen[1].pci_device, 3u);
  EXPECT_EQ(seen[1].pci_function, 4u);
  EXPECT_EQ(seen[1].uuid[15], 0xab);
  EXPECT_EQ(view(seen[1].driver_version), "550.1");
}

}  // namespace
}  // namespace tenon::ep
