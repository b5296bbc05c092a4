// Preloaded: the process is killed before the call number KILL_AT that changes the file system, counted from 0. Calls that only
// read are not counted.
#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace {

void step() {
  static long left = std::getenv("KILL_AT") == nullptr ? -1 : std::atol(std::getenv("KILL_AT"));
  if (left >= 0 && left-- == 0) kill(getpid(), SIGKILL);
}

template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int rename(const char* from, const char* to) {
  step();
  return next<int(const char*, const char*)>("rename")(from, to);
}
int mkdir(const char* path, mode_t mode) {
  step();
  return next<int(const char*, mode_t)>("mkdir")(path, mode);
}
int unlinkat(int folder, const char* path, int flags) {
  step();
  return next<int(int, const char*, int)>("unlinkat")(folder, path, flags);
}
int remove(const char* path) {
  step();
  return next<int(const char*)>("remove")(path);
}
int fchmodat(int folder, const char* path, mode_t mode, int flags) {
  step();
  return next<int(int, const char*, mode_t, int)>("fchmodat")(folder, path, mode, flags);
}
ssize_t sendfile(int to, int from, off_t* offset, size_t n) {
  step();
  return next<ssize_t(int, int, off_t*, size_t)>("sendfile")(to, from, offset, n);
}
ssize_t write(int file, const void* data, size_t n) {
  if (file > STDERR_FILENO) step();
  return next<ssize_t(int, const void*, size_t)>("write")(file, data, n);
}

}  // extern "C"
#pragma GCC visibility pop
