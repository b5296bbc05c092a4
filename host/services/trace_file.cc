#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "host/base/fork.h"
#include "host/base/log.h"
#include "host/services/cores.h"
#include "host/services/trace.h"

namespace tenon::runtime {
namespace {

struct OpenFiles {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Trace>> traces;  // by path
};
OpenFiles& open_files() {
  static constinit PerProcess<OpenFiles> files;
  return files.get();
}

std::string with_process_id(std::string path) {
  constexpr std::string_view kPlace = "{pid}";
  for (size_t at; (at = path.find(kPlace)) != std::string::npos;)
    path.replace(at, kPlace.size(), std::to_string(current_process_id()));
  return path;
}

void write(const std::string& path, const Trace& trace) noexcept {
  try {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << trace.to_json() << '\n';
    file.close();
    if (!file) log_line(TENON_LOG_WARNING, "TRACE", str_cat("file '", path, "' could not be written"));
  } catch (...) {  // no memory for the text; the trace is lost
  }
}

Status cannot_write(const std::string& path) {
  return config_error("profiling.file names '", path,
                      "', which cannot be written; its folder must exist and be writable");
}

}  // namespace

std::string write_trace_file(const std::shared_ptr<Trace>& trace) {
  std::string path;
  {
    const std::lock_guard lock(open_files().mutex);
    for (const auto& [each, known] : open_files().traces) {
      if (known.lock() == trace) path = each;
    }
  }
  write(path, *trace);
  return path;
}

Status check_trace_file(const std::string& given) {
  const std::string path = with_process_id(given);
  std::error_code error;
  const bool existed = std::filesystem::exists(path, error);
  if (!std::ofstream(path, std::ios::binary | std::ios::app)) return cannot_write(path);
  if (!existed) std::filesystem::remove(path, error);
  return ok_status();
}

Result<std::shared_ptr<Trace>> open_trace_file(const std::string& given) {
  const std::string path = with_process_id(given);
  const std::lock_guard lock(open_files().mutex);
  std::weak_ptr<Trace>& known = open_files().traces[path];
  if (auto trace = known.lock()) return trace;
  if (!std::ofstream(path, std::ios::binary | std::ios::trunc)) {
    return cannot_write(path);
  }
  std::shared_ptr<Trace> trace(new Trace, [path](Trace* last) {
    write(path, *last);
    delete last;
  });
  known = trace;
  return trace;
}

}  // namespace tenon::runtime
