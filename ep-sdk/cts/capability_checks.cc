// Checks of claims and rejections.
#include <algorithm>
#include <functional>
#include <set>
#include <thread>

#include "ep-sdk/cts/bench.h"
#include "ep-sdk/cts/step.h"

namespace tenon::cts {
namespace {

/// A graph to ask about, with a name for messages.
struct Question {
  std::string name;
  GraphCase graph;
};

constexpr const char* kNobodys = "NobodyImplementsThis";

/// a -> b and c -> d, from two inputs.
GraphCase two_chains(const Claimed& unary) {
  GraphCase out = make_chain(unary, 2);
  const GraphCase second = make_chain(unary, 2);
  const auto shift = static_cast<uint32_t>(out.values.size());
  for (GraphCase::Value value : second.values) {
    value.name += "_2";
    out.values.push_back(value);
  }
  for (GraphCase::Node node : second.nodes) {
    node.name = node.name == "a" ? "c" : "d";
    node.inputs[0] += shift, node.outputs[0] += shift;
    out.nodes.push_back(node);
  }
  return out;
}

/// A chain of five nodes; no provider implements the middle one.
GraphCase broken_chain(const Claimed& unary) {
  GraphCase out = make_chain(unary, 5);
  out.nodes[2].op_type = kNobodys;
  out.nodes[2].domain = "tenon.cts";
  return out;
}

/// Node a feeds d directly and through a node that no provider implements.
GraphCase detour(const Claimed& unary, const Probe& binary) {
  GraphCase out = make_chain(unary, 2);
  out.nodes[1].op_type = kNobodys;
  out.nodes[1].domain = "tenon.cts";
  out.values[2].is_output = false;
  GraphCase::Node& join = out.nodes.emplace_back();
  const NodeCase& node = binary.node;
  join.name = "d";
  join.op_type = node.op_type, join.domain = node.domain, join.since_version = node.since_version;
  join.inputs = {1, 2};
  join.outputs = {3};
  out.values.push_back({"y", unary.probe.node.outputs[0], false, true});
  return out;
}

/// A unary probe that keeps type and shape. It is claimed unless the provider claims no probe at all.
Claimed unary_node(const Target& target, const Subject& subject) {
  std::vector<Claimed> all;
  try {
    all = claimed_probes(target, subject);
  } catch (const NotApplicable&) {
  } catch (const NotReached&) {  // the provider claims no probe, but it must answer questions about them
  }
  if (all.empty()) {
    for (const Probe& probe : all_probes(target)) all.push_back({probe, graph_of(probe.node), {}});
  }
  return first_claimed(all, "operator that keeps type and shape", keeps_shape);
}

std::vector<Question> questions(const Target& target, const Subject& subject) {
  std::vector<Question> out;
  const Claimed unary = unary_node(target, subject);
  out.push_back({"a chain of three", make_chain(unary, 3)});
  out.push_back({"two chains", two_chains(unary)});
  out.push_back({"a chain with a node that no provider implements", broken_chain(unary)});
  for (const Probe& probe : all_probes(target)) {
    out.push_back({"the probe " + probe.name, graph_of(probe.node)});
    const bool joins = probe.name == "Add" && unary.probe.node.inputs[0].dtype == TENON_FLOAT32;
    if (joins) out.push_back({"a detour through a node that no provider implements", detour(unary, probe)});
  }
  return out;
}

std::string list(const std::vector<uint32_t>& nodes) {
  std::string out;
  for (const uint32_t n : nodes) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return "[" + out + "]";
}

/// Calls `judge` with each question and its answer, for every subset of taken nodes.
void each_answer(const Target& target, const std::function<void(const Question&, const Offer&)>& judge) {
  const Bench bench(target);
  for (Question& question : questions(target, *bench.subject)) {
    const auto count = static_cast<uint32_t>(question.graph.nodes.size());
    for (uint32_t taken = 0; taken < (1u << count); ++taken) {
      for (uint32_t n = 0; n < count; ++n) question.graph.nodes[n].taken = (taken >> n & 1) != 0;
      judge(question, ask(*bench.subject, question.graph));
    }
  }
}

/// Whether a path leads from `inside` through a node outside back to `inside`.
bool leaves_and_returns(const GraphCase& graph, const std::set<uint32_t>& inside) {
  std::vector<bool> outside_after(graph.nodes.size(), false);  // reached from inside through a node outside
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    for (const uint32_t value : graph.nodes[n].inputs) {
      if (value == TENON_NO_INDEX) continue;
      const uint32_t from = graph.producer(value);
      if (from == TENON_NO_INDEX) continue;
      const bool left = outside_after[from];
      if (inside.count(n) != 0 && left && inside.count(from) == 0) return true;
      if (inside.count(n) == 0 && (left || inside.count(from) != 0)) outside_after[n] = true;
    }
  }
  return false;
}

/// Whether the claims depend on each other in a cycle.
bool has_circle(const GraphCase& graph, const std::vector<Claim>& claims) {
  std::vector<size_t> group(graph.nodes.size());
  for (size_t n = 0; n < group.size(); ++n) group[n] = claims.size() + n;
  for (size_t c = claims.size(); c-- > 0;) {
    for (const uint32_t n : claims[c].nodes) {
      if (n < group.size()) group[n] = c;
    }
  }
  const size_t count = claims.size() + group.size();
  std::vector<std::set<size_t>> before(count);
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    for (const uint32_t value : graph.nodes[n].inputs) {
      const uint32_t from = value == TENON_NO_INDEX ? TENON_NO_INDEX : graph.producer(value);
      if (from != TENON_NO_INDEX && group[from] != group[n]) before[group[n]].insert(group[from]);
    }
  }
  for (size_t round = 0; round < count; ++round) {
    for (size_t g = 0; g < count; ++g) {
      std::set<size_t> more = before[g];
      for (const size_t b : before[g]) more.insert(before[b].begin(), before[b].end());
      before[g] = more;
      if (more.count(g) != 0) return true;
    }
  }
  return false;
}

}  // namespace

