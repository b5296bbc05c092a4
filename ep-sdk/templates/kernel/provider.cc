// A provider in kernel style: it runs one node at a time, in the host's memory and on the host's threads.
//
// A kernel is a class and a line that registers it. To add an operator, copy Relu. `supports` may only say yes where
// `run` is right for every input that the node can get; other nodes go to the next provider.
#include "tenon/ep.hpp"

namespace {

using namespace tenon::ep;

class Relu {
 public:
  // Once per node, when the model is loaded: read attributes here, as node.attr_f("alpha", 0.01F), and options.
  explicit Relu(const NodeView& node) : grain_(node.instance().options.integer("grain", 16384)) {}

  static Support supports(const NodeView& node) { return Check(node).input(0, TypeList<float>()); }

  // Once per shape. The output may take the memory of the input.
  void prepare(PrepareContext& context) const {
    context.set_output(0, context.input(0).dims());
    context.may_overwrite(0, 0);
  }

  // In each Run: no allocation, no lock.
  void run(const Context& context) const {
    const float* x = context.input(0).data<float>();
    float* y = context.output(0).data<float>();
    context.parallel_for(context.input(0).size(), grain_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] < 0 ? 0 : x[i];
    });
  }

 private:
  int64_t grain_;
};
TENON_KERNEL(Relu, .op_type = "Relu", .since = 6)

/// Add of two tensors of one shape. A node that broadcasts is rejected, and so is one whose shapes are not known.
struct Add {
  static Support supports(const NodeView& node) {
    const DimsView a = node.input(0).dims(), b = node.input(1).dims();
    const bool is_known = node.input(0).has_rank() && std::count(a.begin(), a.end(), TENON_DIM_UNKNOWN) == 0;
    const bool is_same = node.input(1).has_rank() && std::equal(a.begin(), a.end(), b.begin(), b.end());
    return Check(node)
        .inputs(0, TypeList<float>())
        .that(is_known && is_same, TENON_REJECT_SHAPE, "the shapes ", a, " and ", b,
              " must be known and equal");
  }

  void prepare(PrepareContext& context) const { context.set_output(0, context.input(0).dims()); }

  void run(const Context& context) const {
    const float *a = context.input(0).data<float>(), *b = context.input(1).data<float>();
    float* sum = context.output(0).data<float>();
    context.parallel_for(context.input(0).size(), 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) sum[i] = a[i] + b[i];
    });
  }
};
TENON_KERNEL(Add, .op_type = "Add", .since = 7, .contract = "A: any; B: = A")

struct Traits {
  static constexpr std::string_view kId = TENON_PROVIDER_ID, kVersion = TENON_PROVIDER_VERSION;
  static void devices(const DeviceSink& sink) {
    sink.add({.kind = TENON_DEVICE_CPU, .stable_id = "0", .name = "processor"});
  }
};

}  // namespace

TENON_KERNEL_PROVIDER(Traits)
