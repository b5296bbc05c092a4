#include "host_functions.h"

#include <pthread.h>
#include <signal.h>

#include <thread>

#include "queue.h"
#include "tests/fakes/cuda/device/futex.h"

namespace fake_cuda {
namespace {

void serve() {
  HostRequests& host = driver().shared->host;
  for (;;) {
    const uint32_t bell = host.bell.load();
    bool idle = true;
    for (HostRequest& request : host.requests) {
      if (request.state.load() != HostRequest::kAsked) continue;
      idle = false;
      std::shared_ptr<std::function<void()>> run;
      {
        const std::lock_guard lock(driver().mutex);
        const auto once = driver().once_functions.find(request.id);
        if (once != driver().once_functions.end()) {
          run = once->second;
          driver().once_functions.erase(once);
        } else if (const auto found = driver().host_functions.find(request.id);
                   found != driver().host_functions.end()) {
          run = found->second;
        }
      }
      try {
        if (run != nullptr) (*run)();
      } catch (const Refusal& refusal) {
        driver().log.report("a copy of registered memory failed: " + refusal.why);
      }
      {
        // Whoever waits for the stream takes the lock, too: so it sees, and sanitizers see, what the function did.
        const std::lock_guard lock(driver().mutex);
        request.state.store(HostRequest::kDone);
      }
      futex_wake(request.state);
    }
    if (idle) futex_wait(host.bell, bell, 10'000);
  }
}

void start_server() {
  static std::once_flag once;
  std::call_once(once, [] {
    // Signals are for the application's threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread(serve).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  });
}

}  // namespace

void submit_host_function(Call& call, Stream& stream, std::function<void()> run, CUgraphNodeType type,
                          std::string label) {
  start_server();
  Driver& own = driver();
  IdCommand command;
  command.id = own.next_id++;
  auto shared = std::make_shared<std::function<void()>>(std::move(run));
  if (stream.capture != nullptr) {
    own.host_functions[command.id] = std::move(shared);
  } else {
    own.once_functions[command.id] = std::move(shared);
  }
  submit(call, stream, CommandBuffer(Do::kHost, command), type, std::move(label));
}

}  // namespace fake_cuda

using namespace fake_cuda;

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  return run_call("cuLaunchHostFunc", kContext, [&](Call& call) {
    require(function != nullptr, CUDA_ERROR_INVALID_VALUE);
    submit_host_function(
        call, stream_of(call, handle), [=] { function(data); }, CU_GRAPH_NODE_TYPE_HOST, "");
  });
}
