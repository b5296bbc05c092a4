// The steps from a manifest to a compiled program. The kit tries them once, before the checks, in a process of its own.
// A step that fails there is the cause of many failures, so it is told once: checks that come to it end there.
#pragma once

#include <stdexcept>
#include <string>

namespace tenon::cts {

/// In the order in which they are tried. From kLibrary on a step needs all before it.
enum class Step {
  kNone,
  kManifest,    // the manifest is readable and right
  kSystem,      // the library is for this operating system
  kFile,        // its file can be read
  kBinary,      // it is a shared library
  kPlatform,    // os and arch of the manifest are its own
  kEntry,       // it exports tenon_ep_negotiate
  kOptions,     // the manifest's options fit themselves
  kMachine,     // the library is for this machine
  kLibrary,     // the dynamic loader takes it
  kAnswer,      // tenon_ep_negotiate accepts this host
  kTable,       // the table has every required function
  kProvider,    // provider_create
  kDevices,     // enumerate_devices
  kDevice,      // a device is there and can be opened
  kInstance,    // instance_create
  kCapability,  // capability
  kClaims,      // it claims a probe
  kCompile,     // a claimed probe compiles
};

/// What must happen first fails. The message is the name of the step.
struct NotReached : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The word of a step on command lines: "device".
const char* step_name(Step step);
/// kNone for an unknown word.
Step step_of(const std::string& name);

/// In a check's process: the step that is known to fail. Set before other threads start.
void set_broken_step(Step step);
/// In the process that tries the steps: `listener` is told of each step that begins. NULL: nobody.
void on_step(void (*listener)(Step step));

/// Begins a step. Throws NotReached when it, or one that it needs, is known to fail. Any thread.
void enter(Step step);

}  // namespace tenon::cts
