// Which nodes run together: the largest sets that no way leaves and enters again.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tenon::onednn {

/// Edges go from a node to one that depends on it, and from a lower number to a higher. Returns sets of nodes that
/// `can`, each sorted; with each set as one point the graph has no cycle. Linear but for the last step, which joins
/// neighbouring sets and is left out when there are more than a few hundred of them.
std::vector<std::vector<uint32_t>> group(const std::vector<bool>& can,
                                         const std::vector<std::pair<uint32_t, uint32_t>>& edges);

}  // namespace tenon::onednn
