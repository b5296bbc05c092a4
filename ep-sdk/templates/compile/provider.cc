// A provider in compile style: it takes groups of elementwise nodes of float32 and compiles each to one small program.
// A Run goes through the tensors once, in blocks that stay in the cache, whatever the number of nodes.
//
// To add an operator, add a row to kOps and a case to apply(). The claims of a real compiler differ in judge(), its
// programs in Program; convex_groups() is right for any set of nodes.
#include <map>

#include "tenon/ep.hpp"

namespace {

using namespace tenon::ep;

enum class Op { kAdd, kSub, kMul, kNeg, kRelu };
struct OpRow {
  std::string_view name;
  Op op;
  int inputs;
};
constexpr OpRow kOps[] = {{"Add", Op::kAdd, 2},
                          {"Sub", Op::kSub, 2},
                          {"Mul", Op::kMul, 2},
                          {"Neg", Op::kNeg, 1},
                          {"Relu", Op::kRelu, 1}};

void apply(Op op, const float* a, const float* b, float* y, int64_t n) {
  switch (op) {
    case Op::kAdd:
      for (int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
      break;
    case Op::kSub:
      for (int64_t i = 0; i < n; ++i) y[i] = a[i] - b[i];
      break;
    case Op::kMul:
      for (int64_t i = 0; i < n; ++i) y[i] = a[i] * b[i];
      break;
    case Op::kNeg:
      for (int64_t i = 0; i < n; ++i) y[i] = -a[i];
      break;
    case Op::kRelu:
      for (int64_t i = 0; i < n; ++i) y[i] = a[i] < 0 ? 0 : a[i];
      break;
  }
}

const OpRow* find_op(const NodeView& node) {
  for (const OpRow& row : kOps)
    if (node.domain().empty() && node.op() == row.name) return &row;
  return nullptr;
}

/// Whether the node can be part of a program: all its tensors are float32 and have one shape.
Support judge(const NodeView& node) {
  const OpRow* row = find_op(node);
  if (row == nullptr)
    return Support::no(TENON_REJECT_OPERATOR, cat("operator ", node.op(), " is not implemented"));
  const ValueView a = node.input(0), b = node.input(row->inputs - 1);
  const bool is_known = a.has_rank() && std::count(a.dims().begin(), a.dims().end(), TENON_DIM_UNKNOWN) == 0;
  const bool is_same =
      std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end()) && b.has_rank();
  return Check(node)
      .that(a.present() && b.present() && node.has_output(0), TENON_REJECT_OTHER,
            "an input or the output is missing")
      .inputs(0, TypeList<float>())
      .output(0, TypeList<float>())
      .that(!a.is_constant() || !b.is_constant(), TENON_REJECT_COST, "all inputs are constants")
      .that(row->inputs == 1 || (is_known && is_same), TENON_REJECT_SHAPE, "the shapes ", a.dims(), " and ",
            b.dims(), " must be known and equal");
}

struct Processor {
  static constexpr std::string_view kId = TENON_PROVIDER_ID, kVersion = TENON_PROVIDER_VERSION;
  static void devices(const DeviceSink& sink) {
    sink.add({.kind = TENON_DEVICE_CPU, .stable_id = "0", .name = "processor"});
  }
};

struct GroupInstance : KernelProvider<Processor>::Instance {
  using KernelProvider<Processor>::Instance::Instance;

  /// Rejects each node that no program can hold, and claims the groups of the others.
  void offer(const tenon_graph* raw, const tenon_claim_sink* sink) const {
    const GraphView graph(raw);
    std::vector<bool> can(graph.info().node_count, false);
    for (uint32_t n = 0; n < graph.info().node_count; ++n) {
      ConstantStore store;
      const NodeView node(graph, n, store, settings);
      if ((node.info().flags & TENON_NODE_TAKEN) != 0) continue;
      const Support support = judge(node);
      can[n] = static_cast<bool>(support);
      if (!support) reject_node(sink, n, support);
    }
    for (const std::vector<uint32_t>& nodes : convex_groups(graph, can)) claim_nodes(sink, nodes);
  }
};

/// What is known of one shape.
struct Prepared {
  int64_t size;  // elements of each tensor
};

/// A compiled group. It does not change after the constructor, so any number of Runs may use it.
class GroupProgram {
 public:
  GroupProgram(const GroupInstance& instance, const tenon_compile_args& args) {
    const GraphView graph(args.graph);
    for (uint32_t i = 0; i < graph.info().input_count; ++i)
      places_[graph.info().inputs[i]] = {Home::kInput, i};
    for (uint32_t i = 0; i < graph.info().output_count; ++i)
      places_[graph.info().outputs[i]] = {Home::kOutput, i};
    for (uint32_t n = 0; n < graph.info().node_count; ++n) {
      ConstantStore store;
      const NodeView node(graph, n, store, instance.settings);
      const OpRow* row = find_op(node);
      require(row != nullptr, TENON_INTERNAL, "node '", node.name(), "' (", node.op(), ") was never claimed");
      steps_.push_back({row->op, place_of(node.input(0)), place_of(node.input(row->inputs - 1)),
                        place_of(node.output(0))});
      if (n == 0) text_ = cat("node '", node.name(), "' (", node.op(), ")");
    }
    if (steps_.size() > 1) text_ += cat(" and ", steps_.size() - 1, " more");
  }

