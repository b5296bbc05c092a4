#if !defined(_WIN32)

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <algorithm>

#include "host/base/sanitizer.h"
#include "host/scan_helper/confine.h"

namespace tenon::scan {
namespace {

template <class Resource>
void limit(Resource resource, rlim_t most) {
  rlimit now;
  if (getrlimit(resource, &now) != 0) return;
  rlimit wanted = {std::min(now.rlim_cur, most), std::min(now.rlim_max, most)};
  (void)setrlimit(resource, &wanted);
}

}  // namespace

void confine(int last_descriptor, unsigned cpu_seconds) {
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); file >= 0) {
    (void)!::write(file, "1000", 4);
    ::close(file);
  }
  closefrom(last_descriptor + 1);
#endif
  // One byte, not zero: with a limit of zero some systems pipe the dump to a program.
  limit(RLIMIT_CORE, 1);
  limit(RLIMIT_CPU, cpu_seconds);
  limit(RLIMIT_FSIZE, rlim_t{256} << 20);
  // A sanitizer reserves more address space than this limit allows.
  if (kHostSanitizer == TENON_SANITIZER_NONE) limit(RLIMIT_DATA, rlim_t{16} << 30);
}

}  // namespace tenon::scan

#endif
