/* tenon/ep.h: the border between the Tenon host and an execution provider (EP).
 *
 * A provider is one shared library that exports one symbol, `tenon_ep_negotiate`. Host and provider exchange function
 * tables there. A provider links nothing of the host. It needs only this header, which is C11, includes only standard
 * headers, and can be copied.
 *
 * What it does not do: it offers no way to print, to end the process or to throw across the border. It holds no
 * vendor's options and knows no provider by name. ep.hpp wraps it for C++; the numbered rules (R1 ...) are in
 * RULES.md.
 *
 * Conventions
 *  - Every struct begins with `struct_size`, set by the side that fills the struct. A reader treats fields beyond it
 *    as zero; a writer never writes beyond it. The frozen structs have no `struct_size`: they travel in arrays and
 *    never change. Some have reserved words.
 *  - Within a major version functions and fields are only appended. A NULL function means "absent".
 *  - Functions return a tenon_status. Only on failure they fill the caller's `tenon_error`, which may be NULL.
 *  - `borrowed`: valid until the function returns, unless the comment says longer. `owned`: the receiver releases it
 *    through the named function of the side that made it. Outputs are named out_x.
 *  - Strings are UTF-8, counted, not terminated.
 *  - Threads, in TENON_EP_SLOTS: ANY (any thread, any time), INIT (one call at a time for the provider), STREAM and
 *    BUFFER (any thread; calls with the same stream or buffer never overlap; without a stream like ANY), RUN (calls
 *    overlap as `serialize` of the device allows). An object is not destroyed while a call uses it.
 *  - Time, in TENON_EP_SLOTS: QUICK (does not wait for the device), BLOCKS (may wait for the device, compile, or read
 *    files), HOT (like QUICK, and allocates nothing and looks nothing up by name).
 */
#ifndef TENON_EP_H_
#define TENON_EP_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EP_ABI_MAJOR 0u
#define TENON_EP_ABI_MINOR 3u
#define TENON_EP_ABI_OLDEST_MINOR 3u /* hosts and providers of this minor and later ones work together */
#define TENON_EP_MANIFEST_VERSION 1u
#define TENON_EP_MAX_RANK 32u

#if defined(_WIN32)
#define TENON_EP_EXPORT __declspec(dllexport)
#else
#define TENON_EP_EXPORT __attribute__((visibility("default")))
#endif

/* ---- Plain numbers. They travel as uint32_t; a number that the reader does not know means "unsupported". ---- */

/* Canonical status codes. */
enum {
  TENON_OK = 0,
  TENON_CANCELLED = 1,
  TENON_UNKNOWN = 2,
  TENON_INVALID_ARGUMENT = 3,
  TENON_DEADLINE_EXCEEDED = 4,
  TENON_NOT_FOUND = 5,
  TENON_ALREADY_EXISTS = 6,
  TENON_PERMISSION_DENIED = 7,
  TENON_RESOURCE_EXHAUSTED = 8, /* host or device memory, or a limit */
  TENON_FAILED_PRECONDITION = 9,
  TENON_ABORTED = 10,
  TENON_OUT_OF_RANGE = 11,
  TENON_UNIMPLEMENTED = 12,
  TENON_INTERNAL = 13,
  TENON_UNAVAILABLE = 14,
  TENON_DATA_LOSS = 15,
  TENON_UNAUTHENTICATED = 16,
};
typedef int32_t tenon_status;

/* Element types, numbered as ONNX's TensorProto.DataType. */
enum {
  TENON_UNDEFINED = 0,
  TENON_FLOAT32 = 1,
  TENON_UINT8 = 2,
  TENON_INT8 = 3,
  TENON_UINT16 = 4,
  TENON_INT16 = 5,
  TENON_INT32 = 6,
  TENON_INT64 = 7,
  TENON_STRING = 8,
  TENON_BOOL = 9, /* one byte, 0 or 1 */
  TENON_FLOAT16 = 10,
  TENON_FLOAT64 = 11,
  TENON_UINT32 = 12,
  TENON_UINT64 = 13,
  TENON_COMPLEX64 = 14,
  TENON_COMPLEX128 = 15,
  TENON_BFLOAT16 = 16,
  TENON_FLOAT8E4M3FN = 17,
  TENON_FLOAT8E4M3FNUZ = 18,
  TENON_FLOAT8E5M2 = 19,
  TENON_FLOAT8E5M2FNUZ = 20,
  TENON_UINT4 = 21, /* two elements per byte, the first in the low bits; zero pads the last byte */
  TENON_INT4 = 22,
  TENON_FLOAT4E2M1 = 23,
  TENON_FLOAT8E8M0 = 24,
  TENON_UINT2 = 25, /* four elements per byte, the first in the low bits; zero pads the last byte */
  TENON_INT2 = 26,
  TENON_FLOAT6E2M3 = 27, /* 6 bits per element, the first in the low bits; zero pads the last byte */
  TENON_FLOAT6E3M2 = 28,
};

/* Kinds of values. */
enum {
  TENON_KIND_NONE = 0, /* a missing optional input, an unused output, or an empty optional */
  TENON_KIND_TENSOR = 1,
  TENON_KIND_SEQUENCE = 2,
  TENON_KIND_OPTIONAL = 3,
  TENON_KIND_MAP = 4,
  TENON_KIND_SPARSE = 5,
};

