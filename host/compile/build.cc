#include "host/compile/build.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/base/stop.h"
#include "core/ops/ops.h"
#include "host/base/log.h"
#include "host/compile/assign.h"
#include "host/control_flow/control_flow.h"
#include "host/exec/prepare_part.h"

namespace tenon::runtime {
namespace {

/// "node 'conv1' (Conv)", or the first and last of several.
std::string label_of(const ir::Graph& graph, const std::vector<ir::NodeId>& nodes) {
  if (nodes.size() == 1) return graph.node(nodes[0]).label();
  return str_cat("nodes '", graph.node(nodes.front()).name, "' ... '", graph.node(nodes.back()).name, "' (",
                 nodes.size(), ")");
}

class Builder {
 public:
  Builder(const BuildInputs& build, ir::Graph graph, std::string name, bool is_body)
      : build_(build), graph_(std::move(graph)), name_(std::move(name)), is_body_(is_body) {}

  Result<std::unique_ptr<Executable>> run() {
    Assigner assigner(build_, &graph_, is_body_);
    partition::Partition partition;
    for (;;) {
      ASSIGN_OR_RETURN(partition, assigner.run());
      RETURN_IF_ERROR(number_nodes());
      std::optional<CompileFailure> failure;
      ASSIGN_OR_RETURN(failure, compile_all(partition));
      if (!failure.has_value()) break;
      assigner.bar(std::move(*failure));
    }
    log_fallbacks(partition);
    for (CompiledPart& part : parts_) {
      if (part.is_control_flow()) RETURN_IF_ERROR(build_bodies(&part));
    }
    auto executable = std::make_unique<Executable>(std::move(graph_), build_.shared);
    executable->name = std::move(name_);
    executable->parts = std::move(parts_);
    executable->partition = std::move(partition);
    return executable;
  }

 private:
  /// Logs the providers that failed on nodes that other providers now run, one line for each reason.
  void log_fallbacks(const partition::Partition& partition) const {
    std::map<std::pair<partition::ProviderIndex, std::string>, size_t> nodes;
    for (const partition::Decision& decision : partition.decisions) {
      for (const partition::Decline& decline : decision.declines) {
        const bool failed = decline.code == partition::RejectCode::kClaimRefused ||
                            decline.code == partition::RejectCode::kCompileFailed ||
                            decline.code == partition::RejectCode::kUnusable;
        if (failed)
          ++nodes[{decline.provider, str_cat(partition::reject_code_name(decline.code), ": ", decline.text)}];
      }
    }
    for (const auto& [why, count] : nodes) {
      log_line(
          TENON_LOG_WARNING, "FALLBACK",
          str_cat(build_.selection->instances[why.first]->id(), " does not run ", count,
                  count == 1 ? " node" : " nodes", ", which other providers run now (", why.second, ")"));
    }
  }

