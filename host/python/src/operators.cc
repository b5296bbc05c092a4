// Operators that are written in Python.
#include <cstdlib>
#include <cstring>

#include "host/python/src/common.h"

namespace tenon::python {
namespace {

// The functions of one operator, made by tenon/_operators.py.
struct Functions {
  PyObject* infer;   // (node, attributes, types, values) -> list of type texts
  PyObject* create;  // (node, attributes, types of outputs) -> state
  PyObject* run;     // (state, inputs) -> list of Values
};

tenon_status ended(tenon_error* error) {
  if (error != nullptr)
    std::strncpy(error->message, "the Python interpreter ends", sizeof(error->message) - 1);
  return TENON_CANCELLED;
}

// What Python raised, as the error of the call. The exception itself goes to `g.stash`, for the Run that fails of it.
tenon_status failed(tenon_error* error) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace != nullptr && value != nullptr) PyException_SetTraceback(value, trace);
  const bool no_memory = type != nullptr && PyErr_GivenExceptionMatches(type, PyExc_MemoryError);
  PyObject* text = value != nullptr ? PyObject_CallFunctionObjArgs(g.stash, value, nullptr) : nullptr;
  tenon_str words{};
  if (text != nullptr && utf8(text, "message", &words) && error != nullptr) {
    const size_t size = words.size < sizeof(error->message) ? words.size : sizeof(error->message) - 1;
    std::memcpy(error->message, words.data, size);
    error->message[size] = 0;
  }
  PyErr_Clear();
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return no_memory ? TENON_RESOURCE_EXHAUSTED : TENON_INTERNAL;
}

// A copy of a tensor that an attribute has.
PyObject* tensor_object(const tenon_tensor& tensor) {
  tenon_value *view = nullptr, *copied = nullptr;
  tenon_error error = new_error();
  tenon_status status = TENON_OK;
  if (tensor.dtype == TENON_STRING) {
    status = g.api->value_make_strings(tensor.rank, tensor.dims, tensor.offsets,
                                       static_cast<const char*>(tensor.data), &copied, &error);
  } else {
    status = g.api->value_wrap(&tensor, nullptr, nullptr, &view, &error);
    if (status == TENON_OK) status = g.api->value_copy(view, &copied, &error);
    g.api->value_release(view);
  }
  return status == TENON_OK ? to_python(copied) : raise(status, error);
}

template <typename Make>
PyObject* list_of(uint64_t count, Make make) {
  PyObject* out = PyList_New(0);
  for (uint64_t i = 0; out != nullptr && i < count; ++i) {
    PyObject* item = make(i);
    if (item == nullptr || PyList_Append(out, item) != 0) Py_CLEAR(out);
    Py_XDECREF(item);
  }
  return out;
}

PyObject* attribute_object(const tenon_attribute& it) {
  switch (it.type) {
    case TENON_ATTR_FLOAT:
      return PyFloat_FromDouble(it.f);
    case TENON_ATTR_INT:
      return PyLong_FromLongLong(it.i);
    case TENON_ATTR_STRING:
      return unicode(it.s);
    case TENON_ATTR_TENSOR:
      return tensor_object(*it.tensors);
    case TENON_ATTR_FLOATS:
      return list_of(it.count, [&](uint64_t i) { return PyFloat_FromDouble(it.floats[i]); });
    case TENON_ATTR_INTS:
      return list_of(it.count, [&](uint64_t i) { return PyLong_FromLongLong(it.ints[i]); });
    case TENON_ATTR_STRINGS:
      return list_of(it.count, [&](uint64_t i) { return unicode(it.strings[i]); });
    case TENON_ATTR_TENSORS:
      return list_of(it.count, [&](uint64_t i) { return tensor_object(it.tensors[i]); });
    default:
      return Py_NewRef(Py_None);
  }
}

PyObject* attributes_of(const tenon_operator_call* call, uint32_t count) {
  PyObject* out = PyDict_New();
  for (uint32_t i = 0; out != nullptr && i < count; ++i) {
    tenon_attribute it{};
    it.struct_size = sizeof(it);
    if (g.api->call_attribute(call, i, &it) != TENON_OK) continue;
    PyObject* name = unicode(it.name);
    PyObject* value = name != nullptr ? attribute_object(it) : nullptr;
    if (value == nullptr || PyDict_SetItem(out, name, value) != 0) Py_CLEAR(out);
    Py_XDECREF(name);
    Py_XDECREF(value);
  }
  return out;
}

