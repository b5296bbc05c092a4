/* tenon/tenon.h: the C API of the Tenon runtime (libtenon).
 *
 * One exported function returns one table of functions. Handles are opaque. Values (tensors, sequences, maps,
 * optionals) are the reference-counted `tenon_value` of ep.h, and its `tenon_tensor` describes tensors: applications
 * and providers share one description of memory. tenon.hpp wraps this header for C++.
 *
 * Conventions: functions return a tenon_status. Only on failure they fill the caller's tenon_error, which may be
 * NULL; error_kind gives its kind. All strings, paths and keys included, are UTF-8 with a size. Nothing here prints,
 * exits, throws or changes process-wide state.
 *
 * Threads: any thread may use a handle or a value. Each function says what may run at the same time: any other call
 * where it is "Thread-safe"; otherwise no call that uses the object named.
 *
 * A pointer may be NULL only where its comment says so; elsewhere NULL gives TENON_INVALID_ARGUMENT. The functions
 * that release, count or read a value accept NULL and do nothing. The caller sets `struct_size` of every struct that
 * it passes. A text that does not fit into tenon_error has "... [cut: N bytes in all]" where bytes were left out: of
 * `where` the middle, of `message` the end or what stands before the cause and the cure.
 *
 * fork(): sessions, slots and submitted Runs belong to the process that made them. In a child process, functions that
 * are given one of the parent fail at once with TENON_FAILED_PRECONDITION, and releasing it does nothing. Sessions that
 * the child makes work.
 */
#ifndef TENON_H_
#define TENON_H_

#include "tenon/ep.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_API_VERSION 1u

#if defined(_WIN32)
#define TENON_API_EXPORT __declspec(dllimport)
#else
#define TENON_API_EXPORT __attribute__((visibility("default")))
#endif

typedef struct tenon_config tenon_config;
typedef struct tenon_session tenon_session;
typedef struct tenon_slots tenon_slots;   /* inputs and outputs bound to memory: the fastest way to run */
typedef struct tenon_cancel tenon_cancel; /* one flag that stops Runs */
typedef struct tenon_text tenon_text;     /* owned text, mostly JSON */
typedef struct tenon_state tenon_state;   /* what one sequence keeps between its Runs */
typedef struct tenon_providers tenon_providers;         /* the providers found at one moment */
typedef struct tenon_pending tenon_pending;             /* a Run that was submitted */
typedef struct tenon_operators tenon_operators;         /* operators that the application runs itself */
typedef struct tenon_operator_call tenon_operator_call; /* one call of a function of such an operator */

/* The kind of failure that a tenon_error describes; see docs/errors.md. */
enum {
  TENON_FAILURE_NONE = 0,
  TENON_FAILURE_INVALID_MODEL = 1,
  TENON_FAILURE_UNSUPPORTED = 2,
  TENON_FAILURE_LIMIT = 3,
  TENON_FAILURE_PROVIDER_MISSING = 4,
  TENON_FAILURE_PROVIDER_REFUSED = 5,
  TENON_FAILURE_DEVICE = 6,
  TENON_FAILURE_MEMORY = 7,
  TENON_FAILURE_CANCELLED = 8,
  TENON_FAILURE_DEADLINE = 9,
  TENON_FAILURE_INVALID_INPUT = 10,
  TENON_FAILURE_CONFIG = 11,
  TENON_FAILURE_INTERNAL = 12,
  TENON_FAILURE_OPERATOR = 13
};

/* What error_part finds in an error. Names are as in messages: control characters, quotes and backslashes are escaped,
 * and the middle of a long one is left out. */
enum {
  TENON_ERROR_PART_MODEL = 1,    /* path of the model, or "model in memory" */
  TENON_ERROR_PART_NODE = 2,     /* name of the innermost node */
  TENON_ERROR_PART_OPERATOR = 3, /* that of the node: "Conv", "com.acme.Fft" */
  TENON_ERROR_PART_PROVIDER = 4, /* "cuda 1.4.0", or "cuda" */
  TENON_ERROR_PART_REFUSAL = 5,  /* code of docs/providers.md, such as "E_SHA_MISMATCH" */
  TENON_ERROR_PART_REASON = 6,   /* the message, without refusal, cause and cure */
  TENON_ERROR_PART_CAUSE = 7,    /* the usual cause of the refusal */
  TENON_ERROR_PART_CURE = 8      /* what to do about the refusal; other messages say it within the reason */
};

/* An input or output of a model. Strings and arrays live as long as the session. */
typedef struct tenon_io_info {
  uint32_t struct_size;
  uint32_t kind;  /* TENON_KIND_x */
  uint32_t dtype; /* of the tensor or its innermost element */
  int32_t rank;   /* TENON_RANK_UNKNOWN */
  tenon_str name;
  const int64_t* dims;        /* `rank` of them; TENON_DIM_UNKNOWN where not fixed */
  const tenon_str* dim_names; /* "" where unnamed */
  tenon_str type_text;        /* "float32[N,3,224,224]", "seq(map(int64,float32[]))" */
  uint32_t has_default;       /* 1: an input that the caller may leave out */
  uint32_t reserved;
} tenon_io_info;

