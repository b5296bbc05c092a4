// What the fake accelerator does in a test: the file of its option `counters`, mapped.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/fakes/accelerator/counters.h"

namespace tenon::runtime::test {

/// A new file, removed with this object.
class FakeCounters {
 public:
  ~FakeCounters() { std::filesystem::remove(path_); }
  const accelerator::Counters* operator->() const { return &file_.counters(); }
  /// A line for the options of an instance.
  std::string option() const { return "counters = '" + path_ + "'\n"; }

 private:
  std::string path_ = testing::TempDir() + "/tenon-counters." + std::to_string(::getpid());
  accelerator::CounterFile file_{path_};
};

}  // namespace tenon::runtime::test