/* Attribute types, numbered as ONNX's AttributeProto.AttributeType. */
enum {
  TENON_ATTR_UNDEFINED = 0,
  TENON_ATTR_FLOAT = 1,
  TENON_ATTR_INT = 2,
  TENON_ATTR_STRING = 3,
  TENON_ATTR_TENSOR = 4,
  TENON_ATTR_GRAPH = 5,
  TENON_ATTR_FLOATS = 6,
  TENON_ATTR_INTS = 7,
  TENON_ATTR_STRINGS = 8,
  TENON_ATTR_TENSORS = 9,
  TENON_ATTR_GRAPHS = 10,
  TENON_ATTR_SPARSE_TENSOR = 11,
  TENON_ATTR_SPARSE_TENSORS = 12,
  TENON_ATTR_TYPE_PROTO = 13,
  TENON_ATTR_TYPE_PROTOS = 14,
};

enum { TENON_DEVICE_CPU = 1, TENON_DEVICE_GPU = 2, TENON_DEVICE_NPU = 3, TENON_DEVICE_OTHER = 4 };

/* Which Runs on a device must not overlap. The host makes them wait; the provider needs no lock for it. */
enum {
  TENON_SERIALIZE_NONE = 0,
  TENON_SERIALIZE_BINDING = 1,
  TENON_SERIALIZE_PROGRAM = 2,
  TENON_SERIALIZE_DEVICE = 3
};

/* Why a node is declined. */
enum {
  TENON_REJECT_OTHER = 0,
  TENON_REJECT_OPERATOR = 1,  /* the operator, domain or version is not implemented */
  TENON_REJECT_TYPE = 2,      /* an element type or value kind */
  TENON_REJECT_ATTRIBUTE = 3, /* an attribute or its value */
  TENON_REJECT_SHAPE = 4,     /* a rank or dimension, or one that is not known */
  TENON_REJECT_COST = 5,      /* possible, but not worth it; see TENON_GRAPH_WEIGHED */
  TENON_REJECT_INLINE = 6,    /* a function: the host expands it and asks again */
};

enum {
  TENON_PRECISION_EXACT = 0,
  TENON_PRECISION_FAST = 1,
  TENON_PRECISION_BF16 = 2,
  TENON_PRECISION_FP16 = 3
};

enum { TENON_LOG_ERROR = 1, TENON_LOG_WARNING = 2, TENON_LOG_INFO = 3, TENON_LOG_DEBUG = 4 };

/* The sanitizer that a library was built with. The host refuses a library built with another one than its own. */
enum {
  TENON_SANITIZER_NONE = 0,
  TENON_SANITIZER_ADDRESS = 1,
  TENON_SANITIZER_THREAD = 2,
  TENON_SANITIZER_MEMORY = 3
};

#define TENON_DOMAIN_HOST 0u       /* plain host memory; every provider accepts it in copies */
#define TENON_NO_INDEX 0xFFFFFFFFu /* a missing value, node or input */
#define TENON_RANK_UNKNOWN (-1)
#define TENON_DIM_UNKNOWN ((int64_t)-1)

/* ---- Small frozen structs ---- */

typedef struct tenon_str {
  const char* data;
  uint64_t size; /* bytes */
} tenon_str;

enum {
  TENON_ERROR_RETRYABLE = 1u,
  TENON_ERROR_DEVICE_LOST = 2u,
  TENON_ERROR_PROCESS_LOST = 4u,
  /* The error is of work that an earlier call enqueued. `where` names that work: the host does not know it. */
  TENON_ERROR_ASYNC = 8u
};

/* The caller owns it, so it stays valid when the provider is gone. */
typedef struct tenon_error {
  uint32_t struct_size;
  int32_t code;
  uint32_t flags;  /* TENON_ERROR_x */
  uint32_t kind;   /* the host's finer code; a provider writes 0 */
  char where[256]; /* terminated: "node 'conv1' (Conv)", a file, an option; may be empty */
  char message[1024];
} tenon_error;

typedef struct tenon_buffer tenon_buffer; /* provider: memory in one of its domains */
typedef struct tenon_value tenon_value;   /* host: a reference-counted sequence, optional, map or tensor */
typedef struct tenon_provider tenon_provider; /* provider: this and those up to tenon_recording */
typedef struct tenon_device tenon_device;
typedef struct tenon_instance tenon_instance;
typedef struct tenon_program tenon_program;
typedef struct tenon_prepared tenon_prepared;
typedef struct tenon_binding tenon_binding;
typedef struct tenon_stream tenon_stream;
typedef struct tenon_recording tenon_recording;
typedef struct tenon_graph tenon_graph;                 /* host: a view, borrowed during one call */
typedef struct tenon_run tenon_run;                     /* host: the Run in progress */
typedef struct tenon_host_provider tenon_host_provider; /* host: for logging and paths */
typedef struct tenon_host_instance tenon_host_instance; /* host: for shared constants and the cache */

/* A tensor, or a handle to a value of another kind. Frozen. Dense row-major; `strides` is NULL.
 * Tensor: `data` is an address in the host's memory, or in a domain with HOST_ADDRESS or DEVICE_ADDRESS one that the
 * flag describes. It is NULL in other domains and when there are no elements. `buffer` + `byte_offset` name the same
 * memory for the provider that owns the domain.
 * String tensor: `data` holds the bytes of all strings in order; `offsets` has element_count + 1 entries into them.
 * Sequence, optional, map: `object`. */
typedef struct tenon_tensor {
  uint32_t kind; /* TENON_KIND_x */
  uint32_t dtype;
  uint32_t rank;
  uint32_t domain; /* TENON_DOMAIN_HOST or an id of the device's domains */
  const int64_t* dims;
  const int64_t* strides; /* NULL */
  void* data;
  tenon_buffer* buffer;
  uint64_t byte_offset;
  uint64_t byte_size; /* of the dense data */
  const int64_t* offsets;
  tenon_value* object;
  uint64_t reserved[2];
} tenon_tensor;

