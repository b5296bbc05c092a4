// Weights in files beside the model.
//
// A model may name any path. Only regular files beneath the model's directory are read, wherever links lead.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/onnx/mapped_file.h"
#include "core/onnx/onnx.h"

namespace tenon::onnx {

/// The external files of one model. Opens each file once. Not thread-safe.
class ExternalFiles {
 public:
  /// `directory`: where locations are looked up; empty: external data is not allowed. `real_directory`: the
  /// directory of the model file with all links followed (model hubs keep the files there). `budget_bytes`: the
  /// limit for all files together.
  ExternalFiles(std::string directory, std::string real_directory, const Limits& limits,
                int64_t budget_bytes);

  /// The file at `location`, which the caller may have given. INVALID_MODEL names the location and the cure.
  Result<std::shared_ptr<const MappedFile>> open(const std::string& location);
  /// Adds a notice for each given file that was not opened.
  void note_unused(const Limits& limits) const;

 private:
  std::string directory_;
  MappedFile::Options options_;
  bool denied_;
  const Given* given_;  // may be null
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace tenon::onnx
