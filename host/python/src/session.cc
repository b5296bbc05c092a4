// Sessions: a model that is ready to run.
#include "host/python/src/common.h"

#include <cstring>

namespace tenon::python {
namespace {

SessionObject* self_of(PyObject* self) { return reinterpret_cast<SessionObject*>(self); }

void release_now(SessionObject* self) {
  tenon_session* session = self->session;
  if (session == nullptr) return;
  self->session = nullptr;
  PyThreadState* const saved = PyEval_SaveThread();
  g.api->session_release(session);
  PyEval_RestoreThread(saved);
  tidy();
}

void session_dealloc(PyObject* object) {
  SessionObject* self = self_of(object);
  release_now(self);
  release(self->log);
  Py_CLEAR(self->convert);
  Py_CLEAR(self->model);
  free_object(object);
}

PyObject* session_close(PyObject* object, PyObject*) {
  SessionObject* self = self_of(object);
  self->closed = true;
  if (self->active == 0) release_now(self);
  Py_RETURN_NONE;
}

struct Progress {
  PyObject* function;
  bool failed;
};

// Called on the thread that creates the session, which has given up the lock.
int32_t on_progress(void* context, double fraction, tenon_str stage) {
  Progress* progress = static_cast<Progress*>(context);
  const Lock lock;
  if (!lock.held()) return 1;
  PyObject* answer = PyErr_Occurred() ? nullptr
                                      : PyObject_CallFunction(progress->function, "ds#", fraction, stage.data,
                                                              static_cast<Py_ssize_t>(stage.size));
  const bool stop = answer == nullptr || answer == Py_False;
  progress->failed |= answer == nullptr;
  Py_XDECREF(answer);
  return stop ? 1 : 0;
}

PyObject* fail_create(SessionObject* self, const Progress& progress, tenon_status status,
                      const tenon_error& error) {
  (void)report(self->log);  // a warning that was made an error does not hide the failure
  if (!progress.failed) PyErr_Clear();
  Py_DECREF(reinterpret_cast<PyObject*>(self));
  return progress.failed ? nullptr : raise(status, error);
}

// (model: path or buffer, is_path, directory, config, flags, progress, convert, operators)
PyObject* session_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *model, *config_object, *directory, *function, *convert, *operators;
  int is_path = 0;
  unsigned int flags = 0;
  if (!PyArg_ParseTuple(args, "OpOOIOOO", &model, &is_path, &directory, &config_object, &flags, &function,
                        &convert, &operators))
    return nullptr;
  const tenon_config* config = nullptr;
  if (!config_of(config_object, &config)) return nullptr;
  SessionObject* self = self_of(allocate(type));
  if (self == nullptr) return nullptr;
  PyObject* object = reinterpret_cast<PyObject*>(self);
  self->log = new_log();
  self->convert = Py_NewRef(convert);
  PyObject* folder = self->log != nullptr ? path_bytes(directory) : nullptr;
  PyObject* path = folder != nullptr && is_path ? path_bytes(model) : nullptr;
  if (folder == nullptr || (is_path && path == nullptr)) {
    Py_XDECREF(folder);
    Py_DECREF(object);
    return nullptr;
  }
  // Bytes that cannot change are not copied: the session keeps the object instead.
  const bool fixed = !is_path && PyBytes_Check(model);
  Py_buffer view{};
  if (!is_path && PyObject_GetBuffer(model, &view, PyBUF_SIMPLE) != 0) {
    Py_DECREF(folder);
    Py_DECREF(object);
    return nullptr;
  }
  Progress progress{function, false};
  tenon_session_options options{};
  options.struct_size = sizeof(options);
  options.flags = flags;
  options.log = log_line;
  options.log_context = self->log;
  if (operators != Py_None) {
    if (!PyObject_TypeCheck(operators, g.operators_type)) {
      PyErr_Format(PyExc_TypeError, "operators must be a tenon.Operators, not %R", Py_TYPE(operators));
      return nullptr;
    }
    options.operators = reinterpret_cast<OperatorsObject*>(operators)->operators;
  }
  if (function != Py_None) {
    options.progress = on_progress;
    options.progress_context = &progress;
  }
  const tenon_str text = is_path ? str_of(PyBytes_AsString(path), PyBytes_Size(path))
                                 : str_of(PyBytes_AsString(folder), PyBytes_Size(folder));
  tenon_error error = new_error();
  tenon_status status;
  PyThreadState* const saved = PyEval_SaveThread();
  status = is_path
               ? g.api->session_create(text, config, &options, &self->session, &error)
               : g.api->session_create_from_memory(view.buf, static_cast<uint64_t>(view.len), fixed ? 1 : 0,
                                                   text, config, &options, &self->session, &error);
  PyEval_RestoreThread(saved);
  if (fixed && status == TENON_OK) self->model = Py_NewRef(model);
  if (!is_path) PyBuffer_Release(&view);
  Py_XDECREF(path);
  Py_DECREF(folder);
  tidy();
  if (status != TENON_OK) return fail_create(self, progress, status, error);
  self->input_count = g.api->session_input_count(self->session);
  self->output_count = g.api->session_output_count(self->session);
  if (!report(self->log)) {
    Py_DECREF(object);
    return nullptr;
  }
  return object;
}

// A list of tuples of what `read` gives for each index.
template <typename Info, typename Read, typename Make>
PyObject* list_of(uint32_t count, Read read, Make make) {
  PyObject* out = PyList_New(0);
  for (uint32_t i = 0; out != nullptr && i < count; ++i) {
    Info info{};
    info.struct_size = sizeof(info);
    if (read(i, &info) != TENON_OK) continue;
    PyObject* item = make(info);
    if (item == nullptr || PyList_Append(out, item) != 0) Py_CLEAR(out);
    Py_XDECREF(item);
  }
  return out;
}

PyObject* session_inputs(PyObject* object, PyObject*) {
  SessionObject* self = self_of(object);
  if (!usable(self)) return nullptr;
  return list_of<tenon_io_info>(
      self->input_count,
      [self](uint32_t i, tenon_io_info* info) { return g.api->session_input(self->session, i, info); },
      io_tuple);
}

PyObject* session_outputs(PyObject* object, PyObject*) {
  SessionObject* self = self_of(object);
  if (!usable(self)) return nullptr;
  return list_of<tenon_io_info>(
      self->output_count,
      [self](uint32_t i, tenon_io_info* info) { return g.api->session_output(self->session, i, info); },
      io_tuple);
}

PyObject* session_instances(PyObject* object, PyObject*) {
  SessionObject* self = self_of(object);
  if (!usable(self)) return nullptr;
  return list_of<tenon_instance_info>(
      g.api->session_instance_count(self->session),
      [self](uint32_t i, tenon_instance_info* info) {
        return g.api->session_instance(self->session, i, info);
      },
      [](const tenon_instance_info& info) {
        return Py_BuildValue("(NNNN)", unicode(info.instance), unicode(info.provider), unicode(info.version),
                             unicode(info.library));
      });
}

struct Pair {
  uint32_t struct_size;
  tenon_str first, second;
};
PyObject* pair_tuple(const Pair& pair) {
  return Py_BuildValue("(NN)", unicode(pair.first), unicode(pair.second));
}

PyObject* session_metadata(PyObject* object, PyObject*) {
  SessionObject* self = self_of(object);
  if (!usable(self)) return nullptr;
  return list_of<Pair>(
      g.api->session_metadata_count(self->session),
      [self](uint32_t i, Pair* pair) {
        return g.api->session_metadata(self->session, i, &pair->first, &pair->second);
      },
      pair_tuple);
}

PyObject* session_pairs(PyObject* object, PyObject*) {
  SessionObject* self = self_of(object);
  if (!usable(self)) return nullptr;
  return list_of<Pair>(
      g.api->session_state_count(self->session),
      [self](uint32_t i, Pair* pair) {
        return g.api->session_state(self->session, i, &pair->first, &pair->second);
      },
      pair_tuple);
}

// (producer_name, domain, version, description, graph_name, graph_description)
PyObject* session_model(PyObject* object, PyObject*) {
  SessionObject* self = self_of(object);
  if (!usable(self)) return nullptr;
  tenon_model_info info{};
  info.struct_size = sizeof(info);
  const tenon_status status = g.api->session_model(self->session, &info);
  if (status != TENON_OK) return raise(status, new_error());
  return Py_BuildValue("(NNLNNN)", unicode(info.producer_name), unicode(info.domain),
                       static_cast<long long>(info.model_version), unicode(info.description),
                       unicode(info.graph_name), unicode(info.graph_description));
}

// (index of an input) -> its default value
PyObject* session_default(PyObject* object, PyObject* args) {
  SessionObject* self = self_of(object);
  unsigned int index = 0;
  if (!PyArg_ParseTuple(args, "I", &index) || !usable(self)) return nullptr;
  tenon_value* value = nullptr;
  tenon_error error = new_error();
  const tenon_status status = g.api->session_input_default(self->session, index, &value, &error);
  return status == TENON_OK ? to_python(value) : raise(status, error);
}

PyObject* session_describe(PyObject* object, PyObject* args) {
  SessionObject* self = self_of(object);
  unsigned int what = 0;
  if (!PyArg_ParseTuple(args, "I", &what) || !usable(self)) return nullptr;
  tenon_text* text = nullptr;
  tenon_error error = new_error();
  tenon_status status;
  enter(self);
  PyThreadState* const saved = PyEval_SaveThread();
  status = g.api->session_describe(self->session, what, &text, &error);
  PyEval_RestoreThread(saved);
  leave(self);
  if (status != TENON_OK) return raise(status, error);
  PyObject* out = unicode(g.api->text_get(text));
  g.api->text_release(text);
  return out;
}

PyObject* session_to_device(PyObject* object, PyObject* args) {
  SessionObject* self = self_of(object);
  unsigned int index = 0;
  PyObject* value;
  if (!PyArg_ParseTuple(args, "IO!", &index, g.value_type, &value) || !usable(self)) return nullptr;
  tenon_value* out = nullptr;
  tenon_error error = new_error();
  tenon_status status;
  enter(self);
  PyThreadState* const saved = PyEval_SaveThread();
  status = g.api->value_to_device(self->session, index, reinterpret_cast<ValueObject*>(value)->value, &out,
                                  &error);
  PyEval_RestoreThread(saved);
  leave(self);
  return status == TENON_OK ? new_value(out) : raise(status, error);
}

// (feeds, chosen, into, timeout_ns, cancel, state, flags, want_trace) -> outputs, or (outputs, trace)
PyObject* session_run(PyObject* object, PyObject* const* args, Py_ssize_t count) {
  SessionObject* self = self_of(object);
  if (count != 8) {
    PyErr_SetString(PyExc_TypeError, "run takes 8 arguments");
    return nullptr;
  }
  if (!usable(self)) return nullptr;
  RunValues values{};
  RunOptions options;
  const bool want_trace = args[7] == Py_True;
  if (!take_options(self, args + 3, &options) || !take_values(self, args[0], args[1], args[2], &values)) {
    drop_values(&values);
    return nullptr;
  }
  tenon_text* trace = nullptr;
  if (want_trace) options.options.out_trace = &trace;
  tenon_error error = new_error();
  tenon_status status;
  enter(self);
  PyThreadState* const saved = PyEval_SaveThread();
  status = g.api->run(self->session, &options.options, values.inputs, values.input_count, values.names,
                      values.chosen != nullptr ? values.output_count : 0, values.outputs, &error);
  PyEval_RestoreThread(saved);
  leave(self);
  PyObject* out = status == TENON_OK ? outputs_of(&values) : nullptr;
  drop_values(&values);
  PyObject* trace_text = trace != nullptr ? unicode(g.api->text_get(trace)) : nullptr;
  g.api->text_release(trace);
  if (status != TENON_OK) {
    (void)report(self->log);
    PyErr_Clear();
    Py_XDECREF(trace_text);
    return raise(status, error);
  }
  if (out != nullptr && !report(self->log)) Py_CLEAR(out);
  if (out != nullptr && want_trace)
    return Py_BuildValue("(NN)", out, trace_text != nullptr ? trace_text : Py_NewRef(Py_None));
  Py_XDECREF(trace_text);
  return out;
}

PyMethodDef session_methods[] = {{"run", fast(session_run), METH_FASTCALL, nullptr},
                                 {"submit", fast(session_submit), METH_FASTCALL, nullptr},
                                 {"close", session_close, METH_NOARGS, nullptr},
                                 {"inputs", session_inputs, METH_NOARGS, nullptr},
                                 {"outputs", session_outputs, METH_NOARGS, nullptr},
                                 {"instances", session_instances, METH_NOARGS, nullptr},
                                 {"metadata", session_metadata, METH_NOARGS, nullptr},
                                 {"pairs", session_pairs, METH_NOARGS, nullptr},
                                 {"model", session_model, METH_NOARGS, nullptr},
                                 {"default", session_default, METH_VARARGS, nullptr},
                                 {"describe", session_describe, METH_VARARGS, nullptr},
                                 {"to_device", session_to_device, METH_VARARGS, nullptr},
                                 {}};
PyType_Slot session_slots[] = {{Py_tp_new, slot(session_new)},
                               {Py_tp_dealloc, slot(session_dealloc)},
                               {Py_tp_methods, session_methods},
                               {0, nullptr}};

StateObject* state_of(PyObject* self) { return reinterpret_cast<StateObject*>(self); }

PyObject* state_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* session;
  if (!PyArg_ParseTuple(args, "O!", g.session_type, &session) || !usable(self_of(session))) return nullptr;
  PyObject* self = allocate(type);
  if (self == nullptr) return nullptr;
  tenon_error error = new_error();
  const tenon_status status = g.api->state_create(self_of(session)->session, &state_of(self)->state, &error);
  if (status != TENON_OK) {
    Py_DECREF(self);
    return raise(status, error);
  }
  state_of(self)->session = self_of(Py_NewRef(session));
  return self;
}