enum { TENON_SHAPE_KNOWN = 1u, TENON_SHAPE_AT_RUN = 2u };

/* A shape for the callee to fill in. `dims` has room for TENON_EP_MAX_RANK. Frozen. */
typedef struct tenon_shape {
  uint32_t rank;
  uint32_t flags; /* 0: not known yet; KNOWN: dims are set; AT_RUN: known only after running */
  int64_t* dims;
} tenon_shape;

enum { TENON_ALIAS_NONE = 0, TENON_ALIAS_MAY_OVERWRITE = 1, TENON_ALIAS_VIEW = 2 };

/* Frozen. MAY_OVERWRITE: the host may give the output the memory of input `input` when no later step needs the input.
 * VIEW: the output is the bytes of the input from `byte_offset` on. If the addresses are equal at Run, the host has
 * honoured the view and the provider must not copy; otherwise the provider must copy. */
typedef struct tenon_alias {
  uint32_t kind;
  uint32_t input;
  uint64_t byte_offset;
} tenon_alias;

/* One place in memory for copies. Frozen. */
typedef struct tenon_location {
  uint32_t domain;
  uint32_t reserved;
  tenon_device* device; /* the device that made the buffer; NULL: the device that the call names */
  tenon_buffer* buffer; /* NULL in TENON_DOMAIN_HOST */
  void* data;           /* the address in TENON_DOMAIN_HOST */
  uint64_t byte_offset;
} tenon_location;

/* One option, with the type that the manifest gives it. Frozen. */
enum { TENON_OPTION_BOOL = 1, TENON_OPTION_INT = 2, TENON_OPTION_FLOAT = 3, TENON_OPTION_STRING = 4 };
typedef struct tenon_option {
  tenon_str name;
  uint32_t type;
  uint32_t reserved;
  int64_t i; /* BOOL: 0 or 1 */
  double f;
  tenon_str s;
} tenon_option;

/* ---- Graph view ---- */

typedef struct tenon_opset {
  tenon_str domain;
  int64_t version;
} tenon_opset;

enum {
  TENON_GRAPH_STATIC = 1u,
  TENON_GRAPH_BODY = 2u,
  /* The host measures ways to divide the graph, or takes one that it measured: claim also what TENON_REJECT_COST would decline. */
  TENON_GRAPH_WEIGHED = 4u
};

/* Nodes and values are named by index. Nodes are in topological order. */
typedef struct tenon_graph_info {
  uint32_t struct_size;
  uint32_t flags;
  uint32_t node_count;
  uint32_t value_count;
  uint32_t input_count; /* without constants; an initializer that is also a graph input is not a constant */
  uint32_t output_count;
  const uint32_t* inputs;
  const uint32_t* outputs;
  tenon_str name;
  const tenon_opset* opsets;
  uint32_t opset_count;
  uint32_t reserved;
} tenon_graph_info;

enum { TENON_NODE_TAKEN = 1u, TENON_NODE_FUNCTION = 2u, TENON_NODE_CONTROL_FLOW = 4u };

typedef struct tenon_node_info {
  uint32_t struct_size;
  uint32_t flags;
  tenon_str name; /* never empty: the host names unnamed nodes */
  tenon_str domain;
  tenon_str op_type;
  tenon_str overload;
  int32_t since_version; /* of the operator's schema that applies */
  uint32_t attribute_count;
  const uint32_t* inputs; /* value indices, TENON_NO_INDEX where missing */
  const uint32_t* outputs;
  uint32_t input_count;
  uint32_t output_count;
  /* Outer values that the node's nested graphs use. The node depends on them as on its inputs. */
  const uint32_t* captures;
  uint32_t capture_count;
  uint32_t reserved;
} tenon_node_info;

enum { TENON_VALUE_CONSTANT = 1u, TENON_VALUE_INPUT = 2u, TENON_VALUE_OUTPUT = 4u };

typedef struct tenon_value_info {
  uint32_t struct_size;
  uint32_t flags;
  tenon_str name;
  uint32_t kind;
  uint32_t dtype; /* of the tensor, or of the innermost tensor element */
  int32_t rank;   /* TENON_RANK_UNKNOWN */
  uint32_t producer;
  const int64_t* dims; /* TENON_DIM_UNKNOWN */
  uint32_t consumer_count;
  uint32_t reserved;
} tenon_value_info;

typedef struct tenon_attribute {
  uint32_t struct_size;
  uint32_t type;
  tenon_str name;
  int64_t i;
  double f;
  tenon_str s;
  uint64_t count; /* of ints, floats, strings, tensors, graphs */
  const int64_t* ints;
  const float* floats;
  const tenon_str* strings;
  const tenon_tensor* tensors; /* one for TENON_ATTR_TENSOR */
  const tenon_graph* const* graphs;
} tenon_attribute;

/* ---- Capability ---- */

enum {
  TENON_CLAIM_STATIC = 1u,  /* compile per shape signature, on the graph with concrete shapes */
  TENON_CLAIM_EMULATED = 2u /* works, but slower than on another provider */
};
enum {
  /* Prepare reads the data: it lies in host memory, and its value is part of the shape signature. */
  TENON_CLAIM_SHAPE_INPUT = 1u,
  TENON_CLAIM_DOMAIN = 2u /* `domain` applies to this value */
};

/* How one input or output value differs from the default. Frozen. */
typedef struct tenon_claim_value {
  uint32_t value;
  uint32_t flags;
  uint32_t domain;
  uint32_t reserved;
} tenon_claim_value;

/* Any field may be 0 for "unknown". Frozen. */
typedef struct tenon_cost {
  double flops;
  double bytes;
  double launch_ns;
  double time_ns;
} tenon_cost;

