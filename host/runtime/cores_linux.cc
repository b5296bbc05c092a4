#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "host/runtime/cores.h"

namespace tenon::runtime {
namespace {

uint32_t affinity_cores() {
  // The mask of a machine with more cores than cpu_set_t has bits needs a larger set.
  for (int capacity = CPU_SETSIZE; capacity <= 64 * CPU_SETSIZE; capacity *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(capacity));
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(capacity));
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (known) return static_cast<uint32_t>(std::max(count, 1));
  }
  return static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

/// Cores by quota of one group; 0 when it sets none.
double group_quota(const std::string& folder) {
  double quota = 0, period = 0, v1_quota = 0;
  std::ifstream v2(folder + "/cpu.max");  // "max 100000" without a quota
  if (v2 >> quota >> period && period > 0) return quota / period;
  std::ifstream v1(folder + "/cpu.cfs_quota_us"), v1_period(folder + "/cpu.cfs_period_us");
  if (v1 >> v1_quota && v1_period >> period && v1_quota > 0 && period > 0) return v1_quota / period;
  return 0;
}

/// Bytes that one group may take; 0 when it sets no limit.
double group_memory(const std::string& folder) {
  double limit = 0;
  std::ifstream v2(folder + "/memory.max");  // "max" without a limit
  if (v2 >> limit) return limit;
  std::ifstream v1(folder + "/memory.limit_in_bytes");
  return v1 >> limit ? limit : 0;
}

/// The least of what `read` says of the folders from this process's group up to the root; 0 when none says anything.
template <class Read>
double tightest_of(const char* controllers_named, Read read) {
  std::ifstream groups("/proc/self/cgroup");
  double tightest = 0;
  for (std::string line; std::getline(groups, line);) {  // "0::/a/b", or "4:cpu,cpuacct:/a/b"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers.find(controllers_named) == std::string::npos) continue;
    const std::string mount = controllers.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controllers;
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      const double limit = read(mount + path);
      if (limit > 0 && (tightest == 0 || limit < tightest)) tightest = limit;
      if (path.empty() || path.rfind('/') == std::string::npos) break;
    }
  }
  return tightest;
}

}  // namespace

uint32_t count_usable_cores() {
  const uint32_t cores = affinity_cores();
  const double quota = tightest_of(/*controllers=*/"cpu", group_quota);
  if (quota <= 0 || quota >= cores) return cores;
  return std::max(1u, static_cast<uint32_t>(std::ceil(quota)));
}

uint64_t usable_memory() {
  const auto machine =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const double limit = tightest_of("memory", group_memory);
  return static_cast<uint64_t>(limit > 0 ? std::min(limit, machine) : machine);
}

void name_this_thread(const char* name) { pthread_setname_np(pthread_self(), name); }
int64_t current_process_id() { return getpid(); }

}  // namespace tenon::runtime