TENON_CHECK("R21",
            "the same graph gets the same answer on any thread and instance, and asking changes nothing") {
  const Bench bench(target);
  Subject& subject = *bench.subject;
  const std::vector<Question> all = questions(target, subject);
  std::vector<std::string> first;
  for (const Question& question : all) first.push_back(ask(subject, question.graph).to_string());
  const auto again = [&](const char* when, tenon_instance* instance) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (ask(subject, all[i].graph, instance).to_string() != first[i])
        throw Failed("about " + all[i].name + " the provider answers differently " + when,
                     "let the answer depend on graph, options and device alone");
    }
  };
  again("a second time", subject.instance);
  std::string found;
  std::thread([&] {
    try {
      again("on another thread", subject.instance);
    } catch (const std::exception& e) {
      found = e.what();
    }
  }).join();
  if (!found.empty()) throw Failed(found, "let the answer depend on graph, options and device alone");
  for (const Claimed& claimed : claimed_probes(target, subject)) run_claim(subject, claimed);
  again("after programs were compiled and run", subject.instance);
  OtherInstance other(subject);
  again("from a second instance with the same options", other.get());
  other.destroy();
}

TENON_CHECK("R22", "a claim names at least one node of the graph, and no node twice") {
  each_answer(target, [](const Question& question, const Offer& offer) {
    for (const Claim& claim : offer.claims) {
      const std::set<uint32_t> once(claim.nodes.begin(), claim.nodes.end());
      const bool known =
          std::all_of(once.begin(), once.end(), [&](uint32_t n) { return n < question.graph.nodes.size(); });
      if (claim.nodes.empty() || once.size() != claim.nodes.size() || !known)
        throw Failed("about " + question.name + " the provider claims the nodes " + list(claim.nodes),
                     "claim only nodes of the view, and no node twice");
    }
  });
}

TENON_CHECK("R23", "no claim holds a node that is taken") {
  each_answer(target, [](const Question& question, const Offer& offer) {
    for (const Claim& claim : offer.claims) {
      for (const uint32_t n : claim.nodes) {
        if (n < question.graph.nodes.size() && question.graph.nodes[n].taken)
          throw Failed("about " + question.name + " the provider claims " + list(claim.nodes) +
                           ", of which node " + std::to_string(n) + " is taken",
                       "leave nodes with TENON_NODE_TAKEN out");
      }
    }
  });
}

