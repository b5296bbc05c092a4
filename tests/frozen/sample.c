/* A small provider in C, written against tenon/ep.h and nothing else. It runs Neg of float32 in host memory.
 *
 * It is built against each kept header, and with FROZEN_NEXT against the invented next minor, whose additions it uses:
 * device_sleep calls the host's observe, and the hints of compile and run are added to the results, so that a hint which
 * no host gave shows in them. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/ep.h"

/* Whether the caller's struct has the field. */
#define HAS(type, pointer, field) ((pointer)->struct_size >= offsetof(type, field) + sizeof((pointer)->field))

struct tenon_provider {
  tenon_host_provider* host;
};
struct tenon_device {
  tenon_provider* provider;
};
struct tenon_instance {
  tenon_device* device;
};
struct tenon_program {
  char place[200];
  float hint;
};
struct tenon_prepared {
  char unused;
};

static tenon_host_api host; /* zero beyond the host's table */

static tenon_str text(const char* zero_terminated) {
  tenon_str out = {zero_terminated, strlen(zero_terminated)};
  return out;
}

static int equal(tenon_str a, const char* b) { return a.size == strlen(b) && memcmp(a.data, b, a.size) == 0; }

static tenon_status fail(tenon_error* error, tenon_status code, const char* where, const char* message) {
  if (error == NULL || !HAS(tenon_error, error, kind)) return code;
  error->code = code;
  error->flags = 0;
  error->kind = 0;
  if (HAS(tenon_error, error, where)) snprintf(error->where, sizeof error->where, "%s", where);
  if (HAS(tenon_error, error, message)) snprintf(error->message, sizeof error->message, "%s", message);
  return code;
}

/* Zeroed memory, or NULL with `error` filled in. */
static void* make(size_t bytes, tenon_error* error) {
  void* out = calloc(1, bytes);
  if (out == NULL) fail(error, TENON_RESOURCE_EXHAUSTED, "", "out of memory");
  return out;
}

/* ---- Provider, device, instance ---- */

static tenon_status provider_create(const tenon_provider_params* params, tenon_provider** out_provider,
                                    tenon_error* error) {
  tenon_provider* made = make(sizeof *made, error);
  if (made == NULL) return TENON_RESOURCE_EXHAUSTED;
  made->host = params->host;
  *out_provider = made;
  return TENON_OK;
}
static void provider_destroy(tenon_provider* provider) { free(provider); }

static tenon_status enumerate_devices(tenon_provider* provider, const tenon_device_sink* sink,
                                      tenon_error* error) {
  tenon_device_info info;
  (void)provider;
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  info.kind = TENON_DEVICE_CPU;
  info.stable_id = text("0");
  info.name = text("plain memory");
  info.vendor = text("Tests");
  return sink->add(sink->context, &info, error);
}

static tenon_status device_open(tenon_provider* provider, const tenon_device_params* params,
                                tenon_device** out_device, tenon_error* error) {
  tenon_device* made;
  if (!equal(params->stable_id, "0"))
    return fail(error, TENON_NOT_FOUND, "", "there is no such device; the only one is '0'");
  made = make(sizeof *made, error);
  if (made == NULL) return TENON_RESOURCE_EXHAUSTED;
  made->provider = provider;
  *out_device = made;
  return TENON_OK;
}
static void device_close(tenon_device* device) { free(device); }

static tenon_status instance_create(tenon_device* device, const tenon_instance_params* params,
                                    tenon_instance** out_instance, tenon_error* error) {
  tenon_instance* made = make(sizeof *made, error);
  (void)params;
  if (made == NULL) return TENON_RESOURCE_EXHAUSTED;
  made->device = device;
  *out_instance = made;
  return TENON_OK;
}
static void instance_destroy(tenon_instance* instance) { free(instance); }

#ifdef FROZEN_NEXT
static tenon_status device_sleep(tenon_device* device, uint64_t nanoseconds, tenon_error* error) {
  (void)nanoseconds;
  (void)error;
  if (host.observe != NULL) host.observe(device->provider->host, text("device_sleep"));
  return TENON_OK;
}
#endif

/* ---- Capability ---- */

static tenon_status read_node(const tenon_graph* graph, uint32_t index, tenon_node_info* out_node,
                              tenon_error* error) {
  memset(out_node, 0, sizeof *out_node);
  out_node->struct_size = sizeof *out_node;
  if (host.graph_node(graph, index, out_node) == TENON_OK) return TENON_OK;
  return fail(error, TENON_INTERNAL, "", "the host does not describe a node of its view");
}

