// The functions of NVIDIA's libraries, counted. The provider asks the loader for each by name, and the loader's dlsym is this
// program's own (interposed.cc), so that every call of the provider passes here.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tenon::test {

/// Calls since the last reset, by the name in cuda.h.
struct CudaCalls {
  std::map<std::string, int> count;       // without the functions that were not called
  std::map<std::string, uint64_t> bytes;  // of functions that copy or allocate

  int of(const std::string& name) const {
    const auto at = count.find(name);
    return at == count.end() ? 0 : at->second;
  }
  uint64_t bytes_of(const std::string& name) const {
    const auto at = bytes.find(name);
    return at == bytes.end() ? 0 : at->second;
  }
};
CudaCalls cuda_calls();
void reset_cuda_calls();

}  // namespace tenon::test
