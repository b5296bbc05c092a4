// Places for what lives between the steps of an island: one workspace, given by the host, shared by all that
// do not live at the same time. The provider has no memory of its own.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::onednn {

/// A piece of workspace that is needed from step `first` to step `last`, both included.
struct Piece {
  uint64_t bytes = 0;
  int first = 0, last = 0;
  uint64_t offset = 0;  // out
};

inline constexpr uint64_t kWorkspaceAlignment = 64;

/// Sets the offsets; pieces that live at the same time do not overlap. Returns the bytes of the workspace.
uint64_t place(std::vector<Piece*> pieces);

}  // namespace tenon::onednn