TENON_CHECK("R24", "claims of one answer share no node") {
  each_answer(target, [](const Question& question, const Offer& offer) {
    std::set<uint32_t> seen;
    for (const Claim& claim : offer.claims) {
      for (const uint32_t n : std::set<uint32_t>(claim.nodes.begin(), claim.nodes.end())) {
        if (!seen.insert(n).second)
          throw Failed("about " + question.name + " two claims hold node " + std::to_string(n),
                       "claim each node once");
      }
    }
  });
}

TENON_CHECK("R25", "every claim is convex") {
  each_answer(target, [](const Question& question, const Offer& offer) {
    for (const Claim& claim : offer.claims) {
      if (leaves_and_returns(question.graph, std::set<uint32_t>(claim.nodes.begin(), claim.nodes.end())))
        throw Failed("about " + question.name + " the provider claims " + list(claim.nodes) +
                         ", which is not convex: a path leads out of the claim and back into it",
                     "split the claim where another node stands between");
    }
  });
}

TENON_CHECK("R26", "claims do not depend on each other in a cycle") {
  each_answer(target, [](const Question& question, const Offer& offer) {
    if (has_circle(question.graph, offer.claims)) {
      std::string claims;
      for (const Claim& claim : offer.claims) claims += " " + list(claim.nodes);
      throw Failed("about " + question.name + " the claims" + claims + " depend on each other in a cycle",
                   "merge nodes only where this makes no cycle");
    }
  });
}

TENON_CHECK("R27", "a claim names only values of the graph and memory domains of the device") {
  const Bench bench(target, Bench::Open::kDevice);
  const std::vector<Domain> domains = bench.subject->domains;
  const auto known = [&](uint32_t id) {
    return id == TENON_DOMAIN_HOST ||
           std::any_of(domains.begin(), domains.end(), [&](const Domain& d) { return d.id == id; });
  };
  each_answer(target, [&](const Question& question, const Offer& offer) {
    for (const Claim& claim : offer.claims) {
      std::set<uint32_t> used = {claim.input_domain, claim.output_domain};
      for (const tenon_claim_value& value : claim.values) {
        if ((value.flags & TENON_CLAIM_DOMAIN) != 0) used.insert(value.domain);
      }
      for (const uint32_t id : used) {
        if (!known(id))
          throw Failed("about " + question.name + " a claim names memory domain " + std::to_string(id) +
                           ", which the device does not have",
                       "name a domain that device_domains gives, or TENON_DOMAIN_HOST");
      }
    }
  });
  require_no_violation(27);
}

TENON_CHECK("R28",
            "each node that is not taken is claimed or rejected, with a code and a text that says why") {
  each_answer(target, [](const Question& question, const Offer& offer) {
    const GraphCase& graph = question.graph;
    std::vector<int> answers(graph.nodes.size(), 0);
    for (const Claim& claim : offer.claims) {
      for (const uint32_t n : claim.nodes) {
        if (n < answers.size()) ++answers[n];
      }
    }
    for (const Rejection& rejection : offer.rejections) {
      if (rejection.node >= answers.size())
        throw Failed("about " + question.name + " node " + std::to_string(rejection.node) +
                         " is rejected, but the graph has no such node",
                     "name nodes of the view");
      ++answers[rejection.node];
      const std::string& op = graph.nodes[rejection.node].op_type;
      if (rejection.text.find(op) == std::string::npos)
        throw Failed("the rejection of a node " + op + " says '" + rejection.text +
                         "', which does not name the operator",
                     "name the operator, and the type, attribute or shape that is not supported");
    }
    for (size_t n = 0; n < answers.size(); ++n) {
      if (answers[n] == 0 && !graph.nodes[n].taken)
        throw Failed("about " + question.name + " the provider neither claims nor rejects node " +
                         std::to_string(n) + " (" + graph.nodes[n].op_type + ")",
                     "claim it or reject it");
    }
  });
}

}  // namespace tenon::cts