static int is_plain(const tenon_graph* graph, uint32_t index, tenon_value_info* out_value) {
  memset(out_value, 0, sizeof *out_value);
  out_value->struct_size = sizeof *out_value;
  return index != TENON_NO_INDEX && host.graph_value(graph, index, out_value) == TENON_OK &&
         out_value->kind == TENON_KIND_TENSOR && out_value->dtype == TENON_FLOAT32 &&
         (out_value->flags & TENON_VALUE_CONSTANT) == 0;
}

/* Why the node cannot run: a TENON_REJECT_x and a text. A text of no length: it can. */
static uint32_t judge(const tenon_graph* graph, const tenon_node_info* node, char* out_text,
                      size_t capacity) {
  tenon_value_info value;
  uint32_t each;
  out_text[0] = '\0';
  if (!equal(node->op_type, "Neg") || node->domain.size != 0 || node->input_count != 1 ||
      node->output_count != 1) {
    snprintf(out_text, capacity, "operator %.*s is not implemented",
             (int)(node->op_type.size < 200 ? node->op_type.size : 200), node->op_type.data);
    return TENON_REJECT_OPERATOR;
  }
  for (each = 0; each < 2; ++each) {
    if (is_plain(graph, each == 0 ? node->inputs[0] : node->outputs[0], &value)) continue;
    snprintf(
        out_text, capacity,
        "Neg: the %s is of kind %u and element type %u; only tensors of float32 that are not constant run",
        each == 0 ? "input" : "output", value.kind, value.dtype);
    return TENON_REJECT_TYPE;
  }
  return 0;
}

static tenon_status offer(const tenon_graph* graph, const tenon_claim_sink* sink, uint32_t index,
                          tenon_error* error) {
  char reason[300];
  tenon_node_info node;
  tenon_claim claim;
  tenon_rejection rejection;
  tenon_status status = read_node(graph, index, &node, error);
  if (status != TENON_OK || (node.flags & TENON_NODE_TAKEN) != 0) return status;
  memset(&rejection, 0, sizeof rejection);
  rejection.struct_size = sizeof rejection;
  rejection.node = index;
  rejection.code = judge(graph, &node, reason, sizeof reason);
  rejection.text = text(reason);
  if (reason[0] != '\0') return sink->reject(sink->context, &rejection, error);
  memset(&claim, 0, sizeof claim);
  claim.struct_size = sizeof claim;
  claim.nodes = &index;
  claim.node_count = 1;
  return sink->claim(sink->context, &claim, error);
}

static tenon_status read_graph(const tenon_graph* graph, tenon_graph_info* out_info, tenon_error* error) {
  memset(out_info, 0, sizeof *out_info);
  out_info->struct_size = sizeof *out_info;
  if (host.graph_info(graph, out_info) == TENON_OK) return TENON_OK;
  return fail(error, TENON_INTERNAL, "", "the host does not describe its view");
}

static tenon_status capability(tenon_instance* instance, const tenon_graph* graph,
                               const tenon_claim_sink* sink, tenon_error* error) {
  tenon_graph_info info;
  uint32_t index;
  tenon_status status = read_graph(graph, &info, error);
  (void)instance;
  for (index = 0; status == TENON_OK && index < info.node_count; ++index)
    status = offer(graph, sink, index, error);
  return status;
}

/* ---- From a graph to a Run ---- */

static tenon_status compile(tenon_instance* instance, const tenon_compile_args* args,
                            tenon_program** out_program, tenon_error* error) {
  char reason[300];
  tenon_graph_info info;
  tenon_node_info node;
  tenon_program* made;
  (void)instance;
  if (read_graph(args->graph, &info, error) != TENON_OK || info.node_count != 1)
    return fail(error, TENON_INTERNAL, "", "this provider claims one node at a time");
  if (read_node(args->graph, 0, &node, error) != TENON_OK) return TENON_INTERNAL;
  made = make(sizeof *made, error);
  if (made == NULL) return TENON_RESOURCE_EXHAUSTED;
  snprintf(made->place, sizeof made->place, "node '%.*s' (Neg)",
           (int)(node.name.size < 180 ? node.name.size : 180), node.name.data);
  judge(args->graph, &node, reason, sizeof reason);
  if (reason[0] != '\0') {
    fail(error, TENON_UNIMPLEMENTED, made->place, reason);
    free(made);
    return TENON_UNIMPLEMENTED;
  }
#ifdef FROZEN_NEXT
  if (HAS(tenon_compile_args, args, hint)) made->hint = (float)args->hint[0];
#endif
  *out_program = made;
  return TENON_OK;
}
static void program_destroy(tenon_program* program) { free(program); }

