#include "openmp/threads.h"

#if defined(__unix__)
#include <dlfcn.h>
#include <pthread.h>
#endif

#include <atomic>

#include "openmp/team.h"

namespace tenon::onednn {
namespace {

/// Set in the child of a fork, where libgomp would wait for threads that only the parent has.
std::atomic<bool> g_is_forked{false};

/// The libgomp of the process, if it is globally loaded: the loader then prefers it to our functions.
struct Foreign {
  void (*set_num_threads)(int) = nullptr;
  void (*set_max_active_levels)(int) = nullptr;

  static const Foreign& get() {
    static const Foreign found = [] {
      Foreign out;
#if defined(__unix__)
      if (is_ours(dlsym(RTLD_DEFAULT, "GOMP_parallel"))) return out;
      out.set_num_threads = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
      out.set_max_active_levels =
          reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_max_active_levels"));
      pthread_atfork(nullptr, nullptr, [] { g_is_forked.store(true, std::memory_order_relaxed); });
#endif
      return out;
    }();
    return found;
  }
  /// Whether `function` is in the library of team.cc, and so what oneDNN is bound to.
  static bool is_ours([[maybe_unused]] void* function) {
#if defined(__unix__)
    Dl_info theirs{}, own{};
    return dladdr(function, &theirs) != 0 && dladdr(reinterpret_cast<void*>(&onednn_team_begin), &own) != 0 &&
           theirs.dli_fbase == own.dli_fbase;
#else
    return true;
#endif
  }
  bool works() const { return set_num_threads != nullptr; }
  /// A primitive asks for the number of threads that it was made for, whatever is set. Only with no active
  /// levels does it get one thread.
  void limit(uint32_t threads) const {
    if (g_is_forked.load(std::memory_order_relaxed)) threads = 1;
    if (set_num_threads != nullptr) set_num_threads(static_cast<int>(threads));
    if (set_max_active_levels != nullptr) set_max_active_levels(threads > 1 ? 1 : 0);
  }
};

}  // namespace

void set_team_size(uint32_t threads) {
  onednn_team_set_size(threads);
  Foreign::get().limit(threads);
}

// If the host lends no threads, the calling thread does the work.
Team::Team(tenon_run* run, uint32_t wanted)
    : run_(run), took_(wanted > 1 && ep::host().own_threads != nullptr) {
  const uint32_t granted = took_ ? ep::host().own_threads(run, wanted - 1) : 1;
  onednn_team_begin(Foreign::get().works() ? 1 : granted);  // with libgomp, our helpers stay asleep
  Foreign::get().limit(granted);
}

Team::~Team() {
  if (!took_) return;
  onednn_team_end();
  ep::host().own_threads_done(run_);
}

}  // namespace tenon::onednn