void state_dealloc(PyObject* self) {
  if (state_of(self)->state != nullptr) g.api->state_release(state_of(self)->state);
  Py_XDECREF(reinterpret_cast<PyObject*>(state_of(self)->session));
  free_object(self);
}

PyObject* state_reset(PyObject* self, PyObject*) {
  tenon_error error = new_error();
  const tenon_status status = g.api->state_reset(state_of(self)->state, &error);
  if (status != TENON_OK) return raise(status, error);
  Py_RETURN_NONE;
}

PyObject* state_read(PyObject* self, PyObject* args) {
  unsigned int index = 0;
  if (!PyArg_ParseTuple(args, "I", &index)) return nullptr;
  tenon_value* value = nullptr;
  tenon_error error = new_error();
  const tenon_status status = g.api->state_read(state_of(self)->state, index, &value, &error);
  return status == TENON_OK ? to_python(value) : raise(status, error);
}

PyMethodDef state_methods[] = {
    {"reset", state_reset, METH_NOARGS, nullptr}, {"read", state_read, METH_VARARGS, nullptr}, {}};
PyType_Slot state_slots[] = {{Py_tp_new, slot(state_new)},
                             {Py_tp_dealloc, slot(state_dealloc)},
                             {Py_tp_methods, state_methods},
                             {0, nullptr}};

}  // namespace