static tenon_status prepare(tenon_program* program, tenon_prepare_args* args, tenon_prepared** out_prepared,
                            tenon_error* error) {
  static tenon_prepared nothing; /* shapes change nothing here, so all signatures share it */
  const tenon_tensor* x = &args->inputs[0];
  tenon_shape* y = &args->outputs[0];
  uint32_t i;
  (void)program;
  (void)error;
  if (y->flags == 0) {
    for (i = 0; i < x->rank; ++i) y->dims[i] = x->dims[i];
    y->rank = x->rank;
    y->flags = TENON_SHAPE_KNOWN;
  }
  args->aliases[0].kind = TENON_ALIAS_MAY_OVERWRITE;
  args->aliases[0].input = 0;
  *out_prepared = &nothing;
  return TENON_OK;
}
static void prepared_destroy(tenon_prepared* prepared) { (void)prepared; }

static tenon_status run(const tenon_run_args* args, tenon_error* error) {
  const float* x = args->inputs[0].data;
  float* y = args->outputs[0].data;
  const uint64_t count = args->outputs[0].byte_size / sizeof *y;
  float hint = args->program->hint;
  uint64_t i;
#ifdef FROZEN_NEXT
  if (HAS(tenon_run_args, args, hint)) hint += (float)args->hint[0];
#endif
  for (i = 0; i < count; ++i) {
    if (i % 4096 == 0 && args->cancel != NULL && __atomic_load_n(args->cancel, __ATOMIC_RELAXED) != 0)
      return fail(error, TENON_CANCELLED, args->program->place, "cancelled");
    y[i] = hint == 0 ? -x[i] : hint - x[i];
  }
  return TENON_OK;
}

/* ---- The one symbol ---- */

static const tenon_ep_api kApi = {
    .struct_size = sizeof(tenon_ep_api),
    .abi_minor = TENON_EP_ABI_MINOR,
    .provider_create = provider_create,
    .provider_destroy = provider_destroy,
    .enumerate_devices = enumerate_devices,
    .device_open = device_open,
    .device_close = device_close,
    .instance_create = instance_create,
    .instance_destroy = instance_destroy,
    .capability = capability,
    .compile = compile,
    .program_destroy = program_destroy,
    .prepare = prepare,
    .prepared_destroy = prepared_destroy,
    .run = run,
#ifdef FROZEN_NEXT
    .device_sleep = device_sleep,
#endif
};

static uint32_t own_sanitizer(void) {
#if defined(__SANITIZE_ADDRESS__)
  return TENON_SANITIZER_ADDRESS;
#elif defined(__SANITIZE_THREAD__)
  return TENON_SANITIZER_THREAD;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return TENON_SANITIZER_ADDRESS;
#elif __has_feature(thread_sanitizer)
  return TENON_SANITIZER_THREAD;
#else
  return TENON_SANITIZER_NONE;
#endif
#else
  return TENON_SANITIZER_NONE;
#endif
}

static tenon_status refuse(tenon_ep_negotiation* io, const char* needs) {
  snprintf(io->reason, sizeof io->reason, "built for ABI %u.%u, and needs %s", TENON_EP_ABI_MAJOR,
           TENON_EP_ABI_MINOR, needs);
  return TENON_FAILED_PRECONDITION;
}

tenon_status tenon_ep_negotiate(tenon_ep_negotiation* io) {
  if (io == NULL || !HAS(tenon_ep_negotiation, io, reason)) return TENON_INVALID_ARGUMENT;
  if (io->host_major != TENON_EP_ABI_MAJOR) return refuse(io, "a host of that major");
  if (io->host_minor < TENON_EP_ABI_OLDEST_MINOR) return refuse(io, "a newer host");
  if (io->host_oldest_minor > TENON_EP_ABI_MINOR)
    return refuse(io, "an older host: this one dropped that minor");
  if ((io->flags & TENON_NEGOTIATE_SCAN) == 0 &&
      (io->host == NULL || !HAS(tenon_host_api, io->host, graph_value) || io->host->graph_info == NULL ||
       io->host->graph_node == NULL || io->host->graph_value == NULL))
    return refuse(io, "the host's functions for graphs");
  memset(&host, 0, sizeof host);
  if (io->host != NULL)
    memcpy(&host, io->host, io->host->struct_size < sizeof host ? io->host->struct_size : sizeof host);
  io->major = TENON_EP_ABI_MAJOR;
  io->minor = io->host_minor < TENON_EP_ABI_MINOR ? io->host_minor : TENON_EP_ABI_MINOR;
  io->sanitizer = own_sanitizer();
  snprintf(io->provider_id, sizeof io->provider_id, "%s", TENON_PROVIDER_ID);
  snprintf(io->provider_version, sizeof io->provider_version, "%s", TENON_PROVIDER_VERSION);
  io->build_id[0] = '\0';
  io->api = &kApi;
  return TENON_OK;
}
