// What was learnt from the bytes of files, kept for the process: a file is read once as long as it is provably the same.
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

/// A T for each file. Thread-safe. For variables with static storage duration only.
template <class T>
class KnownFiles {
 public:
  /// What `read` makes of the file, or what it made of it before when the file did not change since. Not kept: errors, and
  /// what was read of a file that had just changed, because a further change within the same tick of the file system's
  /// clock would not show in its identity.
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
  static constexpr size_t kMost = 4096;  // paths; beyond, all is learnt again
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