/* A set of nodes that the provider offers to run together. The host takes all of them or none. */
typedef struct tenon_claim {
  uint32_t struct_size;
  uint32_t flags;
  const uint32_t* nodes; /* convex, none of them taken */
  uint32_t node_count;
  uint32_t value_count;
  const tenon_claim_value* values;
  uint32_t input_domain; /* of all inputs and outputs not named in `values` */
  uint32_t output_domain;
  uint64_t tag; /* the host passes it back in tenon_compile_args */
  tenon_cost cost;
} tenon_claim;

typedef struct tenon_rejection {
  uint32_t struct_size;
  uint32_t node;
  uint32_t code; /* TENON_REJECT_x */
  uint32_t reserved;
  tenon_str text; /* names the operator and the offending type, attribute or shape */
} tenon_rejection;

typedef struct tenon_claim_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  tenon_status (*claim)(void* context, const tenon_claim* claim, tenon_error* error);
  tenon_status (*reject)(void* context, const tenon_rejection* rejection, tenon_error* error);
} tenon_claim_sink;

/* ---- Devices and memory ---- */

enum {
  TENON_DEVICE_SOFTWARE_EMULATED = 1u,
  TENON_DEVICE_HAS_UUID = 2u, /* `uuid` is set */
  TENON_DEVICE_HAS_PCI = 4u   /* the pci_ fields are set */
};

typedef struct tenon_device_info {
  uint32_t struct_size;
  uint32_t kind;
  uint32_t flags;
  uint32_t serialize;  /* TENON_SERIALIZE_x */
  tenon_str stable_id; /* uuid, PCI address or index; a device keeps its id from one process to the next */
  tenon_str name;
  tenon_str vendor;
  uint64_t memory_bytes; /* 0: unknown, or the device uses host memory */
  const tenon_str* features;
  uint32_t feature_count;
  /* The PCI address. By it and the uuid the host knows that two providers offer the same device. */
  uint32_t pci_domain;
  uint32_t pci_bus;
  uint32_t pci_device;
  uint32_t pci_function;
  uint32_t reserved;
  uint8_t uuid[16]; /* as Vulkan's deviceUUID and CUDA's cudaUUID_t */
  tenon_str driver_version;
} tenon_device_info;

typedef struct tenon_device_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  tenon_status (*add)(void* context, const tenon_device_info* device, tenon_error* error); /* copies */
} tenon_device_sink;

enum {
  TENON_DOMAIN_MAPPABLE = 1u, /* `map` works */
  /* Tensors carry an address that threads of the host read and write without map, between the provider's accesses. */
  TENON_DOMAIN_HOST_ADDRESS = 2u,
  /* Tensors carry an address for the device. The host does not use it unless HOST_ADDRESS is set too. */
  TENON_DOMAIN_DEVICE_ADDRESS = 4u,
  /* The fastest host end of a copy to and from this device, for example pinned memory. Has HOST_ADDRESS. At most one
   * domain of a device has this flag. The host keeps inputs and outputs of recordings there. */
  TENON_DOMAIN_STAGING = 8u
};

typedef struct tenon_domain_info {
  uint32_t struct_size;
  uint32_t flags;
  uint32_t id;               /* 1 or more; the device chooses it */
  uint32_t alignment;        /* of every tensor, in bytes, a power of two */
  uint64_t max_buffer_bytes; /* 0: no limit */
  tenon_str name;
} tenon_domain_info;

typedef struct tenon_domain_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  tenon_status (*add)(void* context, const tenon_domain_info* domain, tenon_error* error); /* copies */
} tenon_domain_sink;

typedef struct tenon_allocate_params {
  uint32_t struct_size;
  uint32_t domain;
  uint64_t bytes;
  tenon_stream* stream; /* NULL, or work that is enqueued on it later may use the memory */
} tenon_allocate_params;

typedef struct tenon_allocation {
  uint32_t struct_size;
  uint32_t reserved;
  tenon_buffer* buffer;
  void* address; /* if the domain has HOST_ADDRESS or DEVICE_ADDRESS */
} tenon_allocation;

/* What the host does with mapped bytes. DISCARD: it does not read them and writes all of them. */
enum { TENON_MAP_READ = 1u, TENON_MAP_WRITE = 2u, TENON_MAP_DISCARD = 4u };

typedef struct tenon_map_params {
  uint32_t struct_size;
  uint32_t flags; /* TENON_MAP_x */
  tenon_buffer* buffer;
  uint64_t byte_offset;
  uint64_t bytes;
} tenon_map_params;

typedef struct tenon_copy_params {
  uint32_t struct_size;
  uint32_t reserved;
  tenon_location destination;
  tenon_location source;
  uint64_t bytes;
  tenon_stream* stream; /* NULL: finished on return */
  uint64_t work_id;     /* as in tenon_run_args */
} tenon_copy_params;

typedef struct tenon_memory_info {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t total_bytes; /* 0: unknown */
  uint64_t free_bytes;
} tenon_memory_info;

/* ---- Arguments ---- */

struct tenon_host_api;

enum { TENON_NEGOTIATE_SCAN = 1u };

typedef struct tenon_provider_params {
  uint32_t struct_size;
  uint32_t flags;            /* TENON_NEGOTIATE_SCAN: the host will only enumerate devices */
  tenon_host_provider* host; /* lives as long as the provider */
  tenon_str library_path;    /* absolute */
  tenon_str manifest_dir;
} tenon_provider_params;

typedef struct tenon_device_params {
  uint32_t struct_size;
  uint32_t reserved;
  tenon_str stable_id;
} tenon_device_params;

/* TIMED: the stream measures its work, for stream_times. The host sets it for traced Runs alone, and only where the
 * provider has stream_times. */
