// fault_orders ORDER PROVIDER MODEL
//
// One order in which a process forks or ends while Tenon is in use. Exit code 0 when all went as the order says; a signal, a
// hang (which the caller notices) or another exit code when not. `--list` prints the orders.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tenon/tenon.hpp"

extern char** environ;

namespace {

using tenon::Config;
using tenon::Session;
using Clock = std::chrono::steady_clock;

std::string g_provider, g_model, g_self;

constexpr int kGood = 0, kBad = 21;

Session make() {
  Config config;
  config.set("select.order", "[\"" + g_provider + "\"]").set("threads.count", "2");
  return Session(g_model, config);
}

std::vector<tenon::NamedValue> inputs_of(const Session& session) {
  std::vector<tenon::NamedValue> inputs;
  for (const tenon_io_info& info : session.inputs()) {
    std::vector<int64_t> dims;
    for (int32_t d = 0; d < info.rank; ++d) dims.push_back(info.dims[d] < 0 ? 1 : info.dims[d]);
    tenon::Value value = tenon::Value::empty_tensor(info.dtype, dims);
    std::memset(value.describe().data, 0, value.describe().byte_size);
    inputs.push_back({tenon::as_string(info.name), value});
  }
  return inputs;
}

void run(Session& session) { session.run(inputs_of(session)); }

// A session that lives until statics are torn down, or that nobody ever releases.
Session& lasting() {
  static Session session = make();
  return session;
}
Session& leaked() { return *new Session(make()); }

// A thread that works until the process is gone. What it throws is of no matter: the process is ending.
void work_on(std::function<void()> body) {
  static std::atomic<int> rounds{0};
  std::thread([body] {
    for (;;) {
      try {
        body();
      } catch (const std::exception&) {
      }
      ++rounds;
    }
  }).detach();
  while (rounds < 2) std::this_thread::yield();
}

void threads_that_run() {
  Session& session = leaked();
  work_on([&session] { run(session); });
}
void threads_that_create() {
  for (int i = 0; i < 2; ++i) work_on([] { make(); });
}

int wait_for(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) return kBad;
  if (WIFSIGNALED(status)) std::fprintf(stderr, "the child died of signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) ? WEXITSTATUS(status) : kBad;
}

int in_child(const std::function<int()>& body, bool by_exit = false) {
  const pid_t pid = ::fork();
  if (pid != 0) return wait_for(pid);
  const int code = body();
  if (by_exit) std::exit(code);
  ::_exit(code);
}

// The old session is refused at once, with an error that says why.
int is_told(Session& session) {
  const std::vector<tenon::NamedValue> inputs = inputs_of(session);
  const Clock::time_point begin = Clock::now();
  try {
    session.run(inputs);
  } catch (const tenon::Error& error) {
    const bool soon = Clock::now() - begin < std::chrono::milliseconds(10);
    const bool named =
        error.code() == TENON_FAILED_PRECONDITION && error.message().find("fork") != std::string::npos;
    if (!soon || !named) std::fprintf(stderr, "told: %s%s\n", soon ? "" : "late: ", error.what());
    return soon && named ? kGood : kBad;
  }
  return kBad;
}

int own_session_works() {
  try {
    Session session = make();
    run(session);
    return kGood;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "in the child: %s\n", error.what());
    return kBad;
  }
}

int spawn_self(bool by_vfork) {
  std::vector<std::string> words = {g_self, "return_without_sessions", g_provider, g_model};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = -1;
  if (by_vfork) {
    if (::posix_spawn(&pid, g_self.c_str(), nullptr, nullptr, arguments.data(), environ) != 0) return kBad;
  } else {
    pid = ::fork();
    if (pid == 0) {
      ::execv(g_self.c_str(), arguments.data());
      ::_exit(kBad);
    }
  }
  return wait_for(pid);
}

struct Order {
  const char* name;
  const char* text;
  std::function<int()> go;
};

