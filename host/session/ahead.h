// The sets of input shapes that a session plans for while it is made: `shapes.input` of the config, else the model's
// shapes when all of them are fixed.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "host/config/config.h"
#include "host/exec/run_executable.h"
#include "host/session/io.h"

namespace tenon::session {

/// Descriptions, without data, of all inputs of the model for one set of shapes.
class ShapeSet {
 public:
  /// `shapes`: one per input; ignored for inputs that are not tensors.
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

/// Empty when no plan can be made before the first Run. The config error names the place of `shapes.input` and what
/// does not fit the model.
Result<std::vector<ShapeSet>> shapes_ahead(const config::Config& config, const IoList& inputs);

}  // namespace tenon::session
