// The sets of input shapes that a session plans for while it is made: `shapes.input` of the config, and the
// model's own shapes where all of them are fixed.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "host/config/config.h"
#include "host/exec/run_executable.h"
#include "host/session/io.h"

namespace tenon::session {

/// A description without data of every input of the model, for one set of shapes.
class ShapeSet {
 public:
  /// `shapes`: one per input; those of inputs that are no tensors are not looked at.
  ShapeSet(const IoList& inputs, std::vector<std::vector<int64_t>> shapes);
  ShapeSet(ShapeSet&&) = default;
  ShapeSet& operator=(ShapeSet&&) = default;
  ShapeSet(const ShapeSet&) = delete;  // the arguments point to the shapes
  ShapeSet& operator=(const ShapeSet&) = delete;

  const std::vector<runtime::Argument>& arguments() const { return arguments_; }

 private:
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<runtime::Argument> arguments_;
};

/// A CONFIG error names the place of `shapes.input` and what does not fit the model. Empty when there is nothing
/// to plan for before the first Run.
Result<std::vector<ShapeSet>> shapes_ahead(const config::Config& config, const IoList& inputs);

}  // namespace tenon::session
