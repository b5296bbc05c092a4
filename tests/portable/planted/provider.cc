// Relu, with the defect that the option names. What goes wrong depends on what the kit does in
// another way on each system: pages, processes, the state of a process, and libraries.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tenon/ep.hpp"

namespace {

using namespace tenon::ep;

class Relu {
 public:
  explicit Relu(const NodeView& node) : defect_(node.instance().options.text("defect", "none")) {}

  static Support supports(const NodeView& node) { return Check(node).input(0, TypeList<float>()); }

  void prepare(PrepareContext& context) const { context.set_output(0, context.input(0).dims()); }

  void run(const Context& context) const {
    const int64_t size = context.output(0).size();
    const float* x = context.input(0).data<float>();
    float* y = context.output(0).data<float>();
    for (int64_t i = 0; i < size; ++i) y[i] = x[i] < 0 ? 0 : x[i];
    if (defect_ == "overrun") y[size] = 1;
    if (defect_ == "writes_input") const_cast<float*>(x)[0] = 1;
    if (defect_ == "writes_nowhere") *reinterpret_cast<volatile int*>(16) = 1;
    if (defect_ == "exits") std::_Exit(7);
    if (defect_ == "hangs") std::this_thread::sleep_for(std::chrono::hours(1));
    if (defect_ == "moves") std::filesystem::current_path(std::filesystem::current_path().parent_path());
    if (defect_ == "leaves_thread")
      std::thread([] { std::this_thread::sleep_for(std::chrono::hours(1)); }).detach();
  }

 private:
  std::string defect_;
};
TENON_KERNEL(Relu, .op_type = "Relu", .since = 6)

struct Planted {
  static constexpr std::string_view kId = TENON_PROVIDER_ID;
  static constexpr std::string_view kVersion = TENON_PROVIDER_VERSION;
  static void devices(const DeviceSink& sink) {
    sink.add({.kind = TENON_DEVICE_CPU, .stable_id = "0", .name = "plain memory", .vendor = "Tests"});
  }
};

}  // namespace

TENON_KERNEL_PROVIDER(Planted)
