// The names under which measured times are kept: what a node computes, on which instance, and how a graph is divided.
#pragma once

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
/// The table of a graph on these instances, which has a time for each way to divide it.
std::string key_of_graph(std::string_view name, std::span<const std::shared_ptr<Instance>> instances,
                         uint32_t threads);

/// The provider of each node, in topological order; kNoProvider: the host.
using Assignment = std::vector<partition::ProviderIndex>;
/// One character for each node. Empty for more providers than there are characters.
std::string name_of(const Assignment& assignment);
/// Empty when `name` is not that of an assignment of `count` nodes to `providers`.
Assignment assignment_of(std::string_view name, size_t count, size_t providers);
Assignment assignment_of(const partition::Partition& partition, std::span<const ir::NodeId> order);

}  // namespace tenon::runtime
