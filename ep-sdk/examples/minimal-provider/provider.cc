// A whole provider. It has one kernel, for its own operator com.example.AddVersion, which adds the provider's major
// version to each element: the result shows which version ran.
#include <cstdlib>

#include "tenon/ep.hpp"

namespace {

using namespace tenon::ep;

struct AddVersion {
  // Whether this kernel can run the node. A rejection names what does not fit.
  static Support supports(const NodeView& node) { return Check(node).input(0, TypeList<float>()); }

  // The host does not know this operator, so the kernel gives the output's shape. The output may take the input's
  // memory.
  void prepare(PrepareContext& context) const {
    context.set_output(0, context.input(0).dims());
    context.may_overwrite(0, 0);
  }

  void run(const Context& context) const {
    const float major = static_cast<float>(std::atoi(TENON_PROVIDER_VERSION));
    const float* x = context.input(0).data<float>();
    float* y = context.output(0).data<float>();
    context.parallel_for(context.input(0).size(), 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] + major;
    });
  }
};
TENON_KERNEL(AddVersion, .domain = "com.example", .op_type = "AddVersion")

struct Minimal {
  static constexpr std::string_view kId = TENON_PROVIDER_ID;
  static constexpr std::string_view kVersion = TENON_PROVIDER_VERSION;
  static void devices(const DeviceSink& sink) {
    sink.add({.kind = TENON_DEVICE_CPU, .stable_id = "0", .name = "plain memory", .vendor = "Example"});
  }
};

}  // namespace

TENON_KERNEL_PROVIDER(Minimal)
