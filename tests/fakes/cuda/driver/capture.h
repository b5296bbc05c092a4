// Streams whose work becomes a graph.
#pragma once

#include "call.h"

namespace fake_cuda {

/// The stream's capture gets a node after what the stream has captured so far.
Node& add_node(Stream& stream, CommandBuffer command, CUgraphNodeType type, std::string label,
               std::vector<Event*> events);
/// Refuses a call that may have effects outside of a capture that this thread must not disturb; that capture is lost then.
void refuse_in_capture(Call& call);
/// Refuses work of the null stream where it would wait for a stream that is being captured.
void refuse_implicit(const Stream& stream);
/// Refuses what cannot be captured, if the stream is being captured; the capture is lost then.
void refuse_captured(Stream& stream, const char* why);
/// A stream that is being captured goes away.
void leave_capture(Stream& stream);
void invalidate(Capture& capture);
/// All nodes that come before these, and these.
std::set<const Node*> with_ancestors(const std::set<Node*>& nodes);

}  // namespace fake_cuda
