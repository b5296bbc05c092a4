/* tenon/tenon.h: the C API of the Tenon runtime (libtenon).
 *
 * One exported function gives one sized table. Handles are opaque; values (tensors, sequences, maps, optionals) are the
 * counted `tenon_value` of ep.h and tensors are described by its `tenon_tensor`, so that one description of memory serves
 * applications and providers. tenon.hpp is the C++ face of this header.
 *
 * Conventions: functions return a tenon_status and, on failure only, fill the caller's tenon_error (may be NULL), whose
 * `kind` of error can be asked with error_kind. Strings are counted UTF-8; `path` and keys too. Handles and values may be used from
 * any thread; calls on one config or one binding must not overlap. Nothing here prints, exits, throws or changes
 * process-wide state.
 *
 * A pointer may be NULL only where its comment says so; elsewhere NULL gives TENON_INVALID_ARGUMENT (the functions that
 * release, count or read a value take NULL and do nothing). `struct_size` of a struct that is given must be set. A text that
 * does not fit into tenon_error ends in "... [cut: N bytes in all]".
 *
 * fork(): sessions and slots belong to the process that made them. In a child, functions given one of its parent's fail with
 * TENON_FAILED_PRECONDITION at once, and releasing it does nothing; sessions that the child makes work.
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
typedef struct tenon_slots tenon_slots;   /* inputs and outputs bound to memory: the shortest way to run */
typedef struct tenon_cancel tenon_cancel; /* one flag that stops Runs */
typedef struct tenon_text tenon_text;     /* owned text, mostly JSON */

/* What kind of failure a tenon_error tells; see docs/errors.md. */
enum {
  TENON_ERROR_NONE = 0,
  TENON_ERROR_INVALID_MODEL = 1,
  TENON_ERROR_UNSUPPORTED = 2,
  TENON_ERROR_LIMIT = 3,
  TENON_ERROR_PROVIDER_MISSING = 4,
  TENON_ERROR_PROVIDER_REFUSED = 5,
  TENON_ERROR_DEVICE = 6,
  TENON_ERROR_MEMORY = 7,
  TENON_ERROR_CANCELLED = 8,
  TENON_ERROR_DEADLINE = 9,
  TENON_ERROR_INVALID_INPUT = 10,
  TENON_ERROR_CONFIG = 11,
  TENON_ERROR_INTERNAL = 12
};

/* An input or output of a model. Strings and arrays live as long as the session. */
typedef struct tenon_io_info {
  uint32_t struct_size;
  uint32_t kind;  /* TENON_KIND_x */
  uint32_t dtype; /* of the tensor or its innermost element */
  int32_t rank;   /* TENON_RANK_UNKNOWN */
  tenon_str name;
  const int64_t* dims;        /* TENON_DIM_UNKNOWN where not fixed */
  const tenon_str* dim_names; /* "" where unnamed */
  tenon_str type_text;        /* "float32[N,3,224,224]", "seq(map(int64,float32[]))" */
  uint32_t has_default;       /* an input that may be left out */
  uint32_t reserved;
} tenon_io_info;

typedef struct tenon_named_value {
  tenon_str name;
  tenon_value* value;
} tenon_named_value;

enum {
  /* Every value that a node of the model's graph makes is an output too, under its name, in topological order behind the
   * model's own outputs: for looking inside. Slower, and fusions across such values are not made. */
  TENON_SESSION_ALL_VALUES = 1u
};

typedef struct tenon_session_options {
  uint32_t struct_size;
  uint32_t flags; /* TENON_SESSION_x */
  /* Called from the creating thread with a fraction in [0, 1] and a word for the stage ("read", "compile", ...); a return
   * other than 0 cancels. May be NULL. */
  int32_t (*progress)(void* context, double fraction, tenon_str stage);
  void* progress_context;
} tenon_session_options;

typedef struct tenon_run_options {
  uint32_t struct_size;
  uint32_t reserved;
  int64_t deadline_ns;    /* from now; 0: none */
  tenon_cancel* cancel;   /* may be NULL */
  tenon_text** out_trace; /* not NULL: receives Chrome trace JSON of this Run, one event per step and copy */
} tenon_run_options;