  Status number_nodes() {
    ASSIGN_OR_RETURN(const std::vector<ir::NodeId> order, graph_.topological_order());
    position_.assign(graph_.node_limit(), 0);
    for (uint32_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
    return ok_status();
  }

  /// A claim that cannot be compiled, when the config lets the next provider try; else its error.
  Result<std::optional<CompileFailure>> compile_all(const partition::Partition& partition) {
    parts_.clear();
    size_t done = 0;
    for (const partition::Part& from : partition.parts) {
      if (build_.progress) RETURN_IF_ERROR(build_.progress(done, graph_.node_count()));
      done += from.claim.nodes.size();
      ASSIGN_OR_RETURN(CompiledPart part, make_part(from));
      if (!part.is_control_flow() && !part.claim.static_shapes) {
        Status status = compile(&part);
        const bool next = build_.settings->select.on_compile_failed == config::OnFailure::kNext &&
                          status.kind() != ErrorKind::kOperator &&  // no other provider has the operator
                          !is_stopped(status);  // the next provider would be stopped as well
        if (!status.ok() && (!next || is_last(from.provider)))
          return std::move(status).with_context(part.label);
        if (!status.ok()) {
          return std::optional(
              CompileFailure{from.provider, from.claim.nodes, std::string(status.message())});
        }
      }
      parts_.push_back(std::move(part));
    }
    return std::optional<CompileFailure>();
  }

  bool is_last(partition::ProviderIndex provider) const {
    return provider + 1 == build_.selection->instances.size() && build_.selection->unopened.empty();
  }

  Status compile(CompiledPart* part) {
    ASSIGN_OR_RETURN(part->program, compile_part(graph_, *build_.shared, *part));
    return ok_status();
  }

  Result<CompiledPart> make_part(const partition::Part& from) {
    CompiledPart part;
    part.nodes = from.claim.nodes;
    std::sort(part.nodes.begin(), part.nodes.end(),
              [&](ir::NodeId a, ir::NodeId b) { return position_[a] < position_[b]; });
    part.label = label_of(graph_, part.nodes);
    if (!name_.empty()) part.label = name_ + ": " + part.label;
    part.provider = from.provider;
    if (from.provider == partition::kNoProvider) {
      fill_control_flow(&part);
      return part;
    }
    part.claim = from.claim;
    part.inputs = from.inputs;
    part.outputs = from.outputs;
    part.instance = build_.selection->instances[from.provider];
    for (ir::ValueId value : part.inputs) {
      part.shape_inputs.push_back(from.claim.is_shape_input(value));
      const uint32_t local =
          part.shape_inputs.back() ? uint32_t{TENON_DOMAIN_HOST} : from.claim.domain_of(value, false);
      ASSIGN_OR_RETURN(const MemoryDomain* domain, find_domain(part, local));
      part.input_domains.push_back(domain);
    }
    for (ir::ValueId value : part.outputs) {
      ASSIGN_OR_RETURN(const MemoryDomain* domain, find_domain(part, from.claim.domain_of(value, true)));
      part.output_domains.push_back(domain);
    }
    return part;
  }

  Result<const MemoryDomain*> find_domain(const CompiledPart& part, uint32_t local) const {
    const MemoryDomain* domain = part.instance->device().find_domain(local);
    if (domain != nullptr) return domain;
    return internal_error(part.instance->id(), " claims the part for memory domain ", local,
                          ", which its device does not have")
        .with_context(part.label);
  }

  void fill_control_flow(CompiledPart* part) {
    const ir::Node& node = graph_.node(part->nodes[0]);
    part->run_control_flow = run_control_flow;
    part->inputs = node.inputs;
    part->outputs = node.outputs;
    for (const ir::Attribute& attribute : node.attributes) {
      for (const ir::GraphBox& nested : attribute.graphs) {
        for (const ir::Capture& capture : nested->captures()) add_captured(part, capture.outer);
      }
    }
    part->shape_inputs.assign(part->inputs.size(), false);
    part->input_domains.assign(part->inputs.size(), &host_domain());
    part->output_domains.assign(part->outputs.size(), &host_domain());
  }

  void add_captured(CompiledPart* part, ir::ValueId outer) const {
    const size_t own = graph_.node(part->nodes[0]).inputs.size();
    const auto first = part->inputs.begin() + static_cast<ptrdiff_t>(own);
    const bool known = std::find(first, part->inputs.end(), outer) != part->inputs.end();
    if (!known && !graph_.value(outer).is_constant()) part->inputs.push_back(outer);
  }

  Status build_bodies(CompiledPart* part) {
    const ir::Node& node = graph_.node(part->nodes[0]);
    for (const ir::Attribute& attribute : node.attributes) {
      for (const ir::GraphBox& nested : attribute.graphs) {
        ir::Graph graph = *nested;
        for (const ir::Capture& capture : graph.captures()) {
          if (graph_.value(capture.outer).is_constant()) {
            graph.set_constant(capture.inner, graph_.value(capture.outer).constant);
          }
        }
        Body body;
        body.attribute = attribute.name;
        ASSIGN_OR_RETURN(body.executable, build_executable(build_, std::move(graph),
                                                           str_cat(part->label, ", ", attribute.name), true));
        const size_t own = node.inputs.size();
        for (ir::ValueId outer : body.executable->captured()) {
          const auto at =
              std::find(part->inputs.begin() + static_cast<ptrdiff_t>(own), part->inputs.end(), outer);
          body.captures.push_back(static_cast<uint32_t>(at - part->inputs.begin()));
        }
        part->bodies.push_back(std::move(body));
      }
    }
    return ok_status();
  }

  const BuildInputs& build_;
  ir::Graph graph_;
  std::string name_;
  bool is_body_;
  std::vector<uint32_t> position_;  // per node, in topological order
  std::vector<CompiledPart> parts_;
};

}  // namespace

Result<std::unique_ptr<Executable>> build_executable(const BuildInputs& build, ir::Graph graph,
                                                     std::string name, bool is_body) {
  return Builder(build, std::move(graph), std::move(name), is_body).run();
}

}  // namespace tenon::runtime