enum { TENON_STREAM_TIMED = 1u };

typedef struct tenon_stream_params {
  uint32_t struct_size;
  uint32_t flags; /* TENON_STREAM_x */
} tenon_stream_params;

/* When a piece of work ran on the device. The clock is that of the host: nanoseconds of CLOCK_MONOTONIC, or of
 * std::chrono::steady_clock where there is none. The provider converts. */
typedef struct tenon_time_span {
  uint32_t struct_size;
  uint32_t reserved;
  tenon_str name; /* of the work: "node 'conv1' (Conv)", a kernel, "copy of 4096 bytes"; never empty */
  uint64_t
      work_id; /* of the call that enqueued or recorded it; 0: the work of several calls of a recording */
  uint64_t begin_ns;
  uint64_t end_ns;
} tenon_time_span;

typedef struct tenon_time_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;
  tenon_status (*add)(void* context, const tenon_time_span* span, tenon_error* error); /* copies */
} tenon_time_sink;

typedef struct tenon_instance_params {
  uint32_t struct_size;
  uint32_t precision;
  uint32_t deterministic; /* 1: same bits for the same input, for any number of threads */
  uint32_t option_count;
  const tenon_option* options; /* the host has checked them against the manifest and filled in defaults */
  tenon_host_instance* host;   /* lives as long as the instance */
  uint64_t memory_limit;       /* bytes; 0: none */
  uint32_t strict;             /* 1: plain sums: no Winograd or FFT for products and convolutions */
  uint32_t reserved;
} tenon_instance_params;

typedef struct tenon_compile_args {
  uint32_t struct_size;
  uint32_t reserved;
  const tenon_graph* graph; /* only the claim's nodes; inputs and outputs in the order that Run uses */
  uint64_t tag;
  const uint32_t* cancel; /* as in tenon_run_args: long work stops soon with TENON_CANCELLED; may be NULL */
} tenon_compile_args;

typedef struct tenon_prepare_args {
  uint32_t struct_size;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t value_count;
  const tenon_tensor* inputs; /* types and shapes; data only of shape inputs */
  tenon_shape* outputs;       /* in: what the host inferred. out: the other shapes, or AT_RUN */
  const tenon_shape* values;  /* inferred by the host for every value of the compiled view; may be NULL */
  /* out, preset to 0 / NONE: */
  tenon_alias* aliases; /* one per output */
  uint64_t workspace_bytes;
  uint32_t workspace_alignment;
  uint32_t workspace_domain;
  /* in */
  const uint32_t* cancel; /* as in tenon_run_args: long work stops soon with TENON_CANCELLED; may be NULL */
} tenon_prepare_args;

/* Arguments of one Run. The host fills it once per plan and updates the addresses. */
typedef struct tenon_run_args {
  uint32_t struct_size;
  uint32_t flags;
  tenon_program* program;
  tenon_prepared* prepared;
  tenon_binding* binding; /* NULL when the provider has no bind function */
  const tenon_tensor* inputs;
  tenon_tensor* outputs;
  uint32_t input_count;
  uint32_t output_count;
  const tenon_tensor* workspace; /* NULL when prepare asked for none */
  tenon_stream* stream;          /* NULL: all work is finished on return */
  tenon_run* run;                /* also while the stream records; valid until the function returns */
  const uint32_t* cancel; /* return TENON_CANCELLED soon when an atomic load gives non-zero; may be NULL */
  uint64_t work_id;       /* what stream_times calls this work; 0 when the host does not ask */
} tenon_run_args;

typedef struct tenon_bind_args {
  uint32_t struct_size;
  uint32_t reserved;
  tenon_program* program;
  tenon_prepared* prepared;
  const tenon_tensor* inputs;
  const tenon_tensor* outputs;
  uint32_t input_count;
  uint32_t output_count;
  const tenon_tensor* workspace;
} tenon_bind_args;

typedef void (*tenon_range_fn)(void* context, uint32_t worker, int64_t begin, int64_t end);
typedef tenon_status (*tenon_make_fn)(void* context, void** out_object, tenon_error* error);
typedef void (*tenon_release_fn)(void* object);

