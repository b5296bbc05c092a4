// What the files of the extension module `_tenon` share. The module is a thin layer over tenon.h: classes that own handles, and
// conversions. Everything that users see is in the Python files of the package.
//
// It uses CPython's limited API, so that one binary serves all versions from 3.11 on, and it is compiled without exceptions:
// when the interpreter ends, it may unwind a thread out of PyEval_RestoreThread, and no frame may stop that or run a destructor
// that needs the interpreter. So Python objects are counted by hand, and no function that gives up the interpreter's lock has
// objects with destructors.
//
// Threads of Tenon never take the interpreter's lock, except to call an operator that is written in Python. What they have to
// say goes into lists without locks (Later, Log, Completions), which threads of Python empty.
#ifndef TENON_HOST_PYTHON_COMMON_H_
#define TENON_HOST_PYTHON_COMMON_H_

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <tenon/tenon.h>

#include <atomic>

namespace tenon::python {

// The number of element types of ep.h, 0 included.
inline constexpr uint32_t kTypes = 32;

// What the module knows once. The Python side gives it with `_tenon.setup`.
struct Globals {
  const tenon_api* api;
  PyTypeObject* value_type;
  PyTypeObject* config_type;
  PyTypeObject* session_type;
  PyTypeObject* slots_type;
  PyTypeObject* cancel_type;
  PyTypeObject* state_type;
  PyTypeObject* pending_type;
  PyTypeObject* completions_type;
  PyTypeObject* operators_type;
  PyObject* ndarray;         // numpy.ndarray
  PyObject* dtypes[kTypes];  // by element type; NULL: from_value makes the array
  PyObject* from_value;      // (Value) -> an object for users
  PyObject* make_error;      // (kind, status, flags, where, message, parts) -> an exception
  PyObject* log;             // (level, provider, code, message)
  PyObject* stash;           // (exception) -> its text; keeps it for the error of the Run
};
extern Globals g;

inline tenon_str str_of(const char* data, Py_ssize_t size) {
  return tenon_str{data, static_cast<uint64_t>(size)};
}
inline PyObject* unicode(tenon_str text) {
  return PyUnicode_DecodeUTF8(text.data, static_cast<Py_ssize_t>(text.size), "replace");
}
// Borrowed from `text`. False with an exception when `text` is not a str.
bool utf8(PyObject* text, const char* what, tenon_str* out);
// Of a str, bytes or os.PathLike: a new reference to bytes.
PyObject* path_bytes(PyObject* path);

// ---- Failures ----

inline tenon_error new_error() {
  tenon_error error{};
  error.struct_size = sizeof(error);
  return error;
}
// Raises the exception of a failed call; returns NULL. `status` counts when `error` was not filled.
PyObject* raise(tenon_status status, const tenon_error& error);
// Raises the exception of a misuse that the extension finds itself.
PyObject* raise_misuse(const char* format, ...);

// ---- Work for a thread that has the interpreter's lock ----

struct Later {
  void (*run)(Later* self);  // owns self
  Later* next;
};
void later(Later* work);  // any thread, without the interpreter's lock
extern std::atomic<Later*> later_list;
void run_later();  // with the lock
inline void tidy() {
  if (later_list.load(std::memory_order_relaxed) != nullptr) run_later();
}

// ---- Calls of Python by the library ----

// The interpreter's lock, if the interpreter still gives it. A thread that waited for it while the interpreter ends would be
// unwound through frames of the library, which are not made for that. `finish` is called before: from then on no call begins.
class Lock {
 public:
  Lock();
  ~Lock();
  bool held() const { return held_; }

