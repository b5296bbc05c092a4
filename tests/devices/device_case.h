// A provider of devices: sessions with it, its device, and a node that is bound to memory of the test's own. The tests of this
// folder run once for each such provider: TENON_TEST_PROVIDER is its id (tests/CMakeLists.txt).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/base/error_struct.h"
#include "host/device/program.h"
#include "host/device/tenon_run.h"
#include "host/device/transfer.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {

using runtime::Buffer;
using runtime::Instance;
using runtime::MemoryDomain;
using runtime::Place;
using runtime::Stream;

/// The provider under test.
inline const std::string& provider() {
  static const std::string id = [] {
    const char* given = std::getenv("TENON_TEST_PROVIDER");
    return std::string(given == nullptr ? "opencl" : given);
  }();
  return id;
}

/// Where tensors can be, as values of the provider's option "memory": where the host sees them, and in memory of the device's own.
/// cuda has no such option: its tensors are in the device's memory.
inline const std::vector<std::string>& memories() {
  static const std::map<std::string, std::vector<std::string>> all{
      {"opencl", {"host", "device"}}, {"vulkan", {"shared", "device"}}, {"cuda", {"device"}}};
  return all.at(provider());
}
/// Where the host sees tensors, if it can.
inline std::string host_visible() { return memories()[0]; }
/// Whether tensors are in plain memory of the host, which needs no copies of them at all.
inline bool in_place(const std::string& memory) { return memory == "host"; }
inline uint32_t domain_of(const std::string& memory) {
  return in_place(memory) ? TENON_DOMAIN_HOST : memory == "device" ? 1u : 2u;
}

/// `memory`: the option of that name. `order`: as in a config; if empty, the provider alone.
inline config::Config device_config(const std::string& memory, std::vector<std::string> order = {}) {
  if (order.empty()) order = {provider()};
  config::Config config = config_for({providers_dir()}, order);
  if (memories().size() > 1) {
    EXPECT_TRUE(config.set("provider." + provider() + ".options.memory", memory).ok());
  }
  return config;
}

/// The instance of a session on the device.
inline std::shared_ptr<Instance> device_instance(const std::string& memory,
                                                 const std::string& device = provider()) {
  GraphMaker m;
  m.output(m.node("Relu", {m.input("x", GraphMaker::f32({2}))}), "y");
  const auto session = make_session(m.bytes(), device_config(memory, {device}));
  return session == nullptr ? nullptr : session->assembly()->selection.instances.at(0);
}

/// y = x[i] with x of three floats and i of two integers: a compiled node 'pick'.
class Pick {
 public:
  explicit Pick(const std::string& memory, const std::string& device = provider())
      : Pick(device_instance(memory, device), domain_of(memory)) {}
  Pick(const std::shared_ptr<Instance>& instance, uint32_t domain)
      : domain_(*instance->device().find_domain(domain)) {
    ir::Node node;
    node.name = "pick";
    node.op_type = "Gather";
    node.since_version = 13;
    node.inputs = {input("x", ir::ElementType::kFloat32, 3), input("i", ir::ElementType::kInt64, 2)};
    node.outputs = {graph_.add_value("y", ir::Type::tensor(ir::ElementType::kFloat32, ir::Shape::of({2})))};
    const std::vector<ir::ValueId> inputs = node.inputs, outputs = node.outputs;
    const std::vector<ir::NodeId> nodes{graph_.add_node(std::move(node))};
    graph_.add_output(outputs[0]);
    runtime::GraphSource source;
    source.graph = &graph_;
    source.opset_imports = &opsets_;
    source.constants = &constants_;
    auto view = *runtime::GraphView::of_claim(source, {nodes, inputs, outputs});
    program = *runtime::Program::compile(instance, view, 0, "node 'pick' (Gather)");
  }

  Instance& instance() const { return program->instance(); }
  runtime::Device& device() const { return instance().device(); }
  Stream make_stream() const { return *instance().make_stream(); }
  /// Where the tensors of the instance are.
  const MemoryDomain& domain() const { return domain_; }

  std::shared_ptr<runtime::Program> program;

 private:
  ir::ValueId input(const std::string& name, ir::ElementType element, int64_t n) {
    const ir::ValueId id = graph_.add_value(name, ir::Type::tensor(element, ir::Shape::of({n})));
    graph_.add_input(id);
    return id;
  }

  ir::Graph graph_;
  std::map<std::string, int64_t> opsets_ = {{"", 21}};
  runtime::ConstantPool constants_;
  const MemoryDomain& domain_;
};