/* ---- The host's table. All functions are thread-safe. ---- */
typedef struct tenon_host_api {
  uint32_t struct_size;
  uint32_t abi_minor;

  /* Graph view, valid with its strings and arrays during the call that gave it. INVALID_ARGUMENT for a bad index. */
  tenon_status (*graph_info)(const tenon_graph* graph, tenon_graph_info* out_info);
  tenon_status (*graph_node)(const tenon_graph* graph, uint32_t node, tenon_node_info* out_info);
  tenon_status (*graph_value)(const tenon_graph* graph, uint32_t value, tenon_value_info* out_info);
  tenon_status (*graph_attribute)(const tenon_graph* graph, uint32_t node, uint32_t index,
                                  tenon_attribute* out_attribute);
  /* NOT_FOUND when the node lacks the attribute; defaults of the schema are not filled in. */
  tenon_status (*graph_find_attribute)(const tenon_graph* graph, uint32_t node, tenon_str name,
                                       tenon_attribute* out_attribute);
  /* The data of a constant, 64-byte aligned. In compile it lives as long as the program, otherwise during the call. */
  tenon_status (*graph_constant)(const tenon_graph* graph, uint32_t value, tenon_tensor* out_tensor);
  /* Compile only: the program keeps its own form of this constant, so the host may release the original at once. */
  tenon_status (*graph_constant_consumed)(const tenon_graph* graph, uint32_t value);

  void (*log)(tenon_host_provider* host, uint32_t level, tenon_str code, tenon_str message);

  /* Calls fn over [0, n) in pieces of at least `grain`, on this thread and free workers. Returns when all pieces are
   * done. worker < worker_count(run). Nested calls run inline. `run` may be NULL (in compile). */
  void (*parallel_for)(tenon_run* run, int64_t n, int64_t grain, tenon_range_fn fn, void* context);
  uint32_t (*worker_count)(tenon_run* run);
  /* For a library with its own threads: parks up to k workers of the host's pool until `own_threads_done`. Returns
   * how many threads the caller may use, including itself. */
  uint32_t (*own_threads)(tenon_run* run, uint32_t k);
  void (*own_threads_done)(tenon_run* run);

  /* Uninitialised memory, 64-byte aligned, valid until the run function returns. NULL when no memory is left. */
  void* (*scratch)(tenon_run* run, uint64_t bytes);
  /* Memory of a data-dependent output, once its shape is known. The only function that this may call is `allocate`. */
  tenon_status (*alloc_output)(tenon_run* run, uint32_t output, uint32_t rank, const int64_t* dims,
                               tenon_tensor* out_tensor, tenon_error* error);
  /* A string output: the host copies `offsets` (n + 1) and `bytes`. */
  tenon_status (*set_strings)(tenon_run* run, uint32_t output, uint32_t rank, const int64_t* dims,
                              const int64_t* offsets, const char* bytes, tenon_error* error);
  /* A sequence, optional or map output. Takes over one count of `value`, also on failure. NULL: an empty optional. */
  tenon_status (*set_object)(tenon_run* run, uint32_t output, tenon_value* value, tenon_error* error);

  /* Sequences, optionals, maps and the tensors in them are reference-counted. value_make_x gives one count. */
  tenon_status (*value_make_tensor)(uint32_t dtype, uint32_t rank, const int64_t* dims,
                                    tenon_value** out_value, void** out_data, tenon_error* error);
  tenon_status (*value_make_strings)(uint32_t rank, const int64_t* dims, const int64_t* offsets,
                                     const char* bytes, tenon_value** out_value, tenon_error* error);
  /* kind SEQUENCE (n elements), OPTIONAL (0 or 1), MAP (2: a tensor of keys, and a tensor or sequence of values).
   * Adds a count to each element. `dtype`: of the elements, for an empty sequence. */
  tenon_status (*value_make)(uint32_t kind, uint32_t dtype, tenon_value* const* elements, uint64_t n,
                             tenon_value** out_value, tenon_error* error);
  /* Makes a value that shares or copies the tensor of an input of the Run. */
  tenon_status (*value_from_input)(tenon_run* run, uint32_t input, tenon_value** out_value,
                                   tenon_error* error);
  void (*value_retain)(tenon_value* value);
  void (*value_release)(tenon_value* value);
  uint32_t (*value_kind)(const tenon_value* value);
  uint64_t (*value_size)(const tenon_value* value); /* number of elements */
  /* Borrowed from `value`; NULL when there is no such element. */
  tenon_value* (*value_element)(const tenon_value* value, uint64_t index);
  /* Describes a tensor value; borrowed from `value`. */
  tenon_status (*value_tensor)(const tenon_value* value, tenon_tensor* out_tensor);

  /* Makes an object once per (library, device, options, key). Concurrent callers wait; later callers get the same
   * object. Each successful call needs one shared_release; `release` runs after the last one. */
  tenon_status (*shared)(tenon_host_instance* host, tenon_str key, tenon_make_fn make, void* context,
                         tenon_release_fn release, void** out_object, tenon_error* error);
  void (*shared_release)(tenon_host_instance* host, tenon_str key);
  /* Blobs on disk. The host checks them and writes them atomically. cache_get gives NOT_FOUND for an unknown key;
   * `out_blob` is mapped until cache_done. */
  tenon_status (*cache_get)(tenon_host_instance* host, tenon_str key, tenon_str* out_blob,
                            tenon_error* error);
  void (*cache_done)(tenon_host_instance* host, tenon_str blob);
  tenon_status (*cache_put)(tenon_host_instance* host, tenon_str key, tenon_str blob, tenon_error* error);

  const void* (*get_extension)(tenon_str id, uint32_t min_version); /* "vendor.name/major"; NULL: absent */

  /* Writes 32 bytes that name the constant: equal for equal type, shape and bytes, in every process, and different
   * otherwise (SHA-256). Reads all bytes at the first call for a constant. NOT_FOUND for a value without data. */
  tenon_status (*graph_constant_id)(const tenon_graph* graph, uint32_t value, uint8_t* out_id);
  /* Writes 32 bytes that name the view: nodes, attributes, types, shapes and constants, but no names. */
  tenon_status (*graph_fingerprint)(const tenon_graph* graph, uint8_t* out_id);

  /* R60. Adds a span inside a claim to the trace of the Run, on the track of the calling thread, with the clock of
   * tenon_time_span. Returns 1, or 0 when the Run is not traced (then it adds nothing). With an empty name it only tells
   * that. Copies `name`. `run` may be NULL. */
  uint32_t (*trace)(tenon_run* run, tenon_str name, uint64_t begin_ns, uint64_t end_ns);
} tenon_host_api;

/* ---- The provider's table ---- */

/* X(function, required, threads, time), for this major version; the words are explained at the top. The functions of
 * a group are required together: DOMAIN when device_domains or allocate is set, MAP, BIND, STREAM and RECORD when
 * their first function is set. RECORD and stream_times need STREAM. */
