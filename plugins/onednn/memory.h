// Places values that live between the tasks of a program in one workspace, which the host allocates. Pieces
// that do not live at the same time share memory.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::onednn {

/// A piece of workspace in use from task `first` to task `last`, inclusive.
struct Piece {
  uint64_t bytes = 0;
  int first = 0, last = 0;
  uint64_t offset = 0;  // set by place()
};

inline constexpr uint64_t kWorkspaceAlignment = 64;

/// Sets the offsets; pieces that live at the same time do not overlap. Returns the workspace's size in bytes.
uint64_t place(std::vector<Piece*> pieces);

}  // namespace tenon::onednn
