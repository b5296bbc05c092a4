#include "ep-sdk/cts/bench.h"

#include <algorithm>

#include "ep-sdk/cts/step.h"

namespace tenon::cts {

Bench::Bench(const Target& target, Open open, const tenon_host_api* host)
    : module(target), io(own_offer()), options(target), target_(target) {
  if (host != nullptr) io.host = host;
  io = accepted(module, io);
  require_table(io);
  subject = make_subject();
  if (open >= Open::kProvider) subject->create_provider();
  if (open >= Open::kDevice) subject->open_device();
  if (open >= Open::kInstance) subject->create_instance();
}

std::unique_ptr<Subject> Bench::make_subject() const {
  return std::make_unique<Subject>(
      *io.api, SubjectParams{target_.module_path(), target_.manifest_dir(), target_.device, options.raw()});
}

std::vector<Claimed> claimed_probes(const Target& target, const Subject& subject) {
  std::vector<Claimed> out;
  std::string said;  // the first rejection
  for (Probe& probe : all_probes(target)) {
    GraphCase graph = graph_of(probe.node);
    Offer offer;
    try {
      offer = ask(subject, graph);
    } catch (const CallFailed& failed) {
      throw Failed(probe.name + ": " + failed.what(),
                   "claim or reject each node; fail only when the device does");
    }
    if (said.empty() && !offer.rejections.empty())
      said = probe.name + " it says: " + offer.rejections[0].text;
    // A claim with other nodes breaks a rule; the check of that rule reports it.
    if (offer.claims.size() != 1 || offer.claims[0].nodes != std::vector<uint32_t>{0}) continue;
    out.push_back({std::move(probe), std::move(graph), offer.claims[0]});
  }
  enter(Step::kClaims);
  if (out.empty())
    throw NotApplicable("the provider claims no probe of the kit" + (said.empty() ? "" : "; of " + said));
  return out;
}

Claimed first_claimed(const std::vector<Claimed>& all, const char* what,
                      const std::function<bool(const Claimed&)>& fits) {
  for (const Claimed& claimed : all) {
    if (fits(claimed)) return claimed;
  }
  throw NotApplicable(std::string("the provider claims no ") + what);
}

void each_claimed(const Target& target, const std::function<void(const Subject&, const Claimed&)>& body) {
  const Bench bench(target);
  for (const Claimed& claimed : claimed_probes(target, *bench.subject)) {
    report_activity("the probe " + claimed.probe.name);
    try {
      body(*bench.subject, claimed);
    } catch (const CallFailed& failed) {
      throw Failed(claimed.probe.name + ": " + failed.what(), "what is claimed must run");
    } catch (const Failed& failed) {
      throw Failed(claimed.probe.name + ": " + failed.what(), failed.cure);
    }
  }
}

Claimed plain_claim(const Target& target, const Subject& subject) {
  return first_claimed(claimed_probes(target, subject), "probe of plain tensors",
                       [](const Claimed& claimed) { return is_plain(claimed); });
}

Claimed with_turned_input(const Claimed& claimed) {
  Claimed out = claimed;
  const Tensor& from = claimed.graph.values[0].tensor;
  const size_t element =
      std::max<size_t>(from.bytes.size() / static_cast<size_t>(std::max<int64_t>(from.size(), 1)), 1);
  std::vector<uint8_t>& bytes = out.graph.values[0].tensor.bytes;
  for (size_t i = 0; i < bytes.size(); i += element)
    std::copy_n(from.bytes.begin() + static_cast<long>(bytes.size() - element - i), element,
                bytes.begin() + static_cast<long>(i));
  return out;
}

void require_streams(const Subject& subject) {
  if (!subject.has_streams()) throw NotApplicable("the provider has no streams");
}

bool has_sequence_or_string(const Claimed& claimed) {
  const auto odd = [](const Tensor& t) { return t.kind != TENON_KIND_TENSOR || t.dtype == TENON_STRING; };
  const NodeCase& node = claimed.probe.node;
  return std::any_of(node.inputs.begin(), node.inputs.end(), odd) ||
         std::any_of(node.outputs.begin(), node.outputs.end(), odd);
}

bool is_plain(const Claimed& claimed) {
  const auto plain = [](const Tensor& t) { return t.kind == TENON_KIND_TENSOR && t.dtype != TENON_STRING; };
  const NodeCase& node = claimed.probe.node;
  return std::all_of(node.inputs.begin(), node.inputs.end(), plain) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), plain) && node.op_type != "NonZero";
}

std::vector<Tensor> run_claim(const Subject& subject, const Claimed& claimed, const RunSetup& setup) {
  const Program program(subject, claimed.graph, claimed.claim);
  const Prepared prepared(program);
  Execution execution(prepared, setup);
  execution.run();
  std::vector<Tensor> out = execution.outputs();
  execution.check_surroundings();
  return out;
}

void require_equal(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected,
                   const std::string& what, const std::string& cure) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string text = difference(actual[i], expected[i]);
    if (!text.empty()) throw Failed(what + ": output " + std::to_string(i) + ": " + text, cure);
  }
}

void require_no_violation(int rule) {
  for (const Violation& violation : host_state().violations()) {
    if (violation.rule == rule) throw Failed(violation.text, "see R" + std::to_string(rule) + " in RULES.md");
  }
}

bool keeps_shape(const Claimed& claimed) {
  const NodeCase& node = claimed.probe.node;
  return node.inputs.size() == 1 && node.outputs.size() == 1 && is_plain(claimed) &&
         node.inputs[0].dims == node.outputs[0].dims && node.inputs[0].dtype == node.outputs[0].dtype;
}

GraphCase make_chain(const Claimed& unary, int length) {
  const NodeCase& node = unary.probe.node;
  GraphCase out;
  out.values.push_back({"x", node.inputs[0], false, false});
  for (int i = 0; i < length; ++i) {
    GraphCase::Node& next = out.nodes.emplace_back();
    next.name = std::string(1, static_cast<char>('a' + i));
    next.op_type = node.op_type, next.domain = node.domain, next.since_version = node.since_version;
    next.attributes = node.attributes;
    next.inputs = {static_cast<uint32_t>(i)};
    next.outputs = {static_cast<uint32_t>(i + 1)};
    out.values.push_back({"v" + std::to_string(i), node.outputs[0], false, i + 1 == length});
  }
  return out;
}

}  // namespace tenon::cts
