// Putting commands on streams, and waiting for them.
#pragma once

#include "call.h"

namespace fake_cuda {

/// Puts the command on the stream, or into the graph that it is being captured into. Returns its number; 0 in a capture.
uint64_t submit(Call& call, Stream& stream, CommandBuffer command, CUgraphNodeType type,
                std::string label = {}, std::vector<Event*> events = {});
/// Puts it on the stream, which is not being captured.
uint64_t enqueue(Call& call, Stream& stream, CommandBuffer command);

/// What comes after a stream's work so far: its own clock, up to its last command.
Clock clock_of(const Stream& stream);
bool is_done(const Device& device, uint32_t queue, uint64_t number);
/// Waits, without the lock. Refuses with the device's error. From then on the host knows `clock`.
void wait_for(Call& call, Device& device, uint32_t queue, uint64_t number);
void host_knows(const Clock& clock);
/// Waits for all that a stream has. For the null stream that is what it would wait for.
void wait_for_stream(Call& call, Stream& stream);
void wait_for_device(Call& call, Device& device);
/// Waits until what has been allocated so far is accessible, and has its first content.
void wait_for_log(Call& call, Device& device);
/// The arena place is given back when the command is done.
void give_back_after(Device& device, uint32_t queue, uint64_t number, uint64_t place);

}  // namespace fake_cuda
