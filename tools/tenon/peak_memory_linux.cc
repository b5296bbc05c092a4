#include <fstream>
#include <string>

#include "tools/tenon/peak_memory.h"

namespace tenon::cli {

// proc(5): writing 5 to clear_refs sets VmHWM in status to the current use.
bool reset_peak() { return static_cast<bool>(std::ofstream("/proc/self/clear_refs") << "5" << std::flush); }

double peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) * 1024;  // in kB
  return 0;
}

}  // namespace tenon::cli