/* What a model says about itself, apart from its graph. Strings live as long as the session; "" where the file has none. */
typedef struct tenon_model_info {
  uint32_t struct_size;
  uint32_t opset_count; /* see session_opset */
  int64_t ir_version;
  int64_t model_version;
  tenon_str producer_name;
  tenon_str producer_version;
  tenon_str domain;
  tenon_str description; /* doc_string of the model */
  tenon_str graph_name;
  tenon_str graph_description;
} tenon_model_info;

typedef struct tenon_named_value {
  tenon_str name;
  tenon_value* value;
} tenon_named_value;

/* Frozen, as the next. */
typedef struct tenon_named_dim {
  tenon_str name;
  int64_t size;
} tenon_named_dim;

typedef struct tenon_named_bytes {
  tenon_str name;
  const void* data;
  uint64_t size;
} tenon_named_bytes;

enum {
  /* For debugging: every value in the model's graph becomes an output under its name, after the model's own outputs and
   * in topological order. Runs are slower, because no fusion crosses such a value. */
  TENON_SESSION_ALL_VALUES = 1u
};

/* A provider's instance that a session uses. Strings live as long as the session. */
typedef struct tenon_instance_info {
  uint32_t struct_size;
  uint32_t reserved;
  tenon_str instance; /* "cuda/gpu:0", as in config */
  tenon_str provider; /* its id */
  tenon_str version;
  tenon_str library; /* the path of its file; "" for the operators of the application */
  tenon_str options; /* JSON object: the provider's options in force, defaults included */
} tenon_instance_info;

enum {
  TENON_PROVIDER_USABLE = 1,     /* sessions that are made now use it if they want its id */
  TENON_PROVIDER_NOT_CHOSEN = 2, /* another manifest of the same id goes first */
  TENON_PROVIDER_REFUSED = 3     /* see refusal, reason and cure */
};

/* A manifest that was found. Strings live as long as the list. */
typedef struct tenon_provider_info {
  uint32_t struct_size;
  uint32_t verdict; /* TENON_PROVIDER_x */
  uint32_t place;   /* number of the search place */
  uint32_t reserved;
  tenon_str id; /* "" when the manifest cannot be read, as for the next three */
  tenon_str version;
  tenon_str name;
  tenon_str vendor;
  tenon_str manifest; /* path */
  tenon_str library;  /* path */
  tenon_str refusal;  /* code of docs/errors.md, such as "E_SHA_MISMATCH"; "" when it is not refused */
  tenon_str reason;   /* why it is refused, or why another version is chosen; may be "" */
  tenon_str cure;     /* what to do about a refusal; may be "" */
} tenon_provider_info;

typedef void (*tenon_free_fn)(void* context);
/* `level`: TENON_LOG_x. `provider`: "cuda 1.4.0", or empty when the runtime itself speaks. `code`: a word for programs. */
typedef void (*tenon_log_fn)(void* context, uint32_t level, tenon_str provider, tenon_str code,
                             tenon_str message);

typedef struct tenon_session_options {
  uint32_t struct_size;
  uint32_t flags; /* TENON_SESSION_x */
  /* Called on the thread that creates the session, with a fraction in [0, 1] and the name of the stage ("read",
   * "compile", ...). A result other than 0 cancels. May be NULL. */
  int32_t (*progress)(void* context, double fraction, tenon_str stage);
  void* progress_context;
  /* Receives the lines that creating and running this session logs on the calling thread. The function of log_set
   * receives them too, and it alone receives what providers log on their own threads. Called on every thread that creates
   * or runs the session, until the session and its slots are released and its submitted Runs are over. May be NULL. */
  tenon_log_fn log;
  void* log_context;
  /* The operators that the application runs itself; what is added to them later does not count. May be NULL. */
  const tenon_operators* operators;
  /* Stops the making of the session when it is triggered. May be NULL. */
  tenon_cancel* cancel;
  /* Values in place of initializers of the model's graph: tensors in host memory of the same type and shape, which must not
   * be written any more. The session keeps counts of them. The data of those in the model, or in files beside it, is not
   * read. A name that the model lacks is TENON_NOT_FOUND. */
  const tenon_named_value* initializers;
  uint32_t initializer_count;
  uint32_t dim_count;
  /* Sizes of dims that have a name in the model, for its inputs and everything that follows. A name that the model lacks is
   * a line in the log (MODEL), as for the next. */
  const tenon_named_dim* dims;
  /* Files of external data in memory, by the location that the model names. They are not copied: the caller keeps them in
   * place and unchanged until the session is released and its submitted Runs are over. */
  const tenon_named_bytes* files;
  uint32_t file_count;
  uint32_t reserved;
} tenon_session_options;

enum {
  /* New outputs that are numeric tensors stay in the memory in which the model's parts made them, often that of a
   * device; see value_place. Not for slots, which have slots_keep_output. */
  TENON_RUN_KEEP_OUTPUTS = 1u
};

