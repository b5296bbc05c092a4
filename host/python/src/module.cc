// The module: configs, cancel flags, providers, texts, and what it exports.
#include "host/python/src/common.h"

namespace tenon::python {
namespace {

ConfigObject* config_self(PyObject* self) { return reinterpret_cast<ConfigObject*>(self); }
CancelObject* cancel_self(PyObject* self) { return reinterpret_cast<CancelObject*>(self); }

// (path: "" for the defaults) or (text, name)
PyObject* config_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *given, *name = nullptr, *bytes = nullptr;
  if (!PyArg_ParseTuple(args, "O|O", &given, &name)) return nullptr;
  tenon_str text{}, called{};
  if (name == nullptr) {
    bytes = path_bytes(given);
    if (bytes == nullptr) return nullptr;
    text = str_of(PyBytes_AsString(bytes), PyBytes_Size(bytes));
  } else if (!utf8(given, "text", &text) || !utf8(name, "name", &called)) {
    return nullptr;
  }
  PyObject* self = allocate(type);
  if (self != nullptr) {
    tenon_error error = new_error();
    tenon_config** out = &config_self(self)->config;
    const tenon_status status = name == nullptr ? g.api->config_create(text, out, &error)
                                                : g.api->config_create_from_text(text, called, out, &error);
    if (status != TENON_OK) {
      Py_CLEAR(self);
      raise(status, error);
    }
  }
  Py_XDECREF(bytes);
  return self;
}

void config_dealloc(PyObject* self) {
  if (config_self(self)->config != nullptr) g.api->config_release(config_self(self)->config);
  free_object(self);
}

// (key, value in TOML, source)
PyObject* config_set(PyObject* self, PyObject* args) {
  PyObject *key, *value, *source;
  tenon_str key_text, value_text, source_text;
  if (!PyArg_ParseTuple(args, "OOO", &key, &value, &source) || !utf8(key, "key", &key_text) ||
      !utf8(value, "value", &value_text) || !utf8(source, "source", &source_text))
    return nullptr;
  tenon_error error = new_error();
  const tenon_status status =
      g.api->config_set(config_self(self)->config, key_text, value_text, source_text, &error);
  if (status != TENON_OK) return raise(status, error);
  Py_RETURN_NONE;
}

PyMethodDef config_methods[] = {{"set", config_set, METH_VARARGS, nullptr}, {}};
PyType_Slot config_slots[] = {{Py_tp_new, slot(config_new)},
                              {Py_tp_dealloc, slot(config_dealloc)},
                              {Py_tp_methods, config_methods},
                              {0, nullptr}};

PyObject* cancel_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = allocate(type);
  if (self != nullptr && g.api->cancel_create(&cancel_self(self)->cancel) != TENON_OK) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  return self;
}

void cancel_dealloc(PyObject* self) {
  if (cancel_self(self)->cancel != nullptr) g.api->cancel_release(cancel_self(self)->cancel);
  free_object(self);
}

PyObject* cancel_trigger(PyObject* self, PyObject*) {
  g.api->cancel_trigger(cancel_self(self)->cancel);
  Py_RETURN_NONE;
}

PyMethodDef cancel_methods[] = {
    {"trigger", cancel_trigger, METH_NOARGS,
     "trigger()\n--\n\nStops the Runs that use this flag. Any thread may call it."},
    {}};
PyType_Slot cancel_slots[] = {
    {Py_tp_new, slot(cancel_new)},
    {Py_tp_dealloc, slot(cancel_dealloc)},
    {Py_tp_methods, cancel_methods},
    {Py_tp_doc,
     const_cast<char*>("One flag that stops the Runs to which it is given. Any thread may use it.")},
    {0, nullptr}};

PyObject* text_object(tenon_status status, tenon_text* text, const tenon_error& error) {
  if (status != TENON_OK) return raise(status, error);
  PyObject* out = unicode(g.api->text_get(text));
  g.api->text_release(text);
  return out;
}

// (config or None) and (config or None, deep)
PyObject* config_describe(PyObject*, PyObject* args) {
  PyObject* object;
  const tenon_config* config = nullptr;
  if (!PyArg_ParseTuple(args, "O", &object) || !config_of(object, &config)) return nullptr;
  tenon_text* text = nullptr;
  tenon_error error = new_error();
  const tenon_status status = g.api->config_describe(config, &text, &error);
  return text_object(status, text, error);
}

