#include "islands/recipe.h"

#include "tenon/ep/trace.hpp"

namespace tenon::cpu::islands {

void Recipe::run(const ep::Context& ctx) const {
  auto** addresses = ctx.scratch<void*>(static_cast<int64_t>(buffers.size()) + 1);
  auto* workspace = static_cast<std::byte*>(ctx.workspace());
  for (size_t b = 0; b < buffers.size(); ++b) {
    const Buffer& buffer = buffers[b];
    switch (buffer.home) {
      case Home::kInput:
        addresses[b] = const_cast<void*>(ctx.input(buffer.index).bytes());
        break;
      case Home::kOutput:
        addresses[b] = ctx.output(buffer.index).bytes();
        break;
      case Home::kConstant:
        addresses[b] = const_cast<void*>(buffer.constant);
        break;
      case Home::kWorkspace:
        addresses[b] = workspace == nullptr ? nullptr : workspace + buffer.piece.offset;
        break;
    }
  }
  const Run run(ctx, addresses);
  for (const Task& task : tasks) {
    ctx.check_cancelled();
    const ep::TraceSpan span(ctx.args().run, task.name);
    task.work(run);
  }
}

}  // namespace tenon::cpu::islands
