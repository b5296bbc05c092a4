// What a Run gets and gives, taken out of Python objects and made into them.
#include <cstdlib>
#include <cstring>

#include "host/python/src/common.h"

namespace tenon::python {
namespace {

// A count of the value that `object` is as input `name`. NULL with an exception.
tenon_value* input_value(SessionObject* session, PyObject* name, PyObject* object) {
  for (int tries = 0; tries < 2; ++tries) {
    if (PyObject_TypeCheck(object, g.value_type)) {
      tenon_value* value = reinterpret_cast<ValueObject*>(object)->value;
      g.api->value_retain(value);
      return value;
    }
    if (reinterpret_cast<PyObject*>(Py_TYPE(object)) == g.ndarray) {
      tenon_value* value = wrap_array(object, 0, false, true);
      if (value != nullptr || PyErr_Occurred()) return value;
    }
    if (tries != 0) break;
    object = PyObject_CallFunctionObjArgs(session->convert, name, object, nullptr);
    if (object == nullptr) return nullptr;
  }
  // `convert` gives a Value or an array that wrap_array takes.
  PyErr_Format(PyExc_TypeError, "input '%U' cannot be made of %R", name, Py_TYPE(object));
  return nullptr;
}

bool take_inputs(SessionObject* session, PyObject* feeds, RunValues* out) {
  if (!PyDict_Check(feeds)) {
    PyErr_Format(PyExc_TypeError, "the inputs must be a dict of names, not %R", Py_TYPE(feeds));
    return false;
  }
  const size_t count = static_cast<size_t>(PyDict_Size(feeds)) + 1;
  out->inputs = static_cast<tenon_named_value*>(PyMem_Calloc(count, sizeof(tenon_named_value)));
  out->keys = static_cast<PyObject**>(PyMem_Calloc(count, sizeof(PyObject*)));
  if (out->inputs == nullptr || out->keys == nullptr) {
    PyErr_NoMemory();
    return false;
  }
  Py_ssize_t position = 0;
  PyObject *name, *object;
  // Conversions may run code of the user, which may change the dict; count - 1 bounds what is read then.
  while (out->input_count + 1 < count && PyDict_Next(feeds, &position, &name, &object)) {
    if (object == Py_None) continue;  // an optional input that is not given
    tenon_named_value& input = out->inputs[out->input_count];
    if (!utf8(name, "the name of an input", &input.name)) return false;
    out->keys[out->input_count] = Py_NewRef(name);
    ++out->input_count;
    Py_INCREF(object);
    input.value = input_value(session, name, object);
    Py_DECREF(object);
    if (input.value == nullptr) return false;
  }
  return true;
}

// The memory for output `i` that the caller gives: a Value or a writable array.
bool take_output(PyObject* object, tenon_value** out) {
  if (object == Py_None) return true;
  if (PyObject_TypeCheck(object, g.value_type)) {
    *out = reinterpret_cast<ValueObject*>(object)->value;
    g.api->value_retain(*out);
    return true;
  }
  *out = wrap_array(object, 0, true, false);
  return *out != nullptr;
}

}  // namespace

bool take_values(SessionObject* session, PyObject* feeds, PyObject* chosen, PyObject* into, RunValues* out) {
  out->output_count = session->output_count;
  if (chosen != Py_None) {
    out->chosen = PySequence_Tuple(chosen);
    if (out->chosen == nullptr) return false;
    const size_t count = static_cast<size_t>(PyTuple_Size(out->chosen));
    out->names = static_cast<tenon_str*>(PyMem_Calloc(count + 1, sizeof(tenon_str)));
    if (out->names == nullptr) {
      PyErr_NoMemory();
      return false;
    }
    for (size_t i = 0; i < count; ++i) {
      PyObject* name = PyTuple_GetItem(out->chosen, static_cast<Py_ssize_t>(i));
      if (!utf8(name, "the name of an output", &out->names[i])) return false;
    }
    out->output_count = static_cast<uint32_t>(count);
    if (count == 0) {  // all outputs, as None
      Py_CLEAR(out->chosen);
      out->output_count = session->output_count;
    }
  }
  out->outputs =
      static_cast<tenon_value**>(PyMem_Calloc(out->output_count + size_t{1}, sizeof(tenon_value*)));
  if (out->outputs == nullptr) {
    PyErr_NoMemory();
    return false;
  }
  if (!take_inputs(session, feeds, out)) return false;
  if (into == Py_None) return true;
  const Py_ssize_t given = PySequence_Size(into);
  if (given < 0) return false;
  if (given != static_cast<Py_ssize_t>(out->output_count)) {
    raise_misuse("memory is given for %zd outputs, and %u are chosen", given, out->output_count);
    return false;
  }
  for (Py_ssize_t i = 0; i < given; ++i) {
    PyObject* object = PySequence_GetItem(into, i);
    const bool ok = object != nullptr && take_output(object, &out->outputs[i]);
    Py_XDECREF(object);
    if (!ok) return false;
  }
  return true;
}

void drop_values(RunValues* values) {
  for (uint32_t i = 0; i < values->input_count; ++i) {
    g.api->value_release(values->inputs[i].value);
    Py_XDECREF(values->keys[i]);
  }
  for (uint32_t i = 0; values->outputs != nullptr && i < values->output_count; ++i)
    g.api->value_release(values->outputs[i]);
  PyMem_Free(values->inputs);
  PyMem_Free(values->keys);
  PyMem_Free(values->names);
  PyMem_Free(values->outputs);
  Py_XDECREF(values->chosen);
  *values = RunValues{};
  tidy();
}

PyObject* outputs_of(RunValues* values) {
  PyObject* out = PyList_New(values->output_count);
  for (uint32_t i = 0; out != nullptr && i < values->output_count; ++i) {
    tenon_value* value = values->outputs[i];
    values->outputs[i] = nullptr;
    // A constant of the model: the caller gets memory of his own, as for other outputs.
    tenon_value* copied = nullptr;
    if (g.api->value_is_read_only(value) != 0 && g.api->value_copy(value, &copied, nullptr) == TENON_OK) {
      g.api->value_release(value);
      value = copied;
    }
    PyObject* item = to_python(value);
    if (item == nullptr) {
      Py_CLEAR(out);
      break;
    }
    PyList_SetItem(out, i, item);
  }
  return out;
}

bool take_options(SessionObject* session, PyObject* const* args, RunOptions* out) {
  out->options = tenon_run_options{};
  out->options.struct_size = sizeof(out->options);
  out->options.deadline_ns = PyLong_AsLongLong(args[0]);
  if (out->options.deadline_ns == -1 && PyErr_Occurred()) return false;
  out->cancel = args[1];
  out->state = args[2];
  if (out->cancel != Py_None) {
    if (!PyObject_TypeCheck(out->cancel, g.cancel_type)) {
      PyErr_Format(PyExc_TypeError, "cancel must be a tenon.Cancel, not %R", Py_TYPE(out->cancel));
      return false;
    }
    out->options.cancel = reinterpret_cast<CancelObject*>(out->cancel)->cancel;
  }
  if (out->state != Py_None) {
    if (!PyObject_TypeCheck(out->state, g.state_type)) {
      PyErr_Format(PyExc_TypeError, "state must be a tenon.State, not %R", Py_TYPE(out->state));
      return false;
    }
    if (reinterpret_cast<StateObject*>(out->state)->session != session) {
      raise_misuse("the state belongs to another session");
      return false;
    }
    out->options.state = reinterpret_cast<StateObject*>(out->state)->state;
  }
  const unsigned long flags = PyLong_AsUnsignedLong(args[3]);
  if (PyErr_Occurred()) return false;
  out->options.flags = static_cast<uint32_t>(flags);
  return true;
}

}  // namespace tenon::python
