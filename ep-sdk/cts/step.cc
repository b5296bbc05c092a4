#include "ep-sdk/cts/step.h"

#include <iterator>

namespace tenon::cts {
namespace {

constexpr const char* kNames[] = {"none",     "manifest",   "system",   "file",    "binary",
                                  "platform", "entry",      "options",  "machine", "library",
                                  "answer",   "table",      "provider", "devices", "device",
                                  "instance", "capability", "claims",   "compile"};

Step g_broken = Step::kNone;
void (*g_listener)(Step step) = nullptr;

bool needs(Step step, Step other) {
  if (other == step || other == Step::kManifest) return true;
  switch (step) {
    case Step::kManifest:
    case Step::kSystem:
    case Step::kFile:
    case Step::kOptions:
      return false;
    case Step::kMachine:
      return other == Step::kSystem || other == Step::kPlatform;
    case Step::kPlatform:
    case Step::kEntry:
      return other <= Step::kBinary;
    default:
      return other < step;
  }
}

}  // namespace

const char* step_name(Step step) { return kNames[static_cast<int>(step)]; }

Step step_of(const std::string& name) {
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<Step>(i);
  }
  return Step::kNone;
}

void set_broken_step(Step step) { g_broken = step; }
void on_step(void (*listener)(Step step)) { g_listener = listener; }

void enter(Step step) {
  if (g_broken != Step::kNone && needs(step, g_broken)) throw NotReached(step_name(g_broken));
  if (g_listener != nullptr) g_listener(step);
}

}  // namespace tenon::cts
