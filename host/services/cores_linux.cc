#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <new>
#include <string>

#include "host/base/text.h"
#include "host/base/text_file.h"
#include "host/services/cores.h"

namespace tenon::runtime {
namespace {

uint32_t affinity_cores() {
  // A machine with more cores than cpu_set_t has bits needs a larger set.
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

/// The text of a small kernel file; empty when there is none. Not read with a stream, which reports running out of
/// memory as the end of the file.
std::string text_of(const std::string& path) {
  Result<std::string> text = read_text_file(path, 64 << 10);
  if (text.status().kind() == ErrorKind::kOutOfMemory) throw std::bad_alloc();
  return std::move(text).value_or(std::string());
}

/// Removes a number from the front of the text and returns it; 0 when there is none ("max").
double take_number(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_not_of(" \n"), text->size()));
  double number = 0;
  const char* const end = text->data() + text->size();
  text->remove_prefix(static_cast<size_t>(std::from_chars(text->data(), end, number).ptr - text->data()));
  return number;
}

double number_of(const std::string& path) {
  const std::string text = text_of(path);
  std::string_view rest = text;
  return take_number(&rest);
}

/// The cores that a group's quota allows; 0 without a quota.
double group_quota(const std::string& folder) {
  const std::string v2 = text_of(folder + "/cpu.max");  // "max 100000" without a quota
  std::string_view rest = v2;
  const double quota = take_number(&rest), period = take_number(&rest);
  if (quota > 0 && period > 0) return quota / period;
  const double v1_quota = number_of(folder + "/cpu.cfs_quota_us");
  const double v1_period = number_of(folder + "/cpu.cfs_period_us");
  return v1_quota > 0 && v1_period > 0 ? v1_quota / v1_period : 0;
}

/// The bytes that a group may take; 0 without a limit.
double group_memory(const std::string& folder) {
  const double v2 = number_of(folder + "/memory.max");  // "max" without a limit
  return v2 > 0 ? v2 : number_of(folder + "/memory.limit_in_bytes");
}

/// The lowest value that `read` returns for the folders from this process's group up to the root; 0 when all return 0.
template <class Read>
double tightest_of(const char* wanted_controller, Read read) {
  double tightest = 0;
  for (const std::string& line :
       split(text_of("/proc/self/cgroup"), '\n')) {  // "0::/a/b", or "4:cpu,cpuacct:/a/b"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers.find(wanted_controller) == std::string::npos) continue;
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
  const double quota = tightest_of("cpu", group_quota);  // one of the controllers of a group
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