PyType_Spec session_spec = {"tenon._tenon.Session", sizeof(SessionObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, session_slots};
PyType_Spec state_spec = {"tenon._tenon.State", sizeof(StateObject), 0, Py_TPFLAGS_DEFAULT, state_slots};

PyObject* io_tuple(const tenon_io_info& info) {
  PyObject* dims = Py_None;
  PyObject* names = Py_NewRef(Py_None);
  if (info.rank >= 0) {
    dims = dims_tuple(info.dims, static_cast<uint32_t>(info.rank));
    Py_DECREF(names);
    names = PyTuple_New(info.rank);
    for (int32_t i = 0; names != nullptr && i < info.rank; ++i) {
      PyObject* name = info.dim_names != nullptr ? unicode(info.dim_names[i]) : PyUnicode_FromString("");
      if (name == nullptr) {
        Py_CLEAR(names);
        break;
      }
      PyTuple_SetItem(names, i, name);
    }
  } else {
    Py_INCREF(dims);
  }
  if (dims == nullptr || names == nullptr) {
    Py_XDECREF(dims);
    Py_XDECREF(names);
    return nullptr;
  }
  return Py_BuildValue("(s#IINNs#O)", info.name.data, static_cast<Py_ssize_t>(info.name.size), info.kind,
                       info.dtype, dims, names, info.type_text.data,
                       static_cast<Py_ssize_t>(info.type_text.size),
                       info.has_default != 0 ? Py_True : Py_False);
}

bool usable(SessionObject* self) {
  if (self->session != nullptr && !self->closed) return true;
  raise_misuse("the session is closed");
  return false;
}

void enter(SessionObject* self) { ++self->active; }

void leave(SessionObject* self) {
  if (--self->active == 0 && self->closed) release_now(self);
}

}  // namespace tenon::python