typedef struct tenon_run_options {
  uint32_t struct_size;
  uint32_t flags;       /* TENON_RUN_x */
  int64_t deadline_ns;  /* nanoseconds from now; 0: none */
  tenon_cancel* cancel; /* may be NULL */
  /* May be NULL; receives Chrome trace JSON of the Run, also on failure. NULL for a Run that is submitted. */
  tenon_text** out_trace;
  tenon_state* state; /* Of this session; NULL: the session's own. Only with state.pairs in the config. */
} tenon_run_options;

/* Where a tensor is, and what it is like. Strings and dims live as long as the value. */
typedef struct tenon_value_place {
  uint32_t struct_size;
  uint32_t host_can_read; /* 1: value_tensor gives its data */
  tenon_str device;       /* "cuda/gpu:0", as in config; "" for host memory */
  tenon_str domain;       /* the kind of memory, by its name in messages; "host" for host memory */
  uint32_t dtype;
  uint32_t rank;
  const int64_t* dims;
  uint64_t byte_size;
} tenon_value_place;

enum {
  /* Runs of one session that may be submitted and not ended at once. */
  TENON_PENDING_LIMIT = 1024
};

/* Called when a submitted Run has ended. `error` is NULL when it succeeded. `outputs` are the outputs chosen, in their
 * order: borrowed for this call, so retain what is to be kept; NULL and 0 after a failure and for slots. */
typedef void (*tenon_done_fn)(void* context, tenon_status status, tenon_value* const* outputs,
                              uint32_t output_count, const tenon_error* error);

/* ---- Operators of the application ----
 *
 * A session made with `operators` in its options gives every node of a registered operator to the application: `infer`
 * tells the types of its outputs, `run` computes them. Functions of the model come before registered operators, and these
 * before what providers run. Nodes are never folded or merged, so `run` may have effects of its own. The nodes appear
 * under the provider "custom" where providers are listed.
 *
 * The functions are called on the threads that make sessions and that run them, several at a time, also for one node.
 * They may use values and other sessions, but not the session that calls, and must not throw. The session may hold locks
 * meanwhile: a lock of the application that they take, such as that of an interpreter, is to be given up before each call
 * of a session.
 *
 * A result other than TENON_OK ends the call of the session with that status, the text in `error` and the name of the
 * node. The kind is TENON_FAILURE_OPERATOR, except for TENON_RESOURCE_EXHAUSTED, and for TENON_CANCELLED in a Run that was
 * stopped.
 */

enum {
  /* Nodes may have attributes that are not in the list. */
  TENON_OPERATOR_ANY_ATTRIBUTE = 1u,
  /* `run` may keep its inputs after it has returned: they are copies. Without it, keeping one is an error of the Run. */
  TENON_OPERATOR_KEEPS_INPUTS = 2u
};

/* An attribute that nodes of the operator may have. Frozen. */
typedef struct tenon_operator_attribute {
  tenon_str name;
  uint32_t type;     /* TENON_ATTR_x, but no graphs, sparse tensors and types */
  uint32_t required; /* 1: every node must have it */
} tenon_operator_attribute;

/* One version of an operator. */
typedef struct tenon_operator {
  uint32_t struct_size;
  uint32_t flags;   /* TENON_OPERATOR_x */
  tenon_str domain; /* "com.acme" */
  tenon_str name;   /* "Fft" */
  /* 1 or more. A node gets the highest version that is not above the one that its model imports of the domain. */
  int32_t since_version;
  uint32_t min_inputs; /* how many the node must give; further ones may be left out */
  uint32_t max_inputs; /* UINT32_MAX: any number */
  uint32_t min_outputs;
  uint32_t max_outputs; /* UINT32_MAX: any number */
  uint32_t attribute_count;
  const tenon_operator_attribute* attributes;
  void* context; /* of the functions */

  /* Tells the types of the outputs with call_set_output, as far as they follow from types and known values of the inputs.
   * What it leaves out may come from the model. Called when a model is loaded, with dims that are not fixed, and again for
   * each new set of input shapes. An output whose kind or element type stays unknown is an error; one whose shape does is
   * found by `run`. What it tells is a promise: `run` fails when it breaks it. */
  tenon_status (*infer)(void* context, const tenon_operator_call* call, tenon_error* error);
  /* Makes what `run` needs for one node. Called once for each node of a session, and again when a session is put together
   * anew after the loss of a device. May be NULL; *out_state is then NULL. */
  tenon_status (*create)(void* context, const tenon_operator_call* call, void** out_state,
                         tenon_error* error);
  /* May be NULL. No call of `run` with `state` is under way, and none follows. */
  void (*destroy)(void* context, void* state);
  /* Computes. Inputs have one entry for each input of the node, NULL where it is left out, and are read-only tensors in
   * host memory, sequences, optionals or maps. They are borrowed, also when they are counted. Outputs have one entry for
   * each output of the node. Where the memory of a tensor is known before, the entry holds a tensor over it, borrowed as
   * well, which `run` fills or replaces. Another entry is NULL: `run` gives a value with one count, which passes to the
   * library, also when `run` fails. It may leave the entry of an output that nobody uses (see call_output). */
  tenon_status (*run)(void* context, void* state, const tenon_operator_call* call, tenon_value* const* inputs,
                      uint32_t input_count, tenon_value** outputs, uint32_t output_count, tenon_error* error);

  /* Called with `context` when neither the operators nor a session needs it any more. May be NULL. */
  tenon_free_fn free_fn;
} tenon_operator;

