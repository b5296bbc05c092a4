#include "core/onnx/external_data.h"

#include "core/base/quote.h"

namespace tenon::onnx {
namespace {

/// The location must be relative and not go up. Backslashes and drive letters are paths on some systems and refused
/// on all.
Status check_location(const std::string& location) {
  if (location.empty()) return invalid_model("external data has no location; export the model again");
  auto refuse = [&](const char* reason) {
    return invalid_model("external data at ", quote(location), ": ", reason,
                         "; the location must be a relative path beneath the model's directory");
  };
  if (location.find('\0') != std::string::npos) return refuse("the location has a zero byte");
  if (location.front() == '/') return refuse("the location is an absolute path");
  if (location.find('\\') != std::string::npos) return refuse("the location has a backslash");
  if (location.size() > 1 && location[1] == ':') return refuse("the location names a drive");
  for (size_t start = 0; start <= location.size();) {
    size_t end = std::min(location.find('/', start), location.size());
    if (location.compare(start, end - start, "..") == 0) return refuse("the location leads upwards");
    start = end + 1;
  }
  return ok_status();
}

}  // namespace

ExternalFiles::ExternalFiles(std::string directory, std::string real_directory, const Limits& limits,
                             int64_t budget_bytes)
    : directory_(std::move(directory)),
      denied_(limits.external_data == ExternalData::kDeny),
      given_(limits.given) {
  options_.map = limits.map_weights;
  options_.limit_bytes = budget_bytes;
  if (!directory_.empty()) options_.beneath = {real_path(directory_), std::move(real_directory)};
}

Result<std::shared_ptr<const MappedFile>> ExternalFiles::open(const std::string& location) {
  auto known = files_.find(location);
  if (known != files_.end()) return known->second;
  RETURN_IF_ERROR(check_location(location));
  if (given_ != nullptr) {
    const auto at = given_->files.find(location);
    if (at != given_->files.end())
      return files_.emplace(location, MappedFile::borrow(at->second.data, at->second.size)).first->second;
  }
  if (denied_) {
    return invalid_model("external data at ", quote(location),
                         " is not allowed; set limits.external_data for a trusted model");
  }
  if (directory_.empty()) {
    return invalid_model(
        "external data at ", quote(location),
        " has no directory, because the model was read from memory; load the model by its path");
  }
  auto file = MappedFile::open(directory_ + "/" + location, options_);
  if (!file.ok()) {
    // The caller gave the model, not this file. So a file that cannot be read is an error of the model.
    const Status& cause = file.error();
    if (cause.kind() == ErrorKind::kLimitExceeded) {
      return limit_exceeded("external data at ", quote(location), ": ", cause.message());
    }
    return invalid_model("external data at ", quote(location), ": ", cause.message(),
                         "; put the file beside the model, where the exporter wrote it");
  }
  options_.limit_bytes -= static_cast<int64_t>((*file)->size());
  files_.emplace(location, *file);
  return file;
}

void ExternalFiles::note_unused(const Limits& limits) const {
  if (given_ == nullptr || limits.notices == nullptr) return;
  for (const auto& [location, file] : given_->files) {
    if (files_.count(location) == 0)
      limits.notices->push_back(
          str_cat("file ", quote(location), " was given, but no tensor of the model is in it"));
  }
}

}  // namespace tenon::onnx
