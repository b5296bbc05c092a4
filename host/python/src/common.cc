// Failures, texts, deferred work and the log.
#include "host/python/src/common.h"

#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace tenon::python {

Globals g;
std::atomic<Later*> later_list;

bool utf8(PyObject* text, const char* what, tenon_str* out) {
  Py_ssize_t size = 0;
  if (!PyUnicode_Check(text)) {
    PyErr_Format(PyExc_TypeError, "%s must be a str, not %R", what, Py_TYPE(text));
    return false;
  }
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) return false;
  *out = str_of(data, size);
  return true;
}

PyObject* path_bytes(PyObject* path) {
  PyObject* out = nullptr;
  return PyUnicode_FSConverter(path, &out) ? out : nullptr;
}

namespace {

// Raises `exception`, whose reference it takes; returns NULL.
PyObject* throw_it(PyObject* exception) {
  if (exception == nullptr) return nullptr;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
  Py_DECREF(exception);
  return nullptr;
}

// A part of what an error says, or None.
PyObject* part_of(const tenon_error& error, uint32_t part) {
  const tenon_str text = g.api->error_part(&error, part);
  return text.size != 0 ? unicode(text) : Py_NewRef(Py_None);
}

}  // namespace

PyObject* raise(tenon_status status, const tenon_error& error) {
  const int32_t code = error.code != 0 ? error.code : status;
  return throw_it(PyObject_CallFunction(
      g.make_error, "IiIss(NNNNNNN)", g.api->error_kind(&error), code, error.flags, error.where,
      error.message, part_of(error, TENON_ERROR_PART_MODEL), part_of(error, TENON_ERROR_PART_NODE),
      part_of(error, TENON_ERROR_PART_OPERATOR), part_of(error, TENON_ERROR_PART_PROVIDER),
      part_of(error, TENON_ERROR_PART_REFUSAL), part_of(error, TENON_ERROR_PART_CAUSE),
      part_of(error, TENON_ERROR_PART_CURE)));
}

PyObject* raise_misuse(const char* format, ...) {
  va_list args;
  va_start(args, format);
  PyObject* message = PyUnicode_FromFormatV(format, args);
  va_end(args);
  if (message == nullptr) return nullptr;
  PyObject* exception = PyObject_CallFunction(g.make_error, "IiIsO()", TENON_FAILURE_INVALID_INPUT,
                                              TENON_INVALID_ARGUMENT, 0u, "", message);
  Py_DECREF(message);
  return throw_it(exception);
}

void later(Later* work) {
  work->next = later_list.load(std::memory_order_relaxed);
  while (!later_list.compare_exchange_weak(work->next, work, std::memory_order_release,
                                           std::memory_order_relaxed)) {
  }
}

void run_later() {
  Later* work = later_list.exchange(nullptr, std::memory_order_acquire);
  while (work != nullptr) {
    Later* next = work->next;
    work->run(work);
    work = next;
  }
}

namespace {
std::atomic<bool> ending;
std::atomic<int> calls;  // that are under way
}  // namespace

Lock::Lock() {
  calls.fetch_add(1);
  held_ = !ending.load();
  if (held_) state_ = PyGILState_Ensure();
}

Lock::~Lock() {
  if (held_) PyGILState_Release(state_);
  calls.fetch_sub(1);
}

PyObject* finish(PyObject*, PyObject*) {
  ending.store(true);
  for (int tries = 0; calls.load() != 0 && tries < 5000; ++tries) {
    PyThreadState* const saved = PyEval_SaveThread();
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
    PyEval_RestoreThread(saved);
  }
  Py_RETURN_NONE;
}

Log* new_log() {
  Log* log = static_cast<Log*>(std::malloc(sizeof(Log)));
  if (log == nullptr) {
    PyErr_NoMemory();
    return nullptr;
  }
  new (&log->count) std::atomic<int>(1);
  new (&log->lines) std::atomic<LogLine*>(nullptr);
  return log;
}

void keep(Log* log) { log->count.fetch_add(1, std::memory_order_relaxed); }

void release(Log* log) {
  if (log == nullptr || log->count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  LogLine* line = log->lines.load(std::memory_order_relaxed);
  while (line != nullptr) {
    LogLine* next = line->next;
    std::free(line);
    line = next;
  }
  std::free(log);
}

void log_line(void* context, uint32_t level, tenon_str provider, tenon_str code, tenon_str message) {
  Log* log = static_cast<Log*>(context);
  const size_t size = provider.size + code.size + message.size;
  LogLine* line = static_cast<LogLine*>(std::malloc(sizeof(LogLine) + size));
  if (line == nullptr) return;
  line->level = level;
  line->provider_size = static_cast<uint32_t>(provider.size);
  line->code_size = static_cast<uint32_t>(code.size);
  line->message_size = static_cast<uint32_t>(message.size);
  char* end = line->text;
  for (const tenon_str part : {provider, code, message}) {
    if (part.size != 0) std::memcpy(end, part.data, part.size);
    end += part.size;
  }
  line->next = log->lines.load(std::memory_order_relaxed);
  while (!log->lines.compare_exchange_weak(line->next, line, std::memory_order_release,
                                           std::memory_order_relaxed)) {
  }
}

bool report(Log* log) {
  if (log->lines.load(std::memory_order_relaxed) == nullptr) return true;
  LogLine* newest = log->lines.exchange(nullptr, std::memory_order_acquire);
  LogLine* line = nullptr;  // the oldest first
  while (newest != nullptr) {
    LogLine* next = newest->next;
    newest->next = line;
    line = newest;
    newest = next;
  }
  bool ok = true;
  while (line != nullptr) {
    LogLine* next = line->next;
    if (ok) {
      const char* provider = line->text;
      const char* code = provider + line->provider_size;
      const char* message = code + line->code_size;
      PyObject* done =
          PyObject_CallFunction(g.log, "Is#s#s#", line->level, provider, Py_ssize_t{line->provider_size},
                                code, Py_ssize_t{line->code_size}, message, Py_ssize_t{line->message_size});
      ok = done != nullptr;
      Py_XDECREF(done);
    }
    std::free(line);
    line = next;
  }
  return ok;
}

PyObject* allocate(PyTypeObject* type) {
  const auto alloc = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  return alloc(type, 0);
}

void free_object(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

}  // namespace tenon::python
