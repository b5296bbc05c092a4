// A spoiled row from claim to outputs.
#include "tests/ops/hostile_rows.h"

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

GraphCase open_graph(const NodeCase& node) {
  GraphCase out = graph_of(node);
  for (GraphCase::Value& value : out.values) {
    value.is_open = !value.tensor.constant;
    if (value.is_output) value.tensor.bytes.clear();  // nobody knows what is right
  }
  return out;
}

Outcome execute(const Subject& subject, const NodeCase& node, bool infers_outputs, uint8_t around) {
  fill_surroundings(around);
  const GraphCase graph = open_graph(node);
  const Offer offer = ask(subject, graph);
  if (offer.claims.empty()) {
    const std::string why = offer.rejections.empty() ? "without a word" : offer.rejections[0].text;
    return {true, TENON_UNIMPLEMENTED, "declined: " + why, {}};
  }
  const Program program(subject, graph, offer.claims[0]);
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
    if (first.failed && first.text.find("no shape of output") != std::string::npos) {
      // What the host's inference finds is a part of the kernel's way: then that of the row itself.
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
