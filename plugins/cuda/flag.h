// Reports of indices that are out of range. Kernels read indices on the device, where they cannot throw. A kernel writes
// the first bad index into a flag, and the host checks the flag after it has waited for the work.
#pragma once

#include <string>

#include "instance.h"
#include "tenon/ep/device/late_errors.hpp"

namespace tenon::cuda {

/// The flag of one bound node, in pinned memory: kernels touch it only to report.
class IndexFlag : public ep::LateCheck {
 public:
  IndexFlag(const Instance& instance, std::string place);

  const Piece& piece() const { return words_.get(); }
  std::optional<ep::Error> take() override;

 private:
  std::string place_;
  OwnedPiece words_;  // an ep::IndexReport
};

}  // namespace tenon::cuda