// Types of the inputs or outputs, as tuples; None for those that are left out.
PyObject* types_of(const tenon_operator_call* call, uint32_t count, bool of_inputs) {
  return list_of(count, [&](uint64_t i) {
    tenon_io_info info{};
    info.struct_size = sizeof(info);
    const auto read = of_inputs ? g.api->call_input : g.api->call_output;
    const bool known =
        read(call, static_cast<uint32_t>(i), &info) == TENON_OK && info.kind != TENON_KIND_NONE;
    return known ? io_tuple(info) : Py_NewRef(Py_None);
  });
}

// A value that is borrowed: the object that Python gets has a copy, unless the library made one.
PyObject* borrowed_object(tenon_value* value, bool copy) {
  if (value == nullptr) return Py_NewRef(Py_None);
  if (!copy) {
    g.api->value_retain(value);
    return to_python(value);
  }
  tenon_value* copied = nullptr;
  tenon_error error = new_error();
  const tenon_status status = g.api->value_copy(value, &copied, &error);
  return status == TENON_OK ? to_python(copied) : raise(status, error);
}

struct Call {
  tenon_call_info info;
  PyObject* node;        // a str
  PyObject* attributes;  // a dict
};

bool read_call(const tenon_operator_call* call, Call* out) {
  out->info = tenon_call_info{};
  out->info.struct_size = sizeof(out->info);
  if (g.api->call_info(call, &out->info) != TENON_OK) return false;
  out->node = unicode(out->info.node);
  out->attributes = out->node != nullptr ? attributes_of(call, out->info.attribute_count) : nullptr;
  return out->attributes != nullptr;
}

tenon_status on_infer(void* context, const tenon_operator_call* call, tenon_error* error) {
  const Lock lock;
  if (!lock.held()) return ended(error);
  const Functions* functions = static_cast<const Functions*>(context);
  Call it{};
  PyObject *types = nullptr, *values = nullptr, *told = nullptr;
  if (read_call(call, &it)) types = types_of(call, it.info.input_count, true);
  if (types != nullptr)
    values = list_of(it.info.input_count, [&](uint64_t i) {
      return borrowed_object(g.api->call_value(call, static_cast<uint32_t>(i)), true);
    });
  if (values != nullptr)
    told = PyObject_CallFunction(functions->infer, "OOOOI", it.node, it.attributes, types, values,
                                 it.info.output_count);
  tenon_status status = told != nullptr ? TENON_OK : failed(error);
  for (uint32_t i = 0; status == TENON_OK && i < it.info.output_count; ++i) {
    PyObject* text = PyList_GetItem(told, i);  // borrowed
    tenon_io_info type{};
    type.struct_size = sizeof(type);
    if (text == Py_None) continue;  // the model may tell
    status = text != nullptr && utf8(text, "type", &type.type_text)
                 ? g.api->call_set_output(call, i, &type, error)
                 : failed(error);
  }
  Py_XDECREF(told);
  Py_XDECREF(values);
  Py_XDECREF(types);
  Py_XDECREF(it.attributes);
  Py_XDECREF(it.node);
  return status;
}

tenon_status on_create(void* context, const tenon_operator_call* call, void** out_state, tenon_error* error) {
  const Lock lock;
  if (!lock.held()) return ended(error);
  const Functions* functions = static_cast<const Functions*>(context);
  Call it{};
  PyObject* types = read_call(call, &it) ? types_of(call, it.info.output_count, false) : nullptr;
  PyObject* state = types != nullptr
                        ? PyObject_CallFunction(functions->create, "OOO", it.node, it.attributes, types)
                        : nullptr;
  const tenon_status status = state != nullptr ? TENON_OK : failed(error);
  *out_state = state;
  Py_XDECREF(types);
  Py_XDECREF(it.attributes);
  Py_XDECREF(it.node);
  return status;
}

void on_destroy(void*, void* state) {
  const Lock lock;
  if (lock.held()) Py_XDECREF(static_cast<PyObject*>(state));  // else the memory goes with the process
}

tenon_status on_run(void* context, void* state, const tenon_operator_call*, tenon_value* const* inputs,
                    uint32_t input_count, tenon_value** outputs, uint32_t output_count, tenon_error* error) {
  const Lock lock;
  if (!lock.held()) return ended(error);
  const Functions* functions = static_cast<const Functions*>(context);
  PyObject* given = list_of(input_count, [&](uint64_t i) { return borrowed_object(inputs[i], false); });
  PyObject* made =
      given != nullptr
          ? PyObject_CallFunction(functions->run, "OOI", static_cast<PyObject*>(state), given, output_count)
          : nullptr;
  tenon_status status = made != nullptr ? TENON_OK : failed(error);
  for (uint32_t i = 0; status == TENON_OK && i < output_count; ++i) {
    PyObject* item = PyList_GetItem(made, i);  // borrowed; `run` of Python gives a list of Values and None
    if (item == Py_None) continue;
    if (item == nullptr || !PyObject_TypeCheck(item, g.value_type)) {
      status = failed(error);
      break;
    }
    outputs[i] = reinterpret_cast<ValueObject*>(item)->value;
    g.api->value_retain(outputs[i]);
  }
  Py_XDECREF(made);
  Py_XDECREF(given);
  tidy();
  return status;
}