#define TENON_EP_SLOTS(X)                      \
  X(provider_create, REQUIRED, INIT, BLOCKS)   \
  X(provider_destroy, REQUIRED, INIT, BLOCKS)  \
  X(enumerate_devices, REQUIRED, INIT, BLOCKS) \
  X(device_open, REQUIRED, ANY, BLOCKS)        \
  X(device_close, REQUIRED, ANY, BLOCKS)       \
  X(device_domains, OPTIONAL, ANY, QUICK)      \
  X(device_memory, OPTIONAL, ANY, QUICK)       \
  X(device_trim, OPTIONAL, ANY, BLOCKS)        \
  X(allocate, DOMAIN, STREAM, BLOCKS)          \
  X(free, DOMAIN, STREAM, BLOCKS)              \
  X(copy, DOMAIN, STREAM, BLOCKS)              \
  X(map, OPTIONAL, BUFFER, BLOCKS)             \
  X(unmap, MAP, BUFFER, BLOCKS)                \
  X(instance_create, REQUIRED, ANY, BLOCKS)    \
  X(instance_destroy, REQUIRED, ANY, BLOCKS)   \
  X(capability, REQUIRED, ANY, QUICK)          \
  X(compile, REQUIRED, ANY, BLOCKS)            \
  X(program_destroy, REQUIRED, ANY, BLOCKS)    \
  X(prepare, REQUIRED, ANY, QUICK)             \
  X(prepared_destroy, REQUIRED, ANY, QUICK)    \
  X(bind, OPTIONAL, ANY, BLOCKS)               \
  X(unbind, BIND, ANY, BLOCKS)                 \
  X(run, REQUIRED, RUN, HOT)                   \
  X(stream_create, OPTIONAL, ANY, BLOCKS)      \
  X(stream_destroy, STREAM, ANY, BLOCKS)       \
  X(stream_flush, STREAM, STREAM, QUICK)       \
  X(stream_point, STREAM, STREAM, QUICK)       \
  X(stream_wait, STREAM, STREAM, QUICK)        \
  X(point_wait, STREAM, ANY, BLOCKS)           \
  X(stream_times, OPTIONAL, STREAM, BLOCKS)    \
  X(record_begin, OPTIONAL, STREAM, QUICK)     \
  X(record_end, RECORD, STREAM, BLOCKS)        \
  X(recording_run, RECORD, STREAM, HOT)        \
  X(recording_destroy, RECORD, ANY, BLOCKS)    \
  X(quiesce, OPTIONAL, INIT, BLOCKS)           \
  X(get_extension, OPTIONAL, ANY, QUICK)

/* In the order of a vendor's day. After each function: the rules of RULES.md that apply beside R8 to R14. Functions
 * that return nothing cannot fail. */
