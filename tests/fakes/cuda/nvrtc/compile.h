// Compiles CUDA C++ with g++, or finds the result of an earlier time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "options.h"

namespace fake_cuda {

struct Source {
  std::string name, text;
  std::vector<std::pair<std::string, std::string>> headers;  // names, as in #include, and texts
  std::vector<std::string> name_expressions;
};

struct Compiled {
  bool ok = false;
  std::string log;     // of errors
  std::string object;  // a shared object
  std::string key;
  bool finds_races = false;
};

Compiled compile(const Source& source, const Options& options);

}  // namespace fake_cuda
