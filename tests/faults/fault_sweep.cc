// fault_sweep MODEL CONFIG STATE [--step K] [--seed S] [--first N] [--random M] [--seconds T] [--show N]
//
// Loads and runs a model once for each allocation that this makes, which fails: all of the first N, M at random of the rest,
// or each K-th and the last 20, which end a Run and release its values. Each time is a process of its own, forked from one
// that has done nothing yet, so that what is made once per process is met by the failure too. Good is a time that ends in a typed error, or well where the failed allocation was of
// no matter; after it the same process does the work without an error and holds as many blocks as after one or two times of work
// that met no failure. Allocations of foreign libraries succeed and are listed. Exit code 1 when a time is not good.
//
// For a time that is not good it prints the stack of the allocation that failed and, after "died in" or "left over by", the
// stack that is to blame: that of the signal, which an exception in a noexcept function has unwound down to that function,
// or that of a block that nobody freed.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dlfcn.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "tenon/tenon.h"
#include "tests/faults/fail_alloc.h"

namespace {

constexpr int kSeconds = 60;  // for all that one process does; it may have to wait for the processor

// What one process tells its parent, in memory of both.
struct Report {
  fail_alloc_record record;
  uint64_t count;
  int64_t live;
  uint64_t sum;           // of the outputs' bytes, of the first time
  int32_t first, second;  // tenon_status of each time
  uint32_t kind;          // TENON_FAILURE_x of the first
  char stage[32];         // where it stopped
  char message[1300];
  uint32_t finished;
  uint32_t death_frames;  // where a signal came
  void* death[FAIL_ALLOC_FRAMES];
};

Report* g_report;  // of both processes

const tenon_api* g_api;
std::string g_model, g_config;

tenon_str str(const std::string& text) { return {text.data(), text.size()}; }

// One time of work. All it takes is given back, however it ends.
class Work {
 public:
  ~Work() {
    for (tenon_value* value : inputs_) g_api->value_release(value);
    for (tenon_value* value : outputs_) g_api->value_release(value);
    g_api->text_release(text_);
    g_api->session_release(session_);
    g_api->config_release(config_);
  }

  tenon_status run() {
    error.struct_size = sizeof error;
    stage = "config_create";
    if (tenon_status status = g_api->config_create(str(g_config), &config_, &error)) return status;
    stage = "session_create";
    if (tenon_status status = g_api->session_create(str(g_model), config_, nullptr, &session_, &error))
      return status;
    stage = "value_make";
    if (tenon_status status = make_inputs()) return status;
    stage = "run";
    outputs_count_ = g_api->session_output_count(session_);
    if (outputs_count_ > kMost) return TENON_OUT_OF_RANGE;
    if (tenon_status status =
            g_api->run(session_, nullptr, named_, inputs_count_, nullptr, 0, outputs_, &error))
      return status;
    add_outputs();
    stage = "session_describe";
    return g_api->session_describe(session_, TENON_DESCRIBE_EXPLAIN, &text_, &error);
  }

  tenon_error error{};
  const char* stage = "";
  uint64_t sum = 0;

 private:
  static constexpr uint32_t kMost = 32;

  // Numbers 0.25, 1.25, ... or 0, 1, ... by the type's size; one of each dim that is not known.
  tenon_status make_inputs() {
    inputs_count_ = g_api->session_input_count(session_);
    if (inputs_count_ > kMost) return TENON_OUT_OF_RANGE;
    for (uint32_t i = 0; i < inputs_count_; ++i) {
      tenon_io_info info{};
      info.struct_size = sizeof info;
      if (tenon_status status = g_api->session_input(session_, i, &info)) return status;
      int64_t dims[TENON_EP_MAX_RANK];
      uint64_t count = 1;
      for (int32_t d = 0; d < info.rank; ++d) {
        dims[d] = info.dims[d] < 0 ? 1 : info.dims[d];
        count *= static_cast<uint64_t>(dims[d]);
      }
      void* data = nullptr;
      if (tenon_status status = g_api->value_make_tensor(info.dtype, static_cast<uint32_t>(info.rank), dims,
                                                         &inputs_[i], &data, &error))
        return status;
      for (uint64_t e = 0; e < count; ++e) {
        if (info.dtype == TENON_FLOAT32) static_cast<float*>(data)[e] = 0.25f + static_cast<float>(e % 7);
        if (info.dtype == TENON_INT64) static_cast<int64_t*>(data)[e] = static_cast<int64_t>(e % 3);
        if (info.dtype == TENON_BOOL) static_cast<bool*>(data)[e] = e % 2 == 0;
      }
      named_[i] = {info.name, inputs_[i]};
    }
    return TENON_OK;
  }

  void add_outputs() {
    for (uint32_t o = 0; o < outputs_count_; ++o) {
      tenon_tensor tensor{};
      if (g_api->value_tensor(outputs_[o], &tensor) != TENON_OK) continue;
      for (uint64_t b = 0; b < tensor.byte_size; ++b)
        sum = sum * 31 + static_cast<const unsigned char*>(tensor.data)[b];
    }
  }