typedef struct tenon_ep_api {
  uint32_t struct_size;
  uint32_t abi_minor;

  /* R2. The provider owns what it makes here until provider_destroy, which the host calls when no device is open. */
  tenon_status (*provider_create)(const tenon_provider_params* params, tenon_provider** out_provider,
                                  tenon_error* error);
  void (*provider_destroy)(tenon_provider* provider);
  /* R15. Cheap. Opens no device. May add no device. The order is stable. */
  tenon_status (*enumerate_devices)(tenon_provider* provider, const tenon_device_sink* sink,
                                    tenon_error* error);

  /* R16, R51. The host opens each device once per process and provider build, and closes it after everything that was
   * made from it. NOT_FOUND for an unknown id. */
  tenon_status (*device_open)(tenon_provider* provider, const tenon_device_params* params,
                              tenon_device** out_device, tenon_error* error);
  void (*device_close)(tenon_device* device);

  /* R17. Memory domains of the device. The host asks once, after device_open. */
  tenon_status (*device_domains)(tenon_device* device, const tenon_domain_sink* sink, tenon_error* error);
  /* Memory of the device now, for all processes. The host asks for messages and for `tenon providers list`. */
  tenon_status (*device_memory)(tenon_device* device, tenon_memory_info* out_info, tenon_error* error);
  /* R57. Gives memory back that the provider keeps and can make again. The host calls it when memory is exhausted. */
  tenon_status (*device_trim)(tenon_device* device, tenon_error* error);
  /* R18. Memory of a domain; the host owns it until `free`. RESOURCE_EXHAUSTED when no memory is left: the host then
   * frees idle memory, calls device_trim and tries once more. */
  tenon_status (*allocate)(tenon_device* device, const tenon_allocate_params* params,
                           tenon_allocation* out_allocation, tenon_error* error);
  /* With a stream the memory is free after the work enqueued on it so far; otherwise no work uses it. */
  void (*free)(tenon_device* device, tenon_buffer* buffer, tenon_stream* stream);
  /* R19, R47, R48, R58. Copies within this device, between it and TENON_DOMAIN_HOST, or from another device of this
   * provider to this one; for the last UNIMPLEMENTED means that the host copies by way of its own memory. With a
   * stream the caller keeps both places until it has waited for a later point. Errors may surface there. */
  tenon_status (*copy)(tenon_device* device, const tenon_copy_params* params, tenon_error* error);
  /* R20. Borrowed until unmap. No work on these bytes is under way. */
  tenon_status (*map)(tenon_device* device, const tenon_map_params* params, void** out_address,
                      tenon_error* error);
  void (*unmap)(tenon_device* device, tenon_buffer* buffer, void* address);

  /* An instance: the device with options. The host destroys it after its programs and streams. R52, R54. */
  tenon_status (*instance_create)(tenon_device* device, const tenon_instance_params* params,
                                  tenon_instance** out_instance, tenon_error* error);
  void (*instance_destroy)(tenon_instance* instance);
  /* R21 to R28. Claims or rejects each node that is not taken. Pure: the same graph gives the same answer. Does not
   * use the device. */
  tenon_status (*capability)(tenon_instance* instance, const tenon_graph* graph, const tenon_claim_sink* sink,
                             tenon_error* error);
  /* R29 to R32. Anything that takes long belongs here: building kernels, tuning on the device, uploading constants. */
  tenon_status (*compile)(tenon_instance* instance, const tenon_compile_args* args,
                          tenon_program** out_program, tenon_error* error);
  void (*program_destroy)(tenon_program* program);
  /* R33 to R38. Called once per shape signature; should take under 1 us per kernel, because a decoder has a new shape
   * for each token. The result is immutable, and destroyed after its bindings. */
  tenon_status (*prepare)(tenon_program* program, tenon_prepare_args* args, tenon_prepared** out_prepared,
                          tenon_error* error);
  void (*prepared_destroy)(tenon_prepared* prepared);
  /* R46. Fixes addresses until unbind, so that the provider sets arguments once. May build kernels for the addresses
   * and sizes. A binding is run by one Run at a time, and unbound when its work is done. */
  tenon_status (*bind)(const tenon_bind_args* args, tenon_binding** out_binding, tenon_error* error);
  void (*unbind)(tenon_binding* binding);
  /* R39 to R47. With a stream it enqueues and returns; errors of the work surface at a later point_wait. While the
   * stream records, it records. UNIMPLEMENTED then: this work cannot be recorded, and the host enqueues it in each
   * Run. Rule R41 (no lock) holds only without a stream. */
  tenon_status (*run)(const tenon_run_args* args, tenon_error* error);

  /* A queue of work, in order. Destroyed when its work is done. */
  tenon_status (*stream_create)(tenon_instance* instance, const tenon_stream_params* params,
                                tenon_stream** out_stream, tenon_error* error);
  void (*stream_destroy)(tenon_stream* stream);
  /* R50. Submits what was enqueued. */
  tenon_status (*stream_flush)(tenon_stream* stream, tenon_error* error);
  /* R49. Numbers the end of the work that is enqueued so far. Points of a stream are 1 or more and increase. */
  tenon_status (*stream_point)(tenon_stream* stream, uint64_t* out_point, tenon_error* error);
  /* R55. Work that is enqueued on `stream` from now on begins after `point` of `other`, a stream of this provider, also
   * of another instance or device. The host has flushed `other` since the point, and keeps `other` until a point of
   * `stream` after this call is done. */
  tenon_status (*stream_wait)(tenon_stream* stream, tenon_stream* other, uint64_t point, tenon_error* error);
  /* R49. Blocks the calling thread until all work before the point is done, and reports the first error of that work
   * that no point_wait has reported yet, with TENON_ERROR_ASYNC and the place of the work in `where`. An unknown
   * point: INVALID_ARGUMENT. timeout_ns < 0: no limit. DEADLINE_EXCEEDED when the time has passed; 0 only asks. */
  tenon_status (*point_wait)(tenon_stream* stream, uint64_t point, int64_t timeout_ns, tenon_error* error);
  /* R59. Gives when the work of a TIMED stream ran: each piece that is done and was not given yet, in the order of
   * begin. One call of `run` may be several pieces, or none. Work that failed may be left out. Nothing for a stream
   * without TIMED. */
  tenon_status (*stream_times)(tenon_stream* stream, const tenon_time_sink* sink, tenon_error* error);

  /* R56. From now on `run` and `copy` with this stream are recorded and not done. They neither wait nor use the
   * device. Between begin and end the host calls nothing else with the stream. */
  tenon_status (*record_begin)(tenon_stream* stream, tenon_error* error);
  /* Ends the recording. With out_recording NULL, or on failure, it is dropped. */
  tenon_status (*record_end)(tenon_stream* stream, tenon_recording** out_recording, tenon_error* error);
  /* R56. Enqueues what was recorded as one piece. Addresses, bindings and prepared objects are those of the recorded
   * calls; the host keeps them, and runs a recording again only when its last run is done. What a TIMED stream recorded
   * is measured when it runs on a TIMED stream. */
  tenon_status (*recording_run)(tenon_recording* recording, tenon_stream* stream, tenon_error* error);
  void (*recording_destroy)(tenon_recording* recording);

  /* R53. Called when no handle is left. Ends threads and callbacks within the time, so that the library can be
   * unloaded. */
  tenon_status (*quiesce)(tenon_provider* provider, int64_t timeout_ns, tenon_error* error);
  const void* (*get_extension)(tenon_provider* provider, tenon_str id, uint32_t min_version);
} tenon_ep_api;

/* ---- The one symbol ---- */

typedef struct tenon_ep_negotiation {
  uint32_t struct_size;
  /* in */
  uint32_t host_major; /* a host of several majors asks for each, the highest first */
  uint32_t host_minor;
  uint32_t host_oldest_minor; /* the oldest minor that the host still works with */
  uint32_t flags;             /* TENON_NEGOTIATE_SCAN */
  uint32_t reserved;
  const tenon_host_api* host;
  /* out */
  uint32_t major;
  uint32_t minor; /* the smaller of the host's and the provider's */
  uint32_t sanitizer;
  uint32_t reserved_out;
  char provider_id[64];
  char provider_version[64];
  char build_id[64];
  const tenon_ep_api* api; /* static; lives as long as the library is mapped */
  char reason[256];        /* when refused: why, for a person */
} tenon_ep_negotiation;

/* Pure and repeatable. Fills the out part and returns TENON_OK, or refuses with another status and a reason. Starts
 * no thread and opens no device. */
TENON_EP_EXPORT tenon_status tenon_ep_negotiate(tenon_ep_negotiation* io);
typedef tenon_status (*tenon_ep_negotiate_fn)(tenon_ep_negotiation* io);

#ifdef __cplusplus
}
#endif
#endif /* TENON_EP_H_ */