const std::vector<Order>& orders() {
  static const auto& all = *new std::vector<Order>{
      {"return_without_sessions", "main returns, all sessions are gone",
       [] {
         Session s = make();
         run(s);
         return kGood;
       }},
      {"return_static_session", "main returns, a static Session lives",
       [] {
         run(lasting());
         return kGood;
       }},
      {"return_leaked_session", "main returns, a session is never released",
       [] {
         run(leaked());
         return kGood;
       }},
      {"return_while_running", "main returns while a thread runs",
       [] {
         threads_that_run();
         return kGood;
       }},
      {"return_while_creating", "main returns while threads make sessions",
       [] {
         threads_that_create();
         return kGood;
       }},
      {"exit_static_session", "exit(), a static Session lives",
       [] {
         run(lasting());
         std::exit(kGood);
         return kBad;
       }},
      {"exit_while_running", "exit() while a thread runs",
       [] {
         threads_that_run();
         std::exit(kGood);
         return kBad;
       }},
      {"exit_while_creating", "exit() while threads make sessions",
       [] {
         threads_that_create();
         std::exit(kGood);
         return kBad;
       }},
      {"exit_in_a_thread", "exit() in another thread, main runs",
       [] {
         Session& session = leaked();
         std::thread([] {
           std::this_thread::sleep_for(std::chrono::milliseconds(5));
           std::exit(kGood);
         }).detach();
         for (;;) run(session);
         return kBad;
       }},
      {"_exit_while_running", "_exit() while a thread runs",
       [] {
         threads_that_run();
         ::_exit(kGood);
         return kBad;
       }},
      {"quick_exit_while_running", "quick_exit() while a thread runs",
       [] {
         threads_that_run();
         std::quick_exit(kGood);
         return kBad;
       }},
      {"atexit_runs", "a function of atexit, registered before all, makes and runs a session",
       [] {
         std::atexit([] {
           if (own_session_works() != kGood) ::_exit(kBad);
         });
         run(lasting());
         return kGood;
       }},
      {"fork_old_session", "a child uses its parent's session",
       [] {
         Session& session = lasting();
         run(session);
         const int code = in_child([&] { return is_told(session); });
         run(session);
         return code;
       }},
      {"fork_release", "a child releases its parent's session and ends by exit()",
       [] {
         auto session = std::make_unique<Session>(make());
         run(*session);
         const int code = in_child(
             [&] {
               session.reset();
               return kGood;
             },
             true);
         run(*session);
         return code;
       }},
      {"fork_new_session", "a child makes a session of its own after its parent's Run",
       [] {
         Session& session = lasting();
         run(session);
         const int code = in_child(own_session_works, true);
         run(session);
         return code;
       }},
      {"fork_before", "a child of a process that did nothing yet",
       [] {
         const int code = in_child(own_session_works, true);
         return code == kGood ? own_session_works() : code;
       }},
      {"fork_of_fork", "a child of a child",
       [] {
         run(lasting());
         return in_child(
             [] { return own_session_works() == kGood ? in_child(own_session_works, true) : kBad; }, true);
       }},
      {"fork_while_running", "a child while threads of the parent run and make sessions",
       [] {
         threads_that_run();
         threads_that_create();
         for (int i = 0; i < 25; ++i) {  // a lock that a thread holds for a moment is met by one in many
           if (const int code = in_child(own_session_works); code != kGood) return code;
         }
         ::_exit(kGood);
         return kBad;
       }},
      {"submitted_at_the_end",
       "main returns while Runs are submitted, and a static object waits for one of them",
       [] {
         Session& session = lasting();
         struct Waits {
           ~Waits() {
             try {
               last->wait();
             } catch (const tenon::Error& error) {
               if (error.kind() != TENON_FAILURE_CANCELLED) ::_exit(kBad);
             }
           }
           std::unique_ptr<tenon::Pending> last;
         };
         static Waits waits;
         for (int i = 0; i < 300; ++i)
           waits.last = std::make_unique<tenon::Pending>(session.submit(inputs_of(session)));
         return kGood;
       }},
      {"submitted_callback_exits", "exit() in the callback of a submitted Run",
       [] {
         Session& session = lasting();
         tenon::Pending last = session.submit(inputs_of(session));
         last.then([](const tenon::Error* error, const tenon::Outputs&) {
           std::exit(error == nullptr ? kGood : kBad);
         });
         for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
         return kBad;
       }},
      {"submitted_callback_hangs", "main returns while a callback waits for ever",
       [] {
         Session& session = lasting();
         static std::atomic<bool> is_told{false};
         static const std::thread::id self = std::this_thread::get_id();
         for (int i = 0; !is_told && i < 100; ++i) {
           // A Run that has ended already calls back on this thread, which must not hang: then the next one is tried.
           tenon::Pending one = session.submit(inputs_of(session));
           one.then([](const tenon::Error*, const tenon::Outputs&) {
             if (std::this_thread::get_id() == self) return;
             is_told = true;
             for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
           });
           for (int ms = 0; !is_told && ms < 1000 && !one.wait_for(std::chrono::milliseconds(1)); ++ms) {
           }
         }
         return is_told ? kGood : kBad;
       }},
      {"fork_submitted", "a child asks for a submitted Run of its parent, and submits Runs of its own",
       [] {
         Session& session = lasting();
         tenon::Pending parents = session.submit(inputs_of(session));
         const int code = in_child(
             [&] {
               try {
                 parents.wait();
                 return kBad;
               } catch (const tenon::Error& error) {
                 if (error.code() != TENON_FAILED_PRECONDITION) return kBad;
               }
               Session own = make();
               own.submit(inputs_of(own)).wait();
               return kGood;
             },
             true);
         parents.wait();
         return code;
       }},
      {"exec_while_running", "exec in a child while a thread runs",
       [] {
         threads_that_run();
         const int code = spawn_self(false);
         ::_exit(code);
         return code;
       }},
      {"spawn_while_running", "posix_spawn while a thread runs",
       [] {
         threads_that_run();
         const int code = spawn_self(true);
         ::_exit(code);
         return code;
       }},
  };
  return all;
}

}  // namespace

int main(int argument_count, char** words) {
  if (argument_count == 2 && std::string(words[1]) == "--list") {
    for (const Order& order : orders()) std::printf("%s %s\n", order.name, order.text);
    return 0;
  }
  if (argument_count < 4) return 2;
  g_self = words[0];
  g_provider = words[2];
  g_model = words[3];
  for (const Order& order : orders()) {
    if (std::string(words[1]) != order.name) continue;
    try {
      return order.go();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return kBad;
    }
  }
  return 2;
}