  tenon_config* config_ = nullptr;
  tenon_session* session_ = nullptr;
  tenon_text* text_ = nullptr;
  tenon_value* inputs_[kMost] = {};
  tenon_value* outputs_[kMost] = {};
  tenon_named_value named_[kMost] = {};
  uint32_t inputs_count_ = 0, outputs_count_ = 0;
};

tenon_status work(Report* report) {
  Work work;
  const tenon_status status = work.run();
  if (report == nullptr) return status;
  report->sum = work.sum;
  report->kind = g_api->error_kind(&work.error);
  std::snprintf(report->stage, sizeof report->stage, "%s", work.stage);
  std::snprintf(report->message, sizeof report->message, "%s: %s", work.error.where, work.error.message);
  return status;
}

constexpr uint64_t kOnce = UINT64_MAX;  // no failure, and the work is done once

void note_death(int signal) {
  g_report->death_frames = fail_alloc_stack(g_report->death);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

[[noreturn]] void child(uint64_t n, fail_alloc_block* blocks) {
  ::alarm(kSeconds);
  for (const int deadly : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) ::signal(deadly, note_death);
  Report* const report = g_report;
  const int64_t before = fail_alloc_live();  // of the parent
  std::memset(report, 0, sizeof *report);
  fail_alloc_watch(blocks);
  fail_alloc_arm(n, &report->record);
  report->first = work(report);
  report->count = fail_alloc_count();
  fail_alloc_arm(0, nullptr);
  report->second = n == kOnce ? report->first : work(nullptr);
  report->live = fail_alloc_live() - before;
  fail_alloc_watch(nullptr);
  report->finished = 1;
  ::_exit(0);
}

int run_child(uint64_t n, fail_alloc_block* blocks = nullptr) {
  const pid_t pid = ::fork();
  if (pid == 0) child(n, blocks);
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status;
}

using Stack = std::vector<void*>;

std::string trace(const Stack& stack) {
  std::string out;
  for (void* frame : stack) {
    Dl_info info;
    char line[256];
    if (dladdr(frame, &info) == 0 || info.dli_fname == nullptr) continue;
    std::snprintf(line, sizeof line, "    %s+0x%zx %s\n", info.dli_fname,
                  static_cast<size_t>(static_cast<char*>(frame) - static_cast<char*>(info.dli_fbase)) - 1,
                  info.dli_sname ? info.dli_sname : "");
    out += line;
  }
  return out;
}

// How many blocks are held, by the stack that allocated them: as far as this program, which calls from several places.
class Blocks {
 public:
  Blocks()
      : table_(static_cast<fail_alloc_block*>(
            ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}

  std::map<Stack, int> after(uint64_t n) {
    std::memset(table_, 0, kBytes);
    run_child(n, table_);
    Dl_info own;
    dladdr(reinterpret_cast<void*>(&str), &own);
    std::map<Stack, int> out;
    for (uint32_t i = 0; i < FAIL_ALLOC_BLOCKS; ++i) {
      const fail_alloc_block& block = table_[i];
      if (block.block == nullptr) continue;
      const auto is_own = [&](void* frame) {
        Dl_info info;
        return dladdr(frame, &info) != 0 && info.dli_fbase == own.dli_fbase;
      };
      void* const* const end = block.frame + block.frames;
      ++out[Stack(block.frame, std::find_if(block.frame, end, is_own))];
    }
    return out;
  }

 private:
  static constexpr size_t kBytes = sizeof(fail_alloc_block) * FAIL_ALLOC_BLOCKS;
  fail_alloc_block* const table_;
};

// Who allocated what is held after a failure at `n`, and is not held after one or two times without any.
std::string leftovers(uint64_t n) {
  static Blocks& blocks = *new Blocks;
  static const std::map<Stack, int> usual[] = {blocks.after(0), blocks.after(kOnce)};
  std::string out;
  for (const auto& [stack, count] : blocks.after(n)) {
    int most = 0;
    for (const auto& each : usual) most = std::max(most, each.count(stack) != 0 ? each.at(stack) : 0);
    if (count > most) out += "  left over by\n" + trace(stack);
  }
  return out;
}

std::string traces(int status, uint64_t n) {
  const Report& report = *g_report;
  std::string out = trace(Stack(report.record.frame, report.record.frame + report.record.frames));
  if (WIFSIGNALED(status) && report.death_frames != 0)
    return out + "  died in\n" + trace(Stack(report.death, report.death + report.death_frames));
  return report.finished != 0 ? out + leftovers(n) : out;
}

// Empty when it was good.
std::string judge(int status, const Report& report, const Report& clean, int64_t live_once) {
  char text[1500] = "";
  if (WIFSIGNALED(status)) {
    std::snprintf(text, sizeof text, WTERMSIG(status) == SIGALRM ? "it hangs" : "it dies by signal %d",
                  WTERMSIG(status));
  } else if (report.finished == 0) {
    std::snprintf(text, sizeof text, "the process ends with exit code %d", WEXITSTATUS(status));
  } else if (report.first == TENON_OK && report.sum != clean.sum) {
    std::snprintf(text, sizeof text, "it succeeds with other outputs");
  } else if (report.first != TENON_OK &&
             (report.first != TENON_RESOURCE_EXHAUSTED || report.kind != TENON_FAILURE_MEMORY ||
              std::strlen(report.message) <= 2)) {
    std::snprintf(text, sizeof text, "%s fails with status %d, kind %u: %s", report.stage, report.first,
                  report.kind, report.message);
  } else if (report.second != TENON_OK) {
    std::snprintf(text, sizeof text, "the next time fails with status %d", report.second);
  } else if (report.live > std::max(clean.live, live_once)) {
    std::snprintf(text, sizeof text, "%ld blocks are left over after %s",
                  static_cast<long>(report.live - clean.live),
                  report.first == TENON_OK ? "success" : report.stage);
  }
  return text;
}

struct Options {
  uint64_t step = 0, seed = 1, first = 0, random = 0, show = 0;
  double seconds = 1e9;
};

std::vector<uint64_t> chosen(const Options& options, uint64_t count) {
  std::vector<uint64_t> out;
  std::mt19937_64 engine(options.seed);
  if (options.show != 0) return {options.show};
  if (options.step != 0) {
    for (uint64_t n = 1 + engine() % options.step; n <= count; n += options.step) out.push_back(n);
    constexpr uint64_t kLast = 20;
    for (uint64_t n = count - std::min(count, kLast) + 1; n <= count; ++n) out.push_back(n);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  for (uint64_t n = 1; n <= std::min(options.first, count); ++n) out.push_back(n);
  std::vector<uint64_t> rest;
  for (uint64_t n = options.first + 1; n <= count; ++n) rest.push_back(n);
  std::shuffle(rest.begin(), rest.end(), engine);
  rest.resize(std::min<size_t>(rest.size(), options.random));
  std::sort(rest.begin(), rest.end());
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

}  // namespace

int main(int argument_count, char** words) {
  if (argument_count < 4) return 2;
  g_model = words[1];
  g_config = words[2];
  ::setenv("XDG_STATE_HOME", words[3], 1);
  ::setenv("XDG_CACHE_HOME", words[3], 1);
  Options options;
  for (int i = 4; i + 1 < argument_count; i += 2) {
    const std::string name = words[i];
    const uint64_t value = std::strtoull(words[i + 1], nullptr, 10);
    if (name == "--step") options.step = value;
    if (name == "--seed") options.seed = value;
    if (name == "--first") options.first = value;
    if (name == "--random") options.random = value;
    if (name == "--seconds") options.seconds = static_cast<double>(value);
    if (name == "--show") options.show = value;
  }
  g_api = tenon_get_api(TENON_API_VERSION);
  const rlimit no_dump{};
  ::setrlimit(RLIMIT_CORE, &no_dump);
  Report* const report = g_report = static_cast<Report*>(
      ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  // What the first look at a stack and the first exception take for good is taken here, by the parent of all; the C library
  // takes something of its own when one passes through it.
  fail_alloc_arm(1, &report->record);
  try {
    std::once_flag flag;
    std::call_once(flag, [] { ::operator delete(::operator new(1)); });
  } catch (const std::bad_alloc&) {
  }
  fail_alloc_arm(0, nullptr);
  run_child(0);  // scans the providers, whose answers are kept from then on
  run_child(kOnce);
  const int64_t live_once = report->live;
  const int status = run_child(0);
  const Report clean = *report;
  if (status != 0 || clean.first != TENON_OK || clean.second != TENON_OK || clean.count == 0) {
    std::printf("%s: without a failure: %s: status %d, %d: %s\n", words[1], clean.stage, clean.first,
                clean.second, clean.message);
    return 1;
  }

  std::map<std::string, int> foreign, absorbed;
  int tried = 0, typed = 0, bad = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);
  const std::vector<uint64_t> numbers = chosen(options, clean.count);
  for (const uint64_t n : numbers) {
    if (std::chrono::steady_clock::now() > end) break;
    const int ended = run_child(n);
    const std::string wrong = judge(ended, *report, clean, live_once);
    ++tried;
    if (!wrong.empty()) {
      ++bad;
      std::printf("%s: allocation %lu: %s\n", words[1], static_cast<unsigned long>(n), wrong.c_str());
    } else if (report->record.reached == 2) {
      ++foreign[report->record.module];
    } else if (report->first == TENON_OK) {
      ++absorbed[report->record.reached == 1 ? "by ours" : "not reached"];
    } else {
      ++typed;
    }
    if (!wrong.empty() || options.show != 0) std::fputs(traces(ended, n).c_str(), stdout);
    std::fflush(stdout);
  }
  std::printf("%s: %lu allocations, %d of %zu tried, seed %lu: %d typed errors, %d bad", words[1],
              static_cast<unsigned long>(clean.count), tried, numbers.size(),
              static_cast<unsigned long>(options.seed), typed, bad);
  for (const auto& [how, times] : absorbed) std::printf(", %d without effect (%s)", times, how.c_str());
  for (const auto& [module, times] : foreign) std::printf(", %d in %s", times, module.c_str());
  std::printf("\n");
  return bad == 0 && tried != 0 ? 0 : 1;
}
