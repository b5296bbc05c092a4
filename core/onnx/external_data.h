// Weights in files beside the model.
//
// A model may name any path; only regular files beneath the model's directory are read, whatever links do.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/onnx/mapped_file.h"
#include "core/onnx/onnx.h"

namespace tenon::onnx {

/// The external files of one model; each is opened once. Not thread-safe.
class ExternalFiles {
 public:
  /// `directory`: where names are looked up; empty: nothing external is allowed. `real_directory`: of the
  /// model file with all links followed, where a model hub keeps the files. `budget_bytes`: what all files
  /// together may have.
  ExternalFiles(std::string directory, std::string real_directory, const Limits& limits,
                int64_t budget_bytes);

  /// The file for a `location` entry. INVALID_MODEL names the location and the cure.
  Result<std::shared_ptr<const MappedFile>> open(const std::string& location);

 private:
  std::string directory_;
  MappedFile::Options options_;
  bool denied_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace tenon::onnx