/// A `pick` that is bound to memory of its own.
class Bound {
 public:
  explicit Bound(const Pick& pick)
      : x(*Buffer::allocate(pick.domain(), 12)),
        i(*Buffer::allocate(pick.domain(), 16)),
        y(*Buffer::allocate(pick.domain(), 8)),
        program_(pick.program) {
    inputs_[0] = tensor_of(x, TENON_FLOAT32, kThree);
    inputs_[1] = tensor_of(i, TENON_INT64, kTwo);
    output_ = tensor_of(y, TENON_FLOAT32, kTwo);
    const std::vector<int64_t> dims{kTwo};
    const std::vector<runtime::Prepared::Dims> known{&dims};
    auto prepared = *runtime::Prepared::make(program_, inputs_, known);
    binding_ = *runtime::Binding::make(std::move(prepared), inputs_, {&output_, 1}, nullptr);
  }

  void set(const std::vector<float>& floats, const std::vector<int64_t>& indices) {
    write(x, floats.data(), 12);
    write(i, indices.data(), 16);
    const float nothing[2] = {-99, -99};
    write(y, nothing, 8);
  }
  /// Of the work that is done.
  std::vector<float> result() const {
    std::vector<float> out(2);
    EXPECT_TRUE(runtime::copy(Place::host(out.data()), Place::of(y, 0), 8).ok());
    return out;
  }
  Status run(const Stream& stream, uint64_t work_id = 0) {
    tenon_run_args args{};
    ::tenon_run run;
    args.struct_size = sizeof(args);
    args.program = program_->handle();
    args.binding = binding_.handle();
    args.inputs = inputs_;
    args.outputs = &output_;
    args.input_count = 2;
    args.output_count = 1;
    args.stream = stream.handle();
    args.run = &run;
    args.work_id = work_id;
    tenon_error error = make_error();
    const tenon_status status = program_->api().run(&args, &error);
    return status == TENON_OK ? ok_status() : program_->status(status, error);
  }

  Buffer x, i, y;

 private:
  static constexpr int64_t kTwo = 2, kThree = 3;
  static tenon_tensor tensor_of(const Buffer& buffer, uint32_t dtype, const int64_t& dim) {
    tenon_tensor out{};
    out.kind = TENON_KIND_TENSOR;
    out.dtype = dtype;
    out.rank = 1;
    out.dims = &dim;
    out.byte_size = buffer.bytes();
    buffer.place(&out, 0);
    return out;
  }
  static void write(const Buffer& to, const void* from, uint64_t bytes) {
    EXPECT_TRUE(runtime::copy(Place::of(to, 0), Place::host(const_cast<void*>(from)), bytes).ok());
  }

  std::shared_ptr<runtime::Program> program_;
  tenon_tensor inputs_[2]{}, output_{};
  runtime::Binding binding_;
};

/// Work of some tenths of a second: copies from one buffer to another.
class LongWork {
 public:
  explicit LongWork(runtime::Device& device)
      : device_(device),
        from_(*Buffer::allocate(*device.find_domain(1), kBytes)),
        to_(*Buffer::allocate(*device.find_domain(1), kBytes)) {
    using Clock = std::chrono::steady_clock;
    set_last(0);  // the first copy may wake the device
    const auto begin = Clock::now();
    for (int n = 0; n < kMeasured; ++n)
      EXPECT_TRUE(device_.copy(to_.location(0), from_.location(0), kBytes, nullptr).ok());
    const auto each =
        std::max<Clock::duration>((Clock::now() - begin) / kMeasured, std::chrono::microseconds(1));
    copies_ = std::max<int64_t>(kLeast, std::chrono::milliseconds(50) / each);
  }

  void enqueue(const Stream& stream) {
    for (int64_t n = 0; n < copies_; ++n)
      ASSERT_TRUE(device_.copy(to_.location(0), from_.location(0), kBytes, stream.handle()).ok());
  }
  /// Writes what the work copies on.
  void set_last(float value) {
    ASSERT_TRUE(device_.copy(from_.location(kBytes - 4), Place::host(&value).location(), 4, nullptr).ok());
  }
  int64_t copies() const { return copies_; }
  tenon_location last() const { return to_.location(kBytes - 4); }

 private:
  static constexpr uint64_t kBytes = uint64_t{64} << 20;
  static constexpr int kMeasured = 4, kLeast = 40;
  runtime::Device& device_;
  Buffer from_, to_;
  int64_t copies_ = kLeast;  // as many as take 50 ms on this device
};

}  // namespace tenon::test
