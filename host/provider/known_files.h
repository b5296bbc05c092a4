// Keeps for the process what was read from files, so that an unchanged file is read only once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "host/base/fork.h"
#include "host/provider/open_file.h"

namespace tenon::provider {

/// One T per file. Thread-safe. Only for variables with static storage duration.
template <class T>
class KnownFiles {
 public:
  /// The result of `read` for the file; an earlier result when the file did not change since. Errors are not kept.
  /// A result for a file that changed just before is not kept either: a second change within the same tick of the
  /// file system's clock would not change the file's identity.
  template <class Read>
  Result<std::shared_ptr<const T>> get(const OpenFile& file, Read read) {
    Table& table = table_.get();
    {
      const std::lock_guard lock(table.mutex);
      const auto at = table.files.find(file.path());
      if (at != table.files.end() && at->second.identity == file.identity()) return at->second.value;
    }
    ASSIGN_OR_RETURN(T made, read());
    auto value = std::make_shared<const T>(std::move(made));
    if (!file.is_settled() || !file.is_unchanged()) return value;
    const std::lock_guard lock(table.mutex);
    if (table.files.size() >= kMost) table.files.clear();
    table.files[file.path()] = {file.identity(), value};
    return value;
  }

 private:
  static constexpr size_t kMost = 4096;  // paths; when there are more, all are forgotten
  struct Known {
    FileIdentity identity;
    std::shared_ptr<const T> value;
  };
  struct Table {
    std::mutex mutex;
    std::map<std::string, Known> files;
  };
  PerProcess<Table> table_;
};

}  // namespace tenon::provider