PyObject* config_check(PyObject*, PyObject* args) {
  PyObject* object;
  const tenon_config* config = nullptr;
  if (!PyArg_ParseTuple(args, "O", &object) || !config_of(object, &config)) return nullptr;
  tenon_text* text = nullptr;
  tenon_error error = new_error();
  tenon_status status;
  PyThreadState* const saved = PyEval_SaveThread();
  status = g.api->config_check(config, &text, &error);
  PyEval_RestoreThread(saved);
  return text_object(status, text, error);
}

PyObject* config_schema(PyObject*, PyObject*) {
  tenon_text* text = nullptr;
  tenon_error error = new_error();
  const tenon_status status = g.api->config_schema(&text, &error);
  return text_object(status, text, error);
}

PyObject* providers_describe(PyObject*, PyObject* args) {
  PyObject* object;
  unsigned int deep = 0;
  const tenon_config* config = nullptr;
  if (!PyArg_ParseTuple(args, "OI", &object, &deep) || !config_of(object, &config)) return nullptr;
  tenon_text* text = nullptr;
  tenon_error error = new_error();
  tenon_status status;
  PyThreadState* const saved = PyEval_SaveThread();
  status = g.api->providers_describe(config, deep, &text, &error);
  PyEval_RestoreThread(saved);
  return text_object(status, text, error);
}

PyObject* provider_register(PyObject*, PyObject* args) {
  PyObject* path;
  if (!PyArg_ParseTuple(args, "O", &path)) return nullptr;
  PyObject* bytes = path_bytes(path);
  if (bytes == nullptr) return nullptr;
  tenon_error error = new_error();
  const tenon_status status =
      g.api->provider_register(str_of(PyBytes_AsString(bytes), PyBytes_Size(bytes)), &error);
  Py_DECREF(bytes);
  if (status != TENON_OK) return raise(status, error);
  Py_RETURN_NONE;
}

PyObject* model_describe(PyObject*, PyObject* args) {
  PyObject *path, *object;
  const tenon_config* config = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &path, &object) || !config_of(object, &config)) return nullptr;
  PyObject* bytes = path_bytes(path);
  if (bytes == nullptr) return nullptr;
  tenon_text* text = nullptr;
  tenon_error error = new_error();
  const tenon_status status =
      g.api->model_describe(str_of(PyBytes_AsString(bytes), PyBytes_Size(bytes)), config, &text, &error);
  Py_DECREF(bytes);
  return text_object(status, text, error);
}

PyObject* model_optimize(PyObject*, PyObject* args) {
  PyObject *path, *object, *out;
  const tenon_config* config = nullptr;
  if (!PyArg_ParseTuple(args, "OOO", &path, &object, &out) || !config_of(object, &config)) return nullptr;
  PyObject* from = path_bytes(path);
  PyObject* to = from != nullptr ? path_bytes(out) : nullptr;
  if (to == nullptr) {
    Py_XDECREF(from);
    return nullptr;
  }
  const tenon_str source = str_of(PyBytes_AsString(from), PyBytes_Size(from));
  const tenon_str target = str_of(PyBytes_AsString(to), PyBytes_Size(to));
  tenon_error error = new_error();
  tenon_status status;
  PyThreadState* const saved = PyEval_SaveThread();
  status = g.api->model_optimize(source, config, target, &error);
  PyEval_RestoreThread(saved);
  Py_DECREF(from);
  Py_DECREF(to);
  if (status != TENON_OK) return raise(status, error);
  Py_RETURN_NONE;
}

