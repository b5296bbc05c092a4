// A spoiled row from claim to outputs.
#include "tests/ops/hostile_rows.h"
#include "tests/ops/inference.h"

namespace tenon::test {
namespace {

struct Outcome {
  bool failed = false;  // declined, refused, or of a size that no host would give memory for
  tenon_status status = TENON_OK;
  std::string text;
  std::vector<Tensor> outputs;
};

/// The host's part of the limit: what a provider asks for beyond it is not given.
bool is_affordable(const Prepared& prepared) {
  const Program& program = prepared.program;
  for (size_t i = 0; i < prepared.shapes.size(); ++i) {
    const Tensor& wanted = program.graph.values[program.outputs()[i]].tensor;
    if (!prepared.at_run[i] && bytes_of(wanted.dtype, prepared.shapes[i]) > kHostileMemory) return false;
  }
  return prepared.workspace_bytes <= kHostileMemory;
}

/// The shapes of the row that was changed say nothing of this node's outputs: here is what they are.
void place_outputs(GraphCase& graph, const Inferred& inferred, bool as_dims) {
  for (size_t i = 0; i < inferred.outputs.size(); ++i) {
    const uint32_t at = graph.nodes[0].outputs[i];
    if (at == TENON_NO_INDEX || graph.values[at].tensor.kind != TENON_KIND_TENSOR) continue;
    const InferredOutput& known = inferred.outputs[i];
    if (!as_dims) graph.values[at].is_unranked = !known.has_rank;
    graph.values[at].tensor.dims = known.has_rank ? known.dims : Dims{TENON_DIM_UNKNOWN};
  }
}

/// The graph as a host sees it that knows no dims but those of constants.
GraphCase open_graph(const NodeCase& node) {
  GraphCase out = graph_of(node);
  for (GraphCase::Value& value : out.values) {
    value.is_open = !value.tensor.constant;
    if (value.is_output) value.tensor.bytes.clear();  // nobody knows what is right
  }
  // What this inference refuses goes on, with outputs of no rank: a host may learn of ranks as late as of dims.
  place_outputs(out,
                infer(node,
                      [&](size_t i) {
                        const bool constant = node.inputs[i].constant;
                        return Knowledge{constant, constant};
                      }),
                false);
  return out;
}

/// What the host knows when it prepares: all dims, and the elements that it has by then.
Inferred infer_at_prepare(const NodeCase& node, const GraphCase& graph, const Claim& claim) {
  return infer(node, [&](size_t i) {
    return Knowledge{true, node.inputs[i].constant || claim.is_shape_input(graph.nodes[0].inputs[i])};
  });
}

Outcome execute(const Subject& subject, const NodeCase& node, bool infers_outputs, uint8_t around) {
  fill_surroundings(around);
  GraphCase graph = open_graph(node);
  const Offer offer = ask(subject, graph);
  if (offer.claims.empty()) {
    const std::string why = offer.rejections.empty() ? "without a word" : offer.rejections[0].text;
    return {true, TENON_UNIMPLEMENTED, "declined: " + why, {}};
  }
  const Program program(subject, graph, offer.claims[0]);
  if (infers_outputs) {
    const Inferred inferred = infer_at_prepare(node, graph, program.claim);
    if (!inferred.refusal.empty())
      return {true, TENON_INVALID_ARGUMENT, "the host refuses: " + inferred.refusal, {}};
    place_outputs(graph, inferred, true);
  }
  PrepareSetup prepare;
  prepare.infer_outputs = infers_outputs;
  const Prepared prepared(program, prepare);
  if (!is_affordable(prepared)) return {true, TENON_RESOURCE_EXHAUSTED, "more memory than there is", {}};
  RunSetup setup;
  setup.fill = static_cast<uint8_t>(around ^ 0x62);
  Execution execution(prepared, setup);
  execution.run();
  Outcome out;
  out.outputs = execution.outputs();
  execution.check_surroundings();
  return out;
}

Outcome attempt(const Subject& subject, const NodeCase& node, bool infers_outputs, uint8_t around) {
  try {
    return execute(subject, node, infers_outputs, around);
  } catch (const CallFailed& failed) {
    return {true, failed.status, failed.what(), {}};
  } catch (const std::bad_alloc&) {
    return {true, TENON_RESOURCE_EXHAUSTED, "the host has no memory", {}};
  }
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].dims != b[i].dims || a[i].bytes != b[i].bytes || a[i].strings != b[i].strings ||
        !same(a[i].elements, b[i].elements))
      return false;
  }
  return true;
}

std::string judge_error(const Variant& variant, const Outcome& outcome) {
  if (outcome.status == TENON_INTERNAL || outcome.status == TENON_UNKNOWN)
    return "an internal error: " + outcome.text;
  if (!variant.must_fail.empty() && outcome.text.size() < 8) return "an error that says nothing";
  return {};
}

}  // namespace

std::string try_variant(MiniHost& host, const Variant& variant) {
  constexpr uint8_t kFirst = 0xA5, kSecond = 0x5A;
  host_state().memory_limit = kHostileMemory;
  try {
    bool infers = false;
    Outcome first = attempt(host.subject(), variant.node, infers, kFirst);
    if (first.failed) {
      if (const std::string wrong = judge_error(variant, first); !wrong.empty()) return wrong;
      // A kernel may leave its outputs' shapes to the host's inference.
      infers = true;
      first = attempt(host.subject(), variant.node, infers, kFirst);
    }
    if (first.failed) return judge_error(variant, first);
    if (!variant.must_fail.empty()) return "no error, though " + variant.must_fail;
    const Outcome second = attempt(host.subject(), variant.node, infers, kSecond);
    if (second.failed) return "an error at the second Run alone: " + second.text;
    if (same(first.outputs, second.outputs)) return {};
    const Outcome again = attempt(host.subject(), variant.node, infers, kFirst);
    if (!again.failed && !same(first.outputs, again.outputs)) return {};  // it draws random numbers
    return "outputs depend on what lies around the inputs, or were not written";
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace tenon::test