/* The node that a call is about. Strings live until the function that has the call returns. */
typedef struct tenon_call_info {
  uint32_t struct_size;
  int32_t since_version; /* of the operator */
  tenon_str node;
  tenon_str domain;
  tenon_str op_type;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t attribute_count;
  uint32_t reserved;
} tenon_call_info;

enum {
  TENON_DESCRIBE_EXPLAIN = 1, /* per node: provider and reasons of rejections; parts, copies */
  TENON_DESCRIBE_PLAN = 2,    /* the plans made so far: steps, memory */
  TENON_DESCRIBE_MODEL = 3    /* inputs, outputs, opsets, operators, size, metadata */
};

typedef struct tenon_api {
  uint32_t struct_size;
  uint32_t version;

  tenon_str (*runtime_version)(void); /* Thread-safe. */
  /* TENON_FAILURE_x of the failure that `error` describes. Thread-safe. */
  uint32_t (*error_kind)(const tenon_error* error);

  tenon_str (*text_get)(const tenon_text* text); /* Borrowed until text_release. Thread-safe. */
  void (*text_release)(tenon_text* text);        /* No other call may use `text` meanwhile. */

  /* A config made of the built-in values, the layers of the system, the user and the environment, and the file `path`
   * (empty: the file that TENON_CONFIG names). Errors name file, line and the nearest valid name. Thread-safe. */
  tenon_status (*config_create)(tenon_str path, tenon_config** out_config, tenon_error* error);
  void (*config_release)(tenon_config* config); /* No other call may use `config` meanwhile. */
  /* Sets a key in the highest layer: config_set(c, "select.order", "[\"cpu\"]", ...). The value is TOML. Messages and
   * config_describe name `source` as its origin, such as a command's flag; empty: "config_set". No other call may use
   * `config` meanwhile. */
  tenon_status (*config_set)(tenon_config* config, tenon_str key, tenon_str value, tenon_str source,
                             tenon_error* error);
  /* JSON: {"key": {"value": ..., "origin": "file:line" | "default" | ...}}. Thread-safe. */
  tenon_status (*config_describe)(const tenon_config* config, tenon_text** out_json, tenon_error* error);

  /* JSON array of every manifest found under `config` (NULL: as config_create("")): verdict, refusal code, reason,
   * cure, place, version, devices, options. `deep`: 0 runs no code of a provider; 1 scans the libraries without a
   * stored answer of an earlier scan; 2 scans all libraries. Thread-safe. */
  tenon_status (*providers_describe)(const tenon_config* config, uint32_t deep, tenon_text** out_json,
                                     tenon_error* error);
  /* Adds a manifest for this process (search place 0). Thread-safe. */
  tenon_status (*provider_register)(tenon_str manifest_path, tenon_error* error);

  /* `config` (NULL: defaults) and `options` (may be NULL) are copied. Thread-safe. */
  tenon_status (*session_create)(tenon_str model_path, const tenon_config* config,
                                 const tenon_session_options* options, tenon_session** out_session,
                                 tenon_error* error);
  /* `keep` 0: the bytes are copied, and the caller may free them after this call. Otherwise they are not copied, and
   * the caller keeps them in place and unchanged until the session is released. `directory`: the folder of external
   * data. Thread-safe. */
  tenon_status (*session_create_from_memory)(const void* data, uint64_t size, uint32_t keep,
                                             tenon_str directory, const tenon_config* config,
                                             const tenon_session_options* options,
                                             tenon_session** out_session, tenon_error* error);
  /* No other call may use `session` meanwhile. Submitted Runs keep the session, and the memory of a model that was not
   * copied, until they have ended. */
  void (*session_release)(tenon_session* session);
  uint32_t (*session_input_count)(const tenon_session* session);  /* Thread-safe. */
  uint32_t (*session_output_count)(const tenon_session* session); /* Thread-safe. */
  /* Thread-safe. */
  tenon_status (*session_input)(const tenon_session* session, uint32_t index, tenon_io_info* out_info);
  /* Thread-safe. */
  tenon_status (*session_output)(const tenon_session* session, uint32_t index, tenon_io_info* out_info);
  /* Thread-safe. */
  tenon_status (*session_describe)(const tenon_session* session, uint32_t what, tenon_text** out_json,
                                   tenon_error* error);

  /* A function that fills out_value gives the caller one count; value_release gives it back. This tensor is
   * uninitialised; `out_data` (may be NULL) receives its memory, 64-byte aligned. Thread-safe. */
  tenon_status (*value_make_tensor)(uint32_t dtype, uint32_t rank, const int64_t* dims,
                                    tenon_value** out_value, void** out_data, tenon_error* error);
  /* Refers to the caller's dense host memory. `free_fn` (may be NULL) runs when the last count is released.
   * Thread-safe. */
  tenon_status (*value_wrap)(const tenon_tensor* tensor, tenon_free_fn free_fn, void* free_context,
                             tenon_value** out_value, tenon_error* error);
  /* Thread-safe. */
  tenon_status (*value_make_strings)(uint32_t rank, const int64_t* dims, const int64_t* offsets,
                                     const char* bytes, tenon_value** out_value, tenon_error* error);
  /* A sequence, optional or map of `n` other values, nested at most 64 deep; see value_make in ep.h. Thread-safe. */
  tenon_status (*value_make)(uint32_t kind, uint32_t dtype, tenon_value* const* elements, uint64_t n,
                             tenon_value** out_value, tenon_error* error);
  void (*value_retain)(tenon_value* value);                                /* Thread-safe. */
  void (*value_release)(tenon_value* value);                               /* Thread-safe. */
  uint32_t (*value_kind)(const tenon_value* value);                        /* Thread-safe. */
  uint64_t (*value_size)(const tenon_value* value);                        /* Thread-safe. */
  tenon_value* (*value_element)(const tenon_value* value, uint64_t index); /* Thread-safe. */
  /* TENON_FAILED_PRECONDITION for a tensor that the host cannot read (value_to_host first) or that is lost. Thread-safe. */
  tenon_status (*value_tensor)(const tenon_value* value, tenon_tensor* out_tensor);
  /* Files of ONNX test cases. `like` gives the type when the file does not hold a tensor; it may be NULL.
   * Thread-safe. */
  tenon_status (*value_read_pb)(tenon_str path, const tenon_io_info* like, tenon_value** out_value,
                                tenon_error* error);
  /* Thread-safe. */
  tenon_status (*value_write_pb)(tenon_str path, tenon_str name, const tenon_value* value,
                                 tenon_error* error);

  tenon_status (*cancel_create)(tenon_cancel** out_cancel); /* Thread-safe. */
  void (*cancel_trigger)(tenon_cancel* cancel);             /* Thread-safe. */
  /* No other call may use `cancel` meanwhile, nor a Run by run or slots_run. Submitted Runs keep what they need of it. */
  void (*cancel_release)(tenon_cancel* cancel);

  /* Runs by name. The `output_count` names in `output_names` choose the outputs; a count of 0 chooses all, in the
   * model's order. out_outputs has one entry per chosen output, and the call reads it. A NULL entry receives a new
   * value with one count. An entry that holds a value of the output's type and shape is written in place.
   * The memory of inputs is only read, by every kind of Run. Thread-safe. */
  tenon_status (*run)(tenon_session* session, const tenon_run_options* options,
                      const tenon_named_value* inputs, uint32_t input_count, const tenon_str* output_names,
                      uint32_t output_count, tenon_value** out_outputs, tenon_error* error);

  /* Slots: bind once, run often. slots_run allocates and looks up nothing when shapes do not change. The caller owns
   * the bound memory and keeps it valid until another tensor is bound or the slots are released. The slots allocate
   * an output that is not bound; their next Run overwrites it. Thread-safe. */
  tenon_status (*slots_create)(tenon_session* session, tenon_slots** out_slots, tenon_error* error);
  /* Cancels a submitted Run, and waits until it has ended. No other call may use `slots` meanwhile. */
  void (*slots_release)(tenon_slots* slots);
  /* No other call may use `slots` meanwhile. */
  tenon_status (*slots_bind_input)(tenon_slots* slots, uint32_t index, const tenon_tensor* tensor,
                                   tenon_error* error);
  /* No other call may use `slots` meanwhile. */
  tenon_status (*slots_bind_output)(tenon_slots* slots, uint32_t index, const tenon_tensor* tensor,
                                    tenon_error* error);
  /* No other call may use `slots` meanwhile. */
  tenon_status (*slots_run)(tenon_slots* slots, const tenon_run_options* options, tenon_error* error);
  /* No other call may use `slots` meanwhile. */
  tenon_status (*slots_output)(tenon_slots* slots, uint32_t index, tenon_tensor* out_tensor,
                               tenon_error* error);

  /* Writes the transformed model as ONNX to `out_path`. Thread-safe. */
  tenon_status (*model_optimize)(tenon_str model_path, const tenon_config* config, tenon_str out_path,
                                 tenon_error* error);
  /* As TENON_DESCRIBE_MODEL, without a session and without providers. Thread-safe. */
  tenon_status (*model_describe)(tenon_str model_path, const tenon_config* config, tenon_text** out_json,
                                 tenon_error* error);

  /* The JSON Schema (draft 2020-12) of the config file, for editors: type, default and meaning of every key.
   * Thread-safe. */
  tenon_status (*config_schema)(tenon_text** out_json, tenon_error* error);
  /* Quarantined libraries as JSON. `remove_hash`, when not empty, first takes one out of quarantine. Thread-safe. */
  tenon_status (*quarantine_describe)(tenon_str remove_hash, tenon_text** out_json, tenon_error* error);

  /* From now on `fn` receives all log lines of this process, from providers and from the runtime (such as FALLBACK
   * when a device is lost and a Run is repeated). NULL, the default, drops them. `fn` is called on any thread.
   * Thread-safe; a call of the function before may still be under way after the return. */
  void (*log_set)(tenon_log_fn fn, void* context);

  /* Tries `config` (NULL: as config_create("")) without a model: chooses and loads providers, opens devices. JSON:
   * {"errors": [every error a session would have], "warnings": [settings without effect], "instances": [instances
   * that a session would ask]}. Thread-safe. */
  tenon_status (*config_check)(const tenon_config* config, tenon_text** out_json, tenon_error* error);

  /* The provider instances that Runs use now, in the order in which they are asked for nodes. Thread-safe. */
  uint32_t (*session_instance_count)(const tenon_session* session);
  /* Thread-safe. */
  tenon_status (*session_instance)(const tenon_session* session, uint32_t index,
                                   tenon_instance_info* out_info);
  /* The model's metadata, sorted by key. The texts live as long as the session. Thread-safe. */
  uint32_t (*session_metadata_count)(const tenon_session* session);
  /* Thread-safe. */
  tenon_status (*session_metadata)(const tenon_session* session, uint32_t index, tenon_str* out_key,
                                   tenon_str* out_value);

  /* Every manifest found under `config`, in the order of the search places; arguments as for providers_describe. The
   * list does not change afterwards. Its strings live until providers_release. Thread-safe. */
  tenon_status (*providers_list)(const tenon_config* config, uint32_t deep, tenon_providers** out_providers,
                                 tenon_error* error);
  uint32_t (*providers_count)(const tenon_providers* providers); /* Thread-safe. */
  /* Thread-safe. */
  tenon_status (*providers_get)(const tenon_providers* providers, uint32_t index,
                                tenon_provider_info* out_info);
  void (*providers_release)(tenon_providers* providers); /* No other call may use `providers` meanwhile. */

  /* State pairs (state.pairs in the config): an output of the model is an input of the next Run and stays where the
   * model uses it, such as a key-value cache on a device. Inputs and outputs of pairs are not among those of the session.
   * A state has the values of one sequence; a Run names it in its options. The session has one of its own for Runs that
   * name none. Two uses of a state at the same time: the later fails with TENON_FAILED_PRECONDITION. So does a Run after
   * its values were lost with a device, or with a Run that failed while it updated them in place, until state_reset.
   * The number of pairs. Thread-safe. */
  uint32_t (*session_state_count)(const tenon_session* session);
  /* The names of a pair. They live as long as the session. Thread-safe. */
  tenon_status (*session_state)(const tenon_session* session, uint32_t index, tenon_str* out_input,
                                tenon_str* out_output);
  /* A state before its first Run: empty, zero, or the default values of the inputs. Thread-safe. */
  tenon_status (*state_create)(tenon_session* session, tenon_state** out_state, tenon_error* error);
  void (*state_release)(tenon_state* state); /* No other call may use `state` meanwhile, nor a Run. */
  /* Makes the state as it was created; it keeps its memory for the next sequence. Thread-safe. */
  tenon_status (*state_reset)(tenon_state* state, tenon_error* error);
  /* A copy of the value of a pair, with one count for the caller, to look at it or to save it. Thread-safe. */
  tenon_status (*state_read)(tenon_state* state, uint32_t index, tenon_value** out_value, tenon_error* error);

  /* As run, but returns at once: a thread of Tenon runs it. Runs begin in the order in which they are submitted, on one
   * thread for each two cores, at least 2 and at most 16; so they may end in another order. What only the Run can find
   * out, such as a wrong name or shape, is its error; the errors of this call are misuse and
   * TENON_RESOURCE_EXHAUSTED, when TENON_PENDING_LIMIT Runs of the session have not ended.
   *
   * The Run keeps counts of the values and a copy of everything else, also of `options`; the caller may release his
   * counts, `session` and options.cancel at once. Memory that a value only refers to stays in place and unchanged until
   * the Run has ended. `outputs`: as out_outputs of run, or NULL, when all are new; it is only read. The deadline counts
   * from this call. A Run that is stopped before it begins ends at once.
   *
   * `done` (may be NULL) is called once, on a thread of Tenon, after success, failure and cancellation alike. It
   * may submit and release, but not wait for a Run, and must not throw. When it is called, the Run uses neither the
   * session nor its inputs any more. `out_pending` may be NULL: nobody waits.
   *
   * When the process ends, Runs that have not begun are over without a call of `done`; those under way are cancelled
   * and waited for, for at most a second. Thread-safe. */
  tenon_status (*submit)(tenon_session* session, const tenon_run_options* options,
                         const tenon_named_value* inputs, uint32_t input_count, const tenon_str* output_names,
                         uint32_t output_count, tenon_value* const* outputs, tenon_done_fn done,
                         void* context, tenon_pending** out_pending, tenon_error* error);
  /* As submit, for slots_run. Until the Run has ended, the slots refuse other calls with TENON_FAILED_PRECONDITION, and
   * slots_release cancels the Run and waits until it has ended. In `done` they may be used again. No other call may use
   * `slots` meanwhile. */
  tenon_status (*slots_submit)(tenon_slots* slots, const tenon_run_options* options, tenon_done_fn done,
                               void* context, tenon_pending** out_pending, tenon_error* error);
  /* Waits until the Run has ended and `done` has returned, at most `timeout_ns` nanoseconds (negative: without limit; 0:
   * only looks). *out_is_over (may be NULL with a negative timeout) becomes 1 and the result is that of the Run, or it
   * becomes 0 and the result is TENON_OK. On threads that call `done`, waiting fails with TENON_FAILED_PRECONDITION.
   * Thread-safe. */
  tenon_status (*pending_wait)(tenon_pending* pending, int64_t timeout_ns, uint32_t* out_is_over,
                               tenon_error* error);
  /* Gives one count of an output of a Run that ended without failure: `index` counts the outputs chosen. Outputs of
   * slots are read with slots_output. Thread-safe. */
  tenon_status (*pending_output)(tenon_pending* pending, uint32_t index, tenon_value** out_value,
                                 tenon_error* error);
  /* Stops the Run, as cancel_trigger does. Thread-safe. */
  void (*pending_cancel)(tenon_pending* pending);
  /* The Run goes on if it has not ended, and calls `done`. To give it up, cancel it and wait first. No other call may
   * use `pending` meanwhile. */
  void (*pending_release)(tenon_pending* pending);

  /* DLPack 1.1, the exchange of tensors with other libraries in this process. A DLManagedTensor, or with `versioned`
   * not 0 a DLManagedTensorVersioned. `managed` belongs to the library from the call on, also when it fails, unless it
   * is NULL: its deleter is called exactly once, when the last count of the value is released or before a failed call
   * returns. Dense host memory (row-major, any byte_offset; device types CPU, CUDAHost and ROCMHost) is not copied.
   * Memory with other strides is, and the deleter is then called before the return. A read-only tensor gives a
   * read-only value, which `run` does not write in place. Memory of other devices and types that ONNX lacks are
   * UNIMPLEMENTED. Thread-safe. */
  tenon_status (*value_from_dlpack)(void* managed, uint32_t versioned, tenon_value** out_value,
                                    tenon_error* error);
  /* The receiver calls the deleter of *out_managed once, on any thread; until then it holds one count of the value.
   * Nothing is copied. UNIMPLEMENTED for strings and for tensors in a device's memory (value_to_host first);
   * FAILED_PRECONDITION for a read-only value with `versioned` 0, which cannot say so. Thread-safe. */
  tenon_status (*value_to_dlpack)(tenon_value* value, uint32_t versioned, void** out_managed,
                                  tenon_error* error);

  /* Tensors in memory of a device. Runs leave outputs there with TENON_RUN_KEEP_OUTPUTS or slots_keep_output, and take
   * them as inputs, with a copy only where no part reads that memory. As an output that the caller gives they are written
   * in place. They keep the device, also without the session. When it is lost, every use fails with
   * TENON_FAILED_PRECONDITION, kind TENON_FAILURE_DEVICE. value_to_host first for sequences, optionals, maps and files.
   * Where a tensor is. TENON_INVALID_ARGUMENT for other kinds of values, which are in host memory. Thread-safe. */
  tenon_status (*value_place)(const tenon_value* value, tenon_value_place* out_place, tenon_error* error);
  /* The same content in host memory: `value` with one more count, when it is there already. Thread-safe. */
  tenon_status (*value_to_host)(tenon_value* value, tenon_value** out_value, tenon_error* error);
  /* The same for the memory in which the session's parts read input `index`, whose type and shape it must have.
   * memory.device_limit bounds each value by itself. Thread-safe. */
  tenon_status (*value_to_device)(tenon_session* session, uint32_t index, tenon_value* value,
                                  tenon_value** out_value, tenon_error* error);
  /* As slots_bind_input, with a value, in any memory; the slots count it. No other call may use `slots` meanwhile. */
  tenon_status (*slots_bind_value)(tenon_slots* slots, uint32_t index, tenon_value* value,
                                   tenon_error* error);
  /* `keep` 1: the output stays where it is made; 0: it is in host memory. Ends what slots_bind_output bound, and is ended
   * by it. No other call may use `slots` meanwhile. */
  tenon_status (*slots_keep_output)(tenon_slots* slots, uint32_t index, uint32_t keep, tenon_error* error);
  /* One count of an output of the last Run; later Runs do not change it. TENON_FAILED_PRECONDITION when memory of the
   * caller is bound for it. No other call may use `slots` meanwhile. */
  tenon_status (*slots_output_value)(tenon_slots* slots, uint32_t index, tenon_value** out_value,
                                     tenon_error* error);

  /* As value_wrap, for memory that must not be written: no Run writes into it, and value_to_dlpack says that it is
   * read-only. Thread-safe. */
  tenon_status (*value_wrap_read_only)(const tenon_tensor* tensor, tenon_free_fn free_fn, void* free_context,
                                       tenon_value** out_value, tenon_error* error);
  /* 1: nobody may write into the memory of this tensor, because it belongs to the model (such as an output that is a
   * constant), or because its maker said so. 0 for others, also for values that are not tensors. Thread-safe. */
  uint32_t (*value_is_read_only)(const tenon_value* value);
  /* The same content in new memory of the host, which may be written; also of a tensor on a device, and of sequences,
   * optionals and maps with all elements. Thread-safe. */
  tenon_status (*value_copy)(const tenon_value* value, tenon_value** out_value, tenon_error* error);

  /* As config_create, with the config file in memory: TOML, or JSON when it begins with '{'. No file is read in its
   * place, also not the one that TENON_CONFIG names. Messages call it `name`; empty: "config text". Thread-safe. */
  tenon_status (*config_create_from_text)(tenon_str text, tenon_str name, tenon_config** out_config,
                                          tenon_error* error);

  /* `part` (TENON_ERROR_PART_x) of what an error of this library says; "" when it says nothing about it. Borrowed from
   * `error`. Thread-safe. */
  tenon_str (*error_part)(const tenon_error* error, uint32_t part);

  /* Thread-safe. */
  tenon_status (*session_model)(const tenon_session* session, tenon_model_info* out_info);
  /* A version of operators that the model imports; "ai.onnx" for ONNX's own. Sorted by domain. The text lives as long as
   * the session. Thread-safe. */
  tenon_status (*session_opset)(const tenon_session* session, uint32_t index, tenon_str* out_domain,
                                int64_t* out_version);
  /* One count of the value of an input with has_default when a Run does not give it: an initializer that may be
   * overridden. Read-only. Thread-safe. */
  tenon_status (*session_input_default)(const tenon_session* session, uint32_t index, tenon_value** out_value,
                                        tenon_error* error);

  /* A set of operators, empty at first. Thread-safe. */
  tenon_status (*operators_create)(tenon_operators** out_operators, tenon_error* error);
  /* Copies everything but what `context` points to; after a failure free_fn is not called. An operator that Tenon knows
   * itself, and one that is in the set, is TENON_INVALID_ARGUMENT. Thread-safe. */
  tenon_status (*operators_add)(tenon_operators* operators, const tenon_operator* op, tenon_error* error);
  /* Sessions keep what they need. No other call may use `operators` meanwhile. */
  void (*operators_release)(tenon_operators* operators);

  /* This function and those below are for the functions of an operator, while they have `call`. Thread-safe. */
  tenon_status (*call_info)(const tenon_operator_call* call, tenon_call_info* out_info);
  /* Strings and arrays live as the call does. `graphs` is NULL. Thread-safe. */
  tenon_status (*call_attribute)(const tenon_operator_call* call, uint32_t index,
                                 tenon_attribute* out_attribute);
  /* TENON_NOT_FOUND when the node lacks the attribute. Thread-safe. */
  tenon_status (*call_find_attribute)(const tenon_operator_call* call, tenon_str name,
                                      tenon_attribute* out_attribute);
  /* What is known of the type of an input, apart from the shapes of one Run. Kind NONE when it is left out or when nothing
   * is known of it. No name. Thread-safe. */
  tenon_status (*call_input)(const tenon_operator_call* call, uint32_t index, tenon_io_info* out_info);
  /* The same for an output: in `infer` kind NONE, later what it told. In `run`, kind NONE says that nobody uses it.
   * Thread-safe. */
  tenon_status (*call_output)(const tenon_operator_call* call, uint32_t index, tenon_io_info* out_info);
  /* The value of an input, borrowed from the call; NULL when it is left out or not known. Known outside of `run` are
   * constants and small values that shapes depend on. Thread-safe. */
  tenon_value* (*call_value)(const tenon_operator_call* call, uint32_t index);
  /* In `infer`: the type of an output. `type_text` if it is not empty: "float32[N,4,?]", "seq(string[?...])"; otherwise a
   * tensor with dtype, rank, dims and, if it is not NULL, dim_names. Copied. TENON_FAILED_PRECONDITION elsewhere.
   * Thread-safe. */
  tenon_status (*call_set_output)(const tenon_operator_call* call, uint32_t index, const tenon_io_info* type,
                                  tenon_error* error);
  /* 1: the Run is cancelled, or its time is over. `run` then returns TENON_CANCELLED soon. Thread-safe. */
  uint32_t (*call_is_stopped)(const tenon_operator_call* call);

  /* Writes profiling.file with all that was recorded so far; Runs of this session that begin later are not recorded.
   * `out_path` (may be NULL) receives the path. TENON_FAILED_PRECONDITION without profiling.file in the config, and after
   * the first call. Thread-safe. */
  tenon_status (*session_end_profile)(tenon_session* session, tenon_text** out_path, tenon_error* error);
  /* As model_optimize and model_describe, for a model in memory; arguments as for session_create_from_memory. The bytes are
   * not copied, and not needed after the call. Thread-safe. */
  tenon_status (*model_optimize_from_memory)(const void* data, uint64_t size, tenon_str directory,
                                             const tenon_config* config, tenon_str out_path,
                                             tenon_error* error);
  /* See model_optimize_from_memory. Thread-safe. */
  tenon_status (*model_describe_from_memory)(const void* data, uint64_t size, tenon_str directory,
                                             const tenon_config* config, tenon_text** out_json,
                                             tenon_error* error);
  /* Copies the content of tensor `from` into `to`, a tensor of the same type and shape that is not read-only and not of
   * strings; each may be on a device. No other call may use `to` meanwhile. */
  tenon_status (*value_write)(tenon_value* to, const tenon_value* from, tenon_error* error);
} tenon_api;

/* NULL when `version` is newer than the library. The table lives as long as the library. Thread-safe. */
TENON_API_EXPORT const tenon_api* tenon_get_api(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif /* TENON_H_ */
