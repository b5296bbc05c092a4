// The fake accelerator. It behaves like a discrete accelerator, but is stricter than a real one. Only the fake can
// touch its memory, and only while it works. Work does not start before it is flushed. The fake checks and reports what
// the host owes a provider: alignment, domains, one Run of a binding or recording at a time, nothing but work on a stream
// that records. Failures of enqueued work come late, with the place of that work.
#include "program.h"
#include "stream.h"

namespace accelerator {
namespace {

struct Accelerator {
  static constexpr std::string_view kId = TENON_PROVIDER_ID, kVersion = TENON_PROVIDER_VERSION;

  using Provider = accelerator::Provider;
  using Device = accelerator::Device;
  using Instance = accelerator::Instance;
  using Program = accelerator::Program;
  using Binding = accelerator::Binding;
  using Stream = accelerator::Stream;
  using Recording = accelerator::Recording;
};

}  // namespace
}  // namespace accelerator

TENON_PROVIDER(accelerator::Accelerator)