  /// Stands in the errors of prepare and run.
  const std::string& place() const { return text_; }

  std::unique_ptr<Prepared> prepare(tenon_prepare_args& args) const {
    const DimsView dims(args.inputs[0].dims, args.inputs[0].rank);
    for (const tenon_tensor& input : std::span(args.inputs, args.input_count))
      require(std::equal(dims.begin(), dims.end(), input.dims, input.dims + input.rank),
              TENON_INVALID_ARGUMENT, "the inputs have the shapes ", dims, " and ",
              DimsView(input.dims, input.rank));
    for (tenon_shape& output : std::span(args.outputs, args.output_count)) {
      if (output.flags != 0) continue;  // the host knows it
      std::copy(dims.begin(), dims.end(), output.dims);
      output.rank = static_cast<uint32_t>(dims.size());
      output.flags = TENON_SHAPE_KNOWN;
    }
    return std::make_unique<Prepared>(Prepared{element_count(dims)});
  }

  void run(const tenon_run_args& args) const {
    const int64_t size = reinterpret_cast<const Prepared*>(args.prepared)->size;
    const uint64_t floats = kBlock * temporaries_;  // of one thread
    float* scratch = nullptr;
    if (floats != 0) {
      scratch = static_cast<float*>(
          host().scratch(args.run, host().worker_count(args.run) * floats * sizeof(float)));
      require(scratch != nullptr, TENON_RESOURCE_EXHAUSTED, "no memory for ", temporaries_,
              " temporary tensors");
    }
    auto blocks = [&](uint32_t worker, int64_t begin, int64_t end) {
      for (; begin < end; begin += kBlock) {
        const auto at = [&](Place place) {
          if (place.home == Home::kTemporary) return scratch + worker * floats + place.index * kBlock;
          if (place.home == Home::kConstant) return constants_[place.index] + begin;
          const tenon_tensor* tensors = place.home == Home::kInput ? args.inputs : args.outputs;
          return static_cast<float*>(tensors[place.index].data) + begin;
        };
        for (const Step& step : steps_)
          apply(step.op, at(step.a), at(step.b), at(step.y), std::min<int64_t>(kBlock, end - begin));
      }
    };
    parallel_for(args.run, size, 16 * kBlock, blocks);
  }

 private:
  static constexpr uint32_t kBlock = 1024;  // elements

  enum class Home { kInput, kOutput, kConstant, kTemporary };
  struct Place {
    Home home;
    uint32_t index;
  };
  struct Step {
    Op op;
    Place a, b, y;
  };

  Place place_of(const ValueView& value) {
    const auto known = places_.find(value.index());
    if (known != places_.end()) return known->second;
    if (!value.is_constant()) return places_[value.index()] = {Home::kTemporary, temporaries_++};
    constants_.push_back(static_cast<float*>(value.constant().raw()->data));  // lives as long as the program
    return places_[value.index()] = {Home::kConstant, static_cast<uint32_t>(constants_.size() - 1)};
  }

  std::map<uint32_t, Place> places_;  // by value of the compiled view
  std::vector<Step> steps_;
  std::vector<float*> constants_;
  uint32_t temporaries_ = 0;
  std::string text_;
};

struct Traits : KernelProvider<Processor> {
  using Instance = GroupInstance;
  using Program = GroupProgram;
};

}  // namespace

TENON_PROVIDER(Traits)
