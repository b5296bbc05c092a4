// The names under which measured times are kept: what a node computes, on which instance, and how a graph is divided.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/partition/partition.h"
#include "host/device/instance.h"

namespace tenon::runtime {

/// What has influence on the time of a node: operator, version, attributes, types and shapes of inputs and outputs, and which inputs
/// are constants. Not their contents, and no names. Dimensions without a number are alike.
std::string name_of_work(const ir::Graph& graph, const ir::Node& node);
/// The same of all nodes, and how they are connected.
std::string name_of_graph(const ir::Graph& graph, std::span<const ir::NodeId> order);
/// The table of an instance: provider, version, build, device, driver, options, and how many threads a Run may use.
std::string key_of_instance(const Instance& instance, uint32_t threads);
/// The table of a model's graph, before it is divided: it has a time for each way to divide it that was measured.
std::string key_of_graph(std::string_view name, uint32_t threads);
/// What tells these instances, in this order, from all others: as key_of_instance().
std::string name_of_instances(std::span<const std::shared_ptr<Instance>> instances);

/// The provider of each node, in topological order; kNoProvider: the host.
using Assignment = std::vector<partition::ProviderIndex>;

/// A way to divide a graph, as its table names it.
struct WayName {
  std::string instances;  // name_of_instances()
  std::string
      graph;  // name_of_graph() of what the providers divide, after core has expanded and put back nodes for them
  Assignment assignment;

  bool operator==(const WayName&) const = default;
  /// Empty for more providers than an assignment's name has characters for.
  std::string text() const;
  /// Nothing when `text` is no name of a way.
  static std::optional<WayName> parse(std::string_view text);
};
Assignment assignment_of(const partition::Partition& partition, std::span<const ir::NodeId> order);

}  // namespace tenon::runtime
