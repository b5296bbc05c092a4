// Descriptions of a session as JSON: which instance runs which node and why, the plans made so far, the model.
#pragma once

#include "core/ir/graph.h"
#include "host/base/json.h"
#include "host/session/session.h"

namespace tenon::session {

/// {"model", "instances", "providers": [{"instance", "provider", "version", "library"}], "unopened",
///  "passed_over": [{"provider", "version", "code", "reason", "cure", "instead"}],
///  "fallbacks": [{"point", "provider", "policy", "text"}] (in order of time),
///  "warnings": settings without effect, a sentence each,
///  "nodes": [{"name", "op", "domain", "graph", "provider", "instance", "part", "outputs", "declines"}],
///  "parts": [...], "copies": [{"value", "from", "to", "bytes"}],
///  "reference": whether all parts run on a provider that completes models, or on the host}
Json explain(const Session& session);

/// {"plans": [{"graph", "signature", "static", "steps": [...], "slabs": [...],
///   "islands": [{"first_step", "steps", "stream", "recorded", "reason"}]: steps that are recorded together; when
///     "recorded" is false they are enqueued one by one, and "reason" names the step that the provider cannot record,
///   "uploads": [{"value", "domain", "bytes"}]: constants in memory of a device}]}
Json describe_plans(const Session& session);

/// `graph`: the model's graph, as loaded or transformed.
Json describe_model(const ir::ModelInfo& model, const ir::Graph& graph);

}  // namespace tenon::session