void on_free(void* context) {
  Functions* functions = static_cast<Functions*>(context);
  const Lock lock;
  if (!lock.held()) return;
  Py_XDECREF(functions->infer);
  Py_XDECREF(functions->create);
  Py_XDECREF(functions->run);
  std::free(functions);
}

OperatorsObject* self_of(PyObject* self) { return reinterpret_cast<OperatorsObject*>(self); }

PyObject* operators_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = allocate(type);
  if (self == nullptr) return nullptr;
  tenon_error error = new_error();
  const tenon_status status = g.api->operators_create(&self_of(self)->operators, &error);
  if (status == TENON_OK) return self;
  Py_DECREF(self);
  return raise(status, error);
}

void operators_dealloc(PyObject* self) {
  if (self_of(self)->operators != nullptr) g.api->operators_release(self_of(self)->operators);
  free_object(self);
}

// (domain, name, since_version, min_inputs, max_inputs, min_outputs, max_outputs, [(attribute, type, required)], any,
//  infer, create, run)
PyObject* operators_add(PyObject* self, PyObject* args) {
  PyObject *domain, *name, *list, *infer, *create, *run;
  int any = 0;
  tenon_operator op{};
  op.struct_size = sizeof(op);
  if (!PyArg_ParseTuple(args, "OOiIIIIO!pOOO", &domain, &name, &op.since_version, &op.min_inputs,
                        &op.max_inputs, &op.min_outputs, &op.max_outputs, &PyList_Type, &list, &any, &infer,
                        &create, &run) ||
      !utf8(domain, "domain", &op.domain) || !utf8(name, "name", &op.name))
    return nullptr;
  const Py_ssize_t count = PyList_Size(list);
  auto* attributes = static_cast<tenon_operator_attribute*>(
      PyMem_Calloc(static_cast<size_t>(count) + 1, sizeof(tenon_operator_attribute)));
  Functions* functions = static_cast<Functions*>(std::calloc(1, sizeof(Functions)));
  bool ok = attributes != nullptr && functions != nullptr;
  if (!ok) PyErr_NoMemory();
  for (Py_ssize_t i = 0; ok && i < count; ++i) {
    PyObject* attribute;
    ok = PyArg_ParseTuple(PyList_GetItem(list, i), "OII", &attribute, &attributes[i].type,
                          &attributes[i].required) &&
         utf8(attribute, "the name of an attribute", &attributes[i].name);
  }
  tenon_status status = TENON_OK;
  tenon_error error = new_error();
  if (ok) {
    // Python keeps arrays as it likes, so the library copies the inputs.
    op.flags = TENON_OPERATOR_KEEPS_INPUTS | (any != 0 ? TENON_OPERATOR_ANY_ATTRIBUTE : 0);
    op.attribute_count = static_cast<uint32_t>(count);
    op.attributes = attributes;
    *functions = Functions{Py_NewRef(infer), Py_NewRef(create), Py_NewRef(run)};
    op.context = functions;
    op.infer = on_infer;
    op.create = on_create;
    op.destroy = on_destroy;
    op.run = on_run;
    op.free_fn = on_free;
    status = g.api->operators_add(self_of(self)->operators, &op, &error);
    ok = status == TENON_OK;
    if (!ok) on_free(functions);
  } else {
    std::free(functions);
  }
  PyMem_Free(attributes);
  if (!ok) return status != TENON_OK ? raise(status, error) : nullptr;
  Py_RETURN_NONE;
}

PyMethodDef operators_methods[] = {{"add", operators_add, METH_VARARGS, nullptr}, {}};
PyType_Slot operators_slots[] = {{Py_tp_new, slot(operators_new)},
                                 {Py_tp_dealloc, slot(operators_dealloc)},
                                 {Py_tp_methods, operators_methods},
                                 {0, nullptr}};

}  // namespace

PyType_Spec operators_spec = {"tenon._tenon.Operators", sizeof(OperatorsObject), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, operators_slots};

}  // namespace tenon::python
