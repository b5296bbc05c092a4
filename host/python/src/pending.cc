// Runs that were submitted, and the way in which an event loop hears of their end.
#include <unistd.h>

#include <cstdlib>

#include "host/python/src/common.h"

namespace tenon::python {
namespace {

// What threads of Tenon write to. The file descriptor, an eventfd, wakes the thread that empties the list.
struct Inbox {
  std::atomic<int> count;
  std::atomic<struct Record*> done;
  int fd;
};

void release(Inbox* inbox) {
  if (inbox == nullptr || inbox->count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (inbox->fd >= 0) close(inbox->fd);
  std::free(inbox);
}

// One submitted Run. Owned by its Pending and, until it has ended, by the Run; the last of them gives it to a thread of Python.
struct Record {
  Later later;
  Record* next;
  std::atomic<int> count;
  Inbox* inbox;
  Log* log;
  RunValues values;  // the counts of the inputs are given back on a thread of Python
  PyObject* cancel;
  PyObject* session;
  PyObject* state;
  PyObject* tag;  // what Completions.take gives
};

void destroy(Later* work) {
  Record* record = reinterpret_cast<Record*>(work);
  drop_values(&record->values);
  Py_XDECREF(record->cancel);
  Py_XDECREF(record->state);
  Py_XDECREF(record->session);
  Py_XDECREF(record->tag);
  release(record->log);
  release(record->inbox);
  std::free(record);
}

void release(Record* record) {
  if (record->count.fetch_sub(1, std::memory_order_acq_rel) == 1) later(&record->later);
}

// On a thread of Tenon.
void on_done(void* context, tenon_status, tenon_value* const*, uint32_t, const tenon_error*) {
  Record* record = static_cast<Record*>(context);
  Inbox* inbox = record->inbox;
  if (inbox == nullptr) return release(record);
  inbox->count.fetch_add(1, std::memory_order_relaxed);
  record->next = inbox->done.load(std::memory_order_relaxed);
  while (!inbox->done.compare_exchange_weak(record->next, record, std::memory_order_release,
                                            std::memory_order_relaxed)) {
  }
  const uint64_t one = 1;
  while (write(inbox->fd, &one, sizeof(one)) < 0) {
    break;  // the counter is full, so the thread wakes anyway
  }
  release(inbox);
}

// ---- Pending ----

struct PendingObject {
  PyObject ob_base;
  tenon_pending* pending;
  Record* record;
  SessionObject* session;
  uint32_t output_count;
};
PendingObject* pending_of(PyObject* self) { return reinterpret_cast<PendingObject*>(self); }

void pending_dealloc(PyObject* object) {
  PendingObject* self = pending_of(object);
  if (self->pending != nullptr) g.api->pending_release(self->pending);
  if (self->record != nullptr) release(self->record);
  Py_XDECREF(reinterpret_cast<PyObject*>(self->session));
  tidy();
  free_object(object);
}

// (timeout_ns) -> is it over; the failure of the Run is raised
PyObject* pending_wait(PyObject* object, PyObject* args) {
  PendingObject* self = pending_of(object);
  long long left = 0;
  if (!PyArg_ParseTuple(args, "L", &left)) return nullptr;
  constexpr long long kSlice = 50'000'000;  // so that signals, such as that of Control-C, are noticed
  while (true) {
    const long long slice = left < 0 || left > kSlice ? kSlice : left;
    uint32_t is_over = 0;
    tenon_error error = new_error();
    tenon_status status;
    PyThreadState* const saved = PyEval_SaveThread();
    status = g.api->pending_wait(self->pending, slice, &is_over, &error);
    PyEval_RestoreThread(saved);
    tidy();
    if (is_over != 0 || status != TENON_OK) {
      const bool reported = report(self->session->log);
      if (status != TENON_OK) {
        PyErr_Clear();
        return raise(status, error);
      }
      if (!reported) return nullptr;
      Py_RETURN_TRUE;
    }
    if (left >= 0) left -= slice;
    if (left == 0) Py_RETURN_FALSE;
    if (PyErr_CheckSignals() != 0) return nullptr;
  }
}

PyObject* pending_outputs(PyObject* object, PyObject*) {
  PendingObject* self = pending_of(object);
  PyObject* out = PyList_New(self->output_count);
  for (uint32_t i = 0; out != nullptr && i < self->output_count; ++i) {
    tenon_value* value = nullptr;
    tenon_error error = new_error();
    const tenon_status status = g.api->pending_output(self->pending, i, &value, &error);
    PyObject* item = status == TENON_OK ? to_python(value) : raise(status, error);
    if (item == nullptr) {
      Py_CLEAR(out);
      break;
    }
    PyList_SetItem(out, i, item);
  }
  return out;
}

PyObject* pending_cancel(PyObject* object, PyObject*) {
  g.api->pending_cancel(pending_of(object)->pending);
  Py_RETURN_NONE;
}

PyMethodDef pending_methods[] = {{"wait", pending_wait, METH_VARARGS, nullptr},
                                 {"outputs", pending_outputs, METH_NOARGS, nullptr},
                                 {"cancel", pending_cancel, METH_NOARGS, nullptr},
                                 {}};
PyType_Slot pending_slots[] = {
    {Py_tp_dealloc, slot(pending_dealloc)}, {Py_tp_methods, pending_methods}, {0, nullptr}};

// ---- Completions ----

struct CompletionsObject {
  PyObject ob_base;
  Inbox* inbox;
};
CompletionsObject* completions_of(PyObject* self) { return reinterpret_cast<CompletionsObject*>(self); }

// (eventfd), which the object owns from now on
PyObject* completions_new(PyTypeObject* type, PyObject* args, PyObject*) {
  int fd = -1;
  if (!PyArg_ParseTuple(args, "i", &fd)) return nullptr;
  PyObject* self = allocate(type);
  if (self == nullptr) return nullptr;
  Inbox* inbox = static_cast<Inbox*>(std::malloc(sizeof(Inbox)));
  if (inbox == nullptr) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  new (&inbox->count) std::atomic<int>(1);
  new (&inbox->done) std::atomic<Record*>(nullptr);
  inbox->fd = fd;
  completions_of(self)->inbox = inbox;
  return self;
}

// The tags of the Runs that have ended since the last call.
PyObject* completions_take(PyObject* self, PyObject*) {
  Record* record = completions_of(self)->inbox->done.exchange(nullptr, std::memory_order_acquire);
  PyObject* out = PyList_New(0);
  while (record != nullptr) {
    Record* next = record->next;
    drop_values(&record->values);
    PyObject* tag = record->tag;
    record->tag = nullptr;
    if (tag != nullptr && out != nullptr && PyList_Append(out, tag) != 0) Py_CLEAR(out);
    Py_XDECREF(tag);
    release(record);
    record = next;
  }
  if (out != nullptr) PyList_Reverse(out);
  tidy();
  return out;
}

void completions_dealloc(PyObject* self) {
  Inbox* inbox = completions_of(self)->inbox;
  if (inbox != nullptr) {
    PyObject* rest = completions_take(self, nullptr);
    if (rest == nullptr) PyErr_Clear();
    Py_XDECREF(rest);
    release(inbox);
  }
  free_object(self);
}

PyMethodDef completions_methods[] = {{"take", completions_take, METH_NOARGS, nullptr}, {}};
PyType_Slot completions_slots[] = {{Py_tp_new, slot(completions_new)},
                                   {Py_tp_dealloc, slot(completions_dealloc)},
                                   {Py_tp_methods, completions_methods},
                                   {0, nullptr}};

}  // namespace

PyType_Spec pending_spec = {"tenon._tenon.Pending", sizeof(PendingObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, pending_slots};
PyType_Spec completions_spec = {"tenon._tenon.Completions", sizeof(CompletionsObject), 0, Py_TPFLAGS_DEFAULT,
                                completions_slots};

// (feeds, chosen, into, timeout_ns, cancel, state, flags, completions, tag)
PyObject* session_submit(PyObject* object, PyObject* const* args, Py_ssize_t count) {
  SessionObject* session = reinterpret_cast<SessionObject*>(object);
  if (count != 9) {
    PyErr_SetString(PyExc_TypeError, "submit takes 9 arguments");
    return nullptr;
  }
  if (!usable(session)) return nullptr;
  RunOptions options;
  PendingObject* self = nullptr;
  Record* record = static_cast<Record*>(std::calloc(1, sizeof(Record)));
  if (record == nullptr) return PyErr_NoMemory();
  new (&record->count) std::atomic<int>(1);
  record->later.run = destroy;
  RunValues& values = record->values;
  if (!take_options(session, args + 3, &options) ||
      !take_values(session, args[0], args[1], args[2], &values)) {
    release(record);
    tidy();
    return nullptr;
  }
  record->session = Py_NewRef(object);
  record->cancel = Py_NewRef(options.cancel);
  record->state = Py_NewRef(options.state);
  record->log = session->log;
  keep(record->log);
  if (args[7] != Py_None) {
    record->inbox = completions_of(args[7])->inbox;
    record->inbox->count.fetch_add(1, std::memory_order_relaxed);
    record->tag = Py_NewRef(args[8]);
  }
  self = pending_of(allocate(g.pending_type));
  if (self == nullptr) {
    release(record);
    tidy();
    return nullptr;
  }
  self->session = reinterpret_cast<SessionObject*>(Py_NewRef(object));
  self->output_count = values.output_count;
  self->record = record;
  tenon_error error = new_error();
  record->count.fetch_add(1, std::memory_order_relaxed);  // of on_done
  const tenon_status status =
      g.api->submit(session->session, &options.options, values.inputs, values.input_count, values.names,
                    values.chosen != nullptr ? values.output_count : 0, values.outputs, on_done, record,
                    &self->pending, &error);
  if (status == TENON_OK) return reinterpret_cast<PyObject*>(self);
  release(record);
  Py_DECREF(reinterpret_cast<PyObject*>(self));
  return raise(status, error);
}

}  // namespace tenon::python
