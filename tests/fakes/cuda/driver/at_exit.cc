#include "at_exit.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "capture.h"
#include "process.h"

namespace fake_cuda {
namespace {

void write_counts() {
  const Driver& own = driver();
  if (own.settings.counts.empty()) return;
  std::string text;
  for (const auto& [name, count] : own.counts) text += name + " " + std::to_string(count) + "\n";
  const std::string temporary = own.settings.counts + "." + std::to_string(getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "we");
  if (file == nullptr) return;
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) == 0 && whole) std::rename(temporary.c_str(), own.settings.counts.c_str());
}

void find_leaks() {
  Driver& own = driver();
  std::map<std::string, uint64_t> leaks;
  for (const auto& device : own.devices) {
    if (device->error != CUDA_SUCCESS) return;  // nothing can be given back then
    if (device->context->is_active()) ++leaks["retained primary context"];
    for (const auto& it : device->allocations) leaks["allocated byte"] += it.second.bytes;
    for (const auto& entry : device->streams) leaks["stream"] += entry.second->is_null() ? 0 : 1;
    for (const auto& pool : device->pools)
      leaks["memory pool"] += pool->is_default || pool->destroyed ? 0 : 1;
  }
  for (const auto& [object, kind] : own.handles) {
    const bool listed = kind == Kind::kEvent || kind == Kind::kModule || kind == Kind::kLibrary ||
                        kind == Kind::kGraph || kind == Kind::kGraphExec;
    if (listed) ++leaks[name_of(kind)];
  }
  for (const auto& it : own.host_memory)
    ++leaks[it.second.registered ? "registered range" : "pinned allocation"];
  leaks["capture in progress"] += own.captures.size();
  for (const auto& [what, count] : leaks) {
    if (count > 0) own.misuse.insert("at the end there is still: " + what + ", " + std::to_string(count));
  }
}

/// After the destructors of the application and of the libraries that use this one.
__attribute__((destructor)) void end() {
  Driver& own = driver();
  if (!own.initialised || own.forked) return;
  const std::lock_guard lock(own.mutex);
  for (const auto& device : own.devices) error_of(*device);  // reports what nobody has asked for
  if (own.settings.strict) find_leaks();
  write_counts();
  for (const auto& device : own.devices) stop_process(*device);
  if (!own.settings.strict || own.misuse.empty()) return;
  for (const std::string& misuse : own.misuse) {
    const std::string line = "fake CUDA: misuse: " + misuse + "\n";
    if (write(STDERR_FILENO, line.data(), line.size()) < 0) break;
    own.log.line(line.substr(0, line.size() - 1));
  }
  _exit(kMisuseStatus);
}

}  // namespace
}  // namespace fake_cuda
