// Groups nodes into the largest sets such that no path leaves a set and enters it again.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tenon::onednn {

/// Edges go from a node to one that depends on it, and from a lower number to a higher. Returns sets of nodes
/// with `can` true, each sorted; with each set contracted to one node, the graph has no cycle. The time is
/// linear, except for a last step that joins neighbouring sets and is skipped if there are more than a few
/// hundred.
std::vector<std::vector<uint32_t>> group(const std::vector<bool>& can,
                                         const std::vector<std::pair<uint32_t, uint32_t>>& edges);

}  // namespace tenon::onednn