enum {
  TENON_DESCRIBE_EXPLAIN = 1, /* node by node: provider, reasons of declines, partitions, copies */
  TENON_DESCRIBE_PLAN = 2,    /* the plans made so far: steps, memory */
  TENON_DESCRIBE_MODEL = 3    /* inputs, outputs, opsets, operators, size, metadata */
};

typedef void (*tenon_free_fn)(void* context);
/* `level`: TENON_LOG_x. `provider`: "cuda 1.4.0", or empty when the runtime itself speaks. `code`: a word for programs. */
typedef void (*tenon_log_fn)(void* context, uint32_t level, tenon_str provider, tenon_str code,
                             tenon_str message);

typedef struct tenon_api {
  uint32_t struct_size;
  uint32_t version;

  tenon_str (*runtime_version)(void);
  /* TENON_ERROR_x of the last failure described by `error`. */
  uint32_t (*error_kind)(const tenon_error* error);

  tenon_str (*text_get)(const tenon_text* text); /* borrowed until text_release */
  void (*text_release)(tenon_text* text);

  /* Config: starts with the built-in values, the system's, the user's and the environment's layers, and the file named by
   * `path` or, when that is empty, by TENON_CONFIG. Errors name file, line and the nearest valid name. */
  tenon_status (*config_create)(tenon_str path, tenon_config** out_config, tenon_error* error);
  void (*config_release)(tenon_config* config);
  /* One key of the highest layer: config_set(c, "select.order", "[\"cpu\"]", ...). The value is TOML. `source` is what
   * messages and config_describe call its origin, such as a command's flag; empty: "config_set". */
  tenon_status (*config_set)(tenon_config* config, tenon_str key, tenon_str value, tenon_str source,
                             tenon_error* error);
  /* JSON: {"key": {"value": ..., "origin": "file:line" | "default" | ...}}. */
  tenon_status (*config_describe)(const tenon_config* config, tenon_text** out_json, tenon_error* error);

  /* JSON array of every manifest found under `config` (NULL: as config_create("")): verdict, refusal code, reason, cure, place,
   * version, devices, options. `deep`: 0 runs no code of a provider, 1 scans libraries for which no answer of an earlier scan is
   * kept, 2 scans them all, whatever is kept. */
  tenon_status (*providers_describe)(const tenon_config* config, uint32_t deep, tenon_text** out_json,
                                     tenon_error* error);
  /* Makes a manifest known to this process (search place 0). */
  tenon_status (*provider_register)(tenon_str manifest_path, tenon_error* error);

  /* `config` (NULL: defaults) and `options` (may be NULL) are copied. */
  tenon_status (*session_create)(tenon_str model_path, const tenon_config* config,
                                 const tenon_session_options* options, tenon_session** out_session,
                                 tenon_error* error);
  /* `keep` 0: the bytes are copied and may go after this call. Other than 0: they are not copied, and the caller leaves
   * them where they are, unchanged, until the session is released. */
  tenon_status (*session_create_from_memory)(const void* data, uint64_t size, uint32_t keep,
                                             tenon_str directory, const tenon_config* config,
                                             const tenon_session_options* options,
                                             tenon_session** out_session, tenon_error* error);
  void (*session_release)(tenon_session* session);
  uint32_t (*session_input_count)(const tenon_session* session);
  uint32_t (*session_output_count)(const tenon_session* session);
  tenon_status (*session_input)(const tenon_session* session, uint32_t index, tenon_io_info* out_info);
  tenon_status (*session_output)(const tenon_session* session, uint32_t index, tenon_io_info* out_info);
  tenon_status (*session_describe)(const tenon_session* session, uint32_t what, tenon_text** out_json,
                                   tenon_error* error);

  /* Values. Makers give one count; value_release gives it back. */
  tenon_status (*value_make_tensor)(uint32_t dtype, uint32_t rank, const int64_t* dims,
                                    tenon_value** out_value, void** out_data, tenon_error* error);
  /* Refers to the caller's dense host memory; `free_fn` (may be NULL) runs when the last count goes. */
  tenon_status (*value_wrap)(const tenon_tensor* tensor, tenon_free_fn free_fn, void* free_context,
                             tenon_value** out_value, tenon_error* error);
  tenon_status (*value_make_strings)(uint32_t rank, const int64_t* dims, const int64_t* offsets,
                                     const char* bytes, tenon_value** out_value, tenon_error* error);
  /* A sequence, optional or map of other values, nested at most 64 deep. */
  tenon_status (*value_make)(uint32_t kind, uint32_t dtype, tenon_value* const* elements, uint64_t n,
                             tenon_value** out_value, tenon_error* error);
  void (*value_retain)(tenon_value* value);
  void (*value_release)(tenon_value* value);
  uint32_t (*value_kind)(const tenon_value* value);
  uint64_t (*value_size)(const tenon_value* value);
  tenon_value* (*value_element)(const tenon_value* value, uint64_t index);
  tenon_status (*value_tensor)(const tenon_value* value, tenon_tensor* out_tensor);
  /* ONNX test-case files. `like` says what the file holds when it is no tensor; it may be NULL. */
  tenon_status (*value_read_pb)(tenon_str path, const tenon_io_info* like, tenon_value** out_value,
                                tenon_error* error);
  tenon_status (*value_write_pb)(tenon_str path, tenon_str name, const tenon_value* value,
                                 tenon_error* error);

  tenon_status (*cancel_create)(tenon_cancel** out_cancel);
  void (*cancel_trigger)(tenon_cancel* cancel);
  void (*cancel_release)(tenon_cancel* cancel);

  /* Runs by name. `output_names` (output_count of them; 0: all, in the model's order) choose the outputs; out_outputs
   * has room for as many and receives one count of each. A NULL entry there is allocated; a value given there that fits is
   * written in place. Thread-safe. */
  tenon_status (*run)(tenon_session* session, const tenon_run_options* options,
                      const tenon_named_value* inputs, uint32_t input_count, const tenon_str* output_names,
                      uint32_t output_count, tenon_value** out_outputs, tenon_error* error);

  /* Slots: bind once, run often; no allocation and no lookup in slots_run when shapes do not change. Memory bound stays
   * the caller's and must outlive the slots or the next bind. An output that is not bound is allocated by the slots and is
   * overwritten by their next Run. */
  tenon_status (*slots_create)(tenon_session* session, tenon_slots** out_slots, tenon_error* error);
  void (*slots_release)(tenon_slots* slots);
  tenon_status (*slots_bind_input)(tenon_slots* slots, uint32_t index, const tenon_tensor* tensor,
                                   tenon_error* error);
  tenon_status (*slots_bind_output)(tenon_slots* slots, uint32_t index, const tenon_tensor* tensor,
                                    tenon_error* error);
  tenon_status (*slots_run)(tenon_slots* slots, const tenon_run_options* options, tenon_error* error);
  tenon_status (*slots_output)(tenon_slots* slots, uint32_t index, tenon_tensor* out_tensor,
                               tenon_error* error);

  /* The transformed model as ONNX. */
  tenon_status (*model_optimize)(tenon_str model_path, const tenon_config* config, tenon_str out_path,
                                 tenon_error* error);
  /* TENON_DESCRIBE_MODEL without a session, so without providers. */
  tenon_status (*model_describe)(tenon_str model_path, const tenon_config* config, tenon_text** out_json,
                                 tenon_error* error);

  /* The JSON Schema (draft 2020-12) of the config file, for editors: type, default and meaning of every key. */
  tenon_status (*config_schema)(tenon_text** out_json, tenon_error* error);
  /* Quarantined libraries as JSON; `remove_hash` not empty: takes one out. */
  tenon_status (*quarantine_describe)(tenon_str remove_hash, tenon_text** out_json, tenon_error* error);

  /* Where this process's log lines go from now on, those of providers and those of the runtime, such as FALLBACK when
   * a device is lost and a Run repeated; NULL: nowhere, the default. Called from any thread. */
  void (*log_set)(tenon_log_fn fn, void* context);

  /* Tries `config` (NULL: as config_create("")) out without a model: providers are chosen and loaded, devices opened. JSON:
   * {"errors": [what a session would end with, all of it], "warnings": [what has no effect], "instances": [who would be asked]}. */
  tenon_status (*config_check)(const tenon_config* config, tenon_text** out_json, tenon_error* error);
} tenon_api;

/* NULL when `version` is newer than the library. The table lives as long as the library. */
TENON_API_EXPORT const tenon_api* tenon_get_api(uint32_t version);

#ifdef __cplusplus
}
#endif
#endif /* TENON_H_ */
