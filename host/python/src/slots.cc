// Slots: inputs and outputs that are bound once and run often.
#include "host/python/src/common.h"

namespace tenon::python {
namespace {

struct SlotsObject {
  PyObject ob_base;
  SessionObject* session;
  tenon_slots* slots;
  Py_buffer* outputs;  // the caller's memory for each output; `obj` is NULL where there is none
  bool busy;           // another thread uses it
};
SlotsObject* self_of(PyObject* self) { return reinterpret_cast<SlotsObject*>(self); }

bool take(SlotsObject* self) {
  if (self->busy) {
    raise_misuse("another thread uses this binding; make one for each thread");
    return false;
  }
  return usable(self->session);
}

PyObject* slots_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* session;
  if (!PyArg_ParseTuple(args, "O!", g.session_type, &session)) return nullptr;
  SessionObject* owner = reinterpret_cast<SessionObject*>(session);
  if (!usable(owner)) return nullptr;
  PyObject* object = allocate(type);
  if (object == nullptr) return nullptr;
  SlotsObject* self = self_of(object);
  self->session = reinterpret_cast<SessionObject*>(Py_NewRef(session));
  self->outputs = static_cast<Py_buffer*>(PyMem_Calloc(owner->output_count + size_t{1}, sizeof(Py_buffer)));
  tenon_error error = new_error();
  const tenon_status status = g.api->slots_create(owner->session, &self->slots, &error);
  if (status == TENON_OK && self->outputs != nullptr) return object;
  Py_DECREF(object);
  return status != TENON_OK ? raise(status, error) : PyErr_NoMemory();
}

void slots_dealloc(PyObject* object) {
  SlotsObject* self = self_of(object);
  if (self->slots != nullptr) g.api->slots_release(self->slots);
  for (uint32_t i = 0; self->outputs != nullptr && i < self->session->output_count; ++i)
    PyBuffer_Release(&self->outputs[i]);
  PyMem_Free(self->outputs);
  Py_XDECREF(reinterpret_cast<PyObject*>(self->session));
  tidy();
  free_object(object);
}

// (index, Value)
PyObject* slots_bind_input(PyObject* object, PyObject* args) {
  SlotsObject* self = self_of(object);
  unsigned int index = 0;
  PyObject* value;
  if (!PyArg_ParseTuple(args, "IO!", &index, g.value_type, &value) || !take(self)) return nullptr;
  tenon_error error = new_error();
  const tenon_status status =
      g.api->slots_bind_value(self->slots, index, reinterpret_cast<ValueObject*>(value)->value, &error);
  tidy();
  if (status != TENON_OK) return raise(status, error);
  Py_RETURN_NONE;
}

// (index, a writable contiguous array, dtype, dims)
PyObject* slots_bind_output(PyObject* object, PyObject* args) {
  SlotsObject* self = self_of(object);
  unsigned int index = 0, dtype = 0;
  PyObject *array, *shape;
  if (!PyArg_ParseTuple(args, "IOIO", &index, &array, &dtype, &shape) || !take(self)) return nullptr;
  if (index >= self->session->output_count) return raise_misuse("the model has no output %u", index);
  int64_t dims[TENON_EP_MAX_RANK];
  const int rank = dims_of(shape, dims);
  if (rank < 0) return nullptr;
  Py_buffer view;
  if (PyObject_GetBuffer(array, &view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) != 0) return nullptr;
  tenon_tensor tensor{};
  tensor.kind = TENON_KIND_TENSOR;
  tensor.dtype = dtype;
  tensor.rank = static_cast<uint32_t>(rank);
  tensor.dims = dims;
  tensor.data = view.len != 0 ? view.buf : nullptr;
  tensor.byte_size = static_cast<uint64_t>(view.len);
  tenon_error error = new_error();
  const tenon_status status = g.api->slots_bind_output(self->slots, index, &tensor, &error);
  if (status != TENON_OK) {
    PyBuffer_Release(&view);
    return raise(status, error);
  }
  PyBuffer_Release(&self->outputs[index]);
  self->outputs[index] = view;
  Py_RETURN_NONE;
}

// (index, keep): the output stays where it is made, or is in host memory.
PyObject* slots_keep_output(PyObject* object, PyObject* args) {
  SlotsObject* self = self_of(object);
  unsigned int index = 0, keep = 0;
  if (!PyArg_ParseTuple(args, "II", &index, &keep) || !take(self)) return nullptr;
  tenon_error error = new_error();
  const tenon_status status = g.api->slots_keep_output(self->slots, index, keep, &error);
  if (status != TENON_OK) return raise(status, error);
  PyBuffer_Release(&self->outputs[index]);
  Py_RETURN_NONE;
}

// (timeout_ns, cancel, state, flags)
PyObject* slots_run(PyObject* object, PyObject* const* args, Py_ssize_t count) {
  SlotsObject* self = self_of(object);
  if (count != 4) {
    PyErr_SetString(PyExc_TypeError, "run takes 4 arguments");
    return nullptr;
  }
  RunOptions options;
  if (!take(self) || !take_options(self->session, args, &options)) return nullptr;
  tenon_error error = new_error();
  tenon_status status;
  self->busy = true;
  enter(self->session);
  PyThreadState* const saved = PyEval_SaveThread();
  status = g.api->slots_run(self->slots, &options.options, &error);
  PyEval_RestoreThread(saved);
  leave(self->session);
  self->busy = false;
  tidy();
  const bool reported = report(self->session->log);
  if (status != TENON_OK) {
    PyErr_Clear();
    return raise(status, error);
  }
  if (!reported) return nullptr;
  Py_RETURN_NONE;
}

// (index): the output of the last Run, as an object for users; later Runs do not change it.
PyObject* slots_output(PyObject* object, PyObject* args) {
  SlotsObject* self = self_of(object);
  unsigned int index = 0;
  if (!PyArg_ParseTuple(args, "I", &index) || !take(self)) return nullptr;
  tenon_value* value = nullptr;
  tenon_error error = new_error();
  const tenon_status status = g.api->slots_output_value(self->slots, index, &value, &error);
  return status == TENON_OK ? to_python(value) : raise(status, error);
}

PyMethodDef slots_methods[] = {{"bind_input", slots_bind_input, METH_VARARGS, nullptr},
                               {"bind_output", slots_bind_output, METH_VARARGS, nullptr},
                               {"keep_output", slots_keep_output, METH_VARARGS, nullptr},
                               {"run", fast(slots_run), METH_FASTCALL, nullptr},
                               {"output", slots_output, METH_VARARGS, nullptr},
                               {}};
PyType_Slot slots_slots[] = {{Py_tp_new, slot(slots_new)},
                             {Py_tp_dealloc, slot(slots_dealloc)},
                             {Py_tp_methods, slots_methods},
                             {0, nullptr}};

}  // namespace

PyType_Spec slots_spec = {"tenon._tenon.Slots", sizeof(SlotsObject), 0, Py_TPFLAGS_DEFAULT, slots_slots};

}  // namespace tenon::python