// (ndarray, dtypes, Value, from_value, make_error, log, stash)
PyObject* setup(PyObject*, PyObject* args) {
  PyObject *ndarray, *dtypes, *value_type, *from_value, *make_error, *log, *stash;
  if (!PyArg_ParseTuple(args, "OO!OOOOO", &ndarray, &PyList_Type, &dtypes, &value_type, &from_value,
                        &make_error, &log, &stash))
    return nullptr;
  g.ndarray = Py_NewRef(ndarray);
  for (Py_ssize_t i = 0; i < PyList_Size(dtypes) && i < static_cast<Py_ssize_t>(kTypes); ++i) {
    PyObject* dtype = PyList_GetItem(dtypes, i);
    g.dtypes[i] = dtype != Py_None ? Py_NewRef(dtype) : nullptr;
  }
  g.value_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(value_type));
  g.from_value = Py_NewRef(from_value);
  g.make_error = Py_NewRef(make_error);
  g.log = Py_NewRef(log);
  g.stash = Py_NewRef(stash);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"setup", setup, METH_VARARGS, nullptr},
    {"wrap", wrap, METH_VARARGS, "(array, dtype=0, writable=False, shape=None) -> Value"},
    {"empty", empty, METH_VARARGS, "(dtype, shape) -> Value"},
    {"make_strings", make_strings, METH_VARARGS, "(shape, list of bytes) -> Value"},
    {"make_value", make_value, METH_VARARGS, "(kind, dtype, list of Values) -> Value"},
    {"from_dlpack", tensor_from_dlpack, METH_O, "(capsule) -> Value"},
    {"read_pb", read_pb, METH_VARARGS, "(path, type text or None) -> Value"},
    {"config_describe", config_describe, METH_VARARGS, nullptr},
    {"config_check", config_check, METH_VARARGS, nullptr},
    {"config_schema", config_schema, METH_NOARGS, nullptr},
    {"providers_describe", providers_describe, METH_VARARGS, nullptr},
    {"provider_register", provider_register, METH_VARARGS, nullptr},
    {"model_describe", model_describe, METH_VARARGS, nullptr},
    {"finish", finish, METH_NOARGS, nullptr},
    {"model_optimize", model_optimize, METH_VARARGS, nullptr},
    {}};

PyTypeObject* add_type(PyObject* module, PyType_Spec* spec) {
  PyObject* type = PyType_FromModuleAndSpec(module, spec, nullptr);
  if (type == nullptr || PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type)) != 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(type);
}

int execute(PyObject* module) {
  if (g.api != nullptr) {
    PyErr_SetString(PyExc_ImportError, "tenon can be used in one interpreter of a process only");
    return -1;
  }
  const tenon_api* api = tenon_get_api(TENON_API_VERSION);
  if (api == nullptr) {
    PyErr_SetString(PyExc_ImportError, "libtenon is older than this package: install both from one wheel");
    return -1;
  }
  struct {
    PyTypeObject** type;
    PyType_Spec* spec;
  } const types[] = {{&g.value_type, &value_spec},
                     {&g.config_type, &config_spec},
                     {&g.cancel_type, &cancel_spec},
                     {&g.session_type, &session_spec},
                     {&g.slots_type, &slots_spec},
                     {&g.state_type, &state_spec},
                     {&g.operators_type, &operators_spec},
                     {&g.pending_type, &pending_spec},
                     {&g.completions_type, &completions_spec}};
  for (const auto& entry : types) {
    *entry.type = add_type(module, entry.spec);
    if (*entry.type == nullptr) return -1;
  }
  const tenon_str version = api->runtime_version();
  PyObject* text = unicode(version);
  if (text == nullptr || PyModule_AddObjectRef(module, "version", text) != 0) return -1;
  Py_DECREF(text);
  g.api = api;
  return 0;
}

PyModuleDef_Slot module_slots[] = {{Py_mod_exec, slot(execute)}, {0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_tenon",
                          "The C API of libtenon.",
                          0,
                          functions,
                          module_slots,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

PyType_Spec config_spec = {"tenon._tenon.Config", sizeof(ConfigObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, config_slots};
PyType_Spec cancel_spec = {"tenon._tenon.Cancel", sizeof(CancelObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, cancel_slots};

bool config_of(PyObject* object, const tenon_config** out) {
  *out = nullptr;
  if (object == Py_None) return true;
  if (!PyObject_TypeCheck(object, g.config_type)) {
    PyErr_Format(PyExc_TypeError, "config must be a tenon.Config or None, not %R", Py_TYPE(object));
    return false;
  }
  *out = config_self(object)->config;
  return true;
}

}  // namespace tenon::python

PyMODINIT_FUNC PyInit__tenon() { return PyModuleDef_Init(&tenon::python::definition); }