 private:
  PyGILState_STATE state_{};
  bool held_;
};
// For atexit: no call begins any more, and those under way end, unless they take more than five seconds.
PyObject* finish(PyObject* module, PyObject* args);

// ---- Lines of the log, kept until a thread of Python asks for them ----

struct LogLine {
  LogLine* next;
  uint32_t level;
  uint32_t provider_size, code_size, message_size;
  char text[1];
};
struct Log {
  std::atomic<int> count;  // of owners
  std::atomic<LogLine*> lines;
};
Log* new_log();
void keep(Log* log);
void release(Log* log);
void log_line(void* log, uint32_t level, tenon_str provider, tenon_str code, tenon_str message);
// Hands the lines to Python. False with an exception when a warning was made an error.
bool report(Log* log);

// ---- Values ----

struct ValueObject {
  PyObject ob_base;
  tenon_value* value;
};
// Takes the count. NULL with an exception.
PyObject* new_value(tenon_value* value);
// Takes the count: an array, list, dict, None, or a Value for a tensor in a device's memory.
PyObject* to_python(tenon_value* value);
// A value that refers to the memory of a contiguous array, which it keeps. `dtype` 0: that of the array. On failure NULL, with
// an exception, or without one when this array has no such form (`quiet`).
tenon_value* wrap_array(PyObject* array, uint32_t dtype, bool writable, bool quiet);
// Dims of a sequence of int; at most TENON_EP_MAX_RANK. -1 with an exception.
int dims_of(PyObject* shape, int64_t* out);
PyObject* dims_tuple(const int64_t* dims, uint32_t rank);
PyObject* tensor_from_dlpack(PyObject* module, PyObject* capsule);
PyObject* make_strings(PyObject* module, PyObject* args);
PyObject* make_value(PyObject* module, PyObject* args);
PyObject* wrap(PyObject* module, PyObject* args);
PyObject* empty(PyObject* module, PyObject* args);
PyObject* read_pb(PyObject* module, PyObject* args);

// ---- Other objects ----

struct ConfigObject {
  PyObject ob_base;
  tenon_config* config;
};
// `object` is None or a Config. False with an exception.
bool config_of(PyObject* object, const tenon_config** out);

struct CancelObject {
  PyObject ob_base;
  tenon_cancel* cancel;
};

struct SessionObject {
  PyObject ob_base;
  tenon_session* session;
  Log* log;
  PyObject* convert;  // (name, object) -> Value or array, for inputs that are not plain arrays
  PyObject* model;    // the bytes that the session refers to, or NULL
  Py_ssize_t active;  // Runs that use `session` now
  uint32_t input_count, output_count;
  bool closed;
};
bool usable(SessionObject* self);  // else an exception
void enter(SessionObject* self);   // before the lock is given up
void leave(SessionObject* self);   // after; releases a session that was closed meanwhile
// (name, kind, dtype, dims, names of dims, text, has_default)
PyObject* io_tuple(const tenon_io_info& info);

struct OperatorsObject {
  PyObject ob_base;
  tenon_operators* operators;
};
struct StateObject {
  PyObject ob_base;
  SessionObject* session;
  tenon_state* state;
};

// The inputs and outputs of one Run.
struct RunValues {
  tenon_named_value* inputs;
  PyObject** keys;
  uint32_t input_count;
  tenon_str* names;
  tenon_value** outputs;
  uint32_t output_count;
  PyObject* chosen;  // a tuple or NULL
};
// `feeds` is a dict, `chosen` a sequence of str or None, `into` None or a sequence of arrays, Values and None. False with an
// exception; drop_values in any case.
bool take_values(SessionObject* session, PyObject* feeds, PyObject* chosen, PyObject* into, RunValues* out);
void drop_values(RunValues* values);
// A list of the outputs, which are taken out of `values`.
PyObject* outputs_of(RunValues* values);

struct RunOptions {
  tenon_run_options options;
  PyObject* cancel;  // borrowed
  PyObject* state;
};
// (timeout_ns, cancel, state, flags)
bool take_options(SessionObject* session, PyObject* const* args, RunOptions* out);

extern PyType_Spec operators_spec, value_spec, config_spec, cancel_spec, session_spec, slots_spec, state_spec,
    pending_spec, completions_spec;
PyObject* session_submit(PyObject* self, PyObject* const* args, Py_ssize_t count);
PyObject* new_pending(SessionObject* session, RunValues* values, const tenon_run_options* options,
                      PyObject* completions, PyObject* tag);
PyObject* providers(PyObject* module, PyObject* args);
PyObject* text_call(PyObject* module, PyObject* args);

// A method that is called with positional arguments only.
using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);
inline PyCFunction fast(Fast function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}
inline void* slot(auto* function) { return reinterpret_cast<void*>(function); }
// Allocates an object whose other members are zero.
PyObject* allocate(PyTypeObject* type);
// Frees an object of a heap type.
void free_object(PyObject* self);

}  // namespace tenon::python
#endif  // TENON_HOST_PYTHON_COMMON_H_
