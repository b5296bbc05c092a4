// Values: tensors, sequences, maps and optionals, and their ways from and to Python.
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "host/python/src/common.h"

namespace tenon::python {
namespace {

ValueObject* self_of(PyObject* self) { return reinterpret_cast<ValueObject*>(self); }

// The memory of an array, released when the last count of the value is gone, on a thread that has the interpreter's lock.
struct Held {
  Later later;
  Py_buffer view;
};
void release_held(Later* work) {
  Held* held = reinterpret_cast<Held*>(work);
  PyBuffer_Release(&held->view);
  std::free(held);
}
void give_up_held(void* context) { later(&static_cast<Held*>(context)->later); }

// The element type of a PEP 3118 format, or 0. `size`: bytes of an element.
uint32_t dtype_of_format(const char* format, Py_ssize_t size) {
  if (format == nullptr) return TENON_UINT8;
  if (*format == '@' || *format == '=' || *format == '<')
    ++format;  // little endian, as all of Tenon's platforms
  const char letter = *format;
  if (letter == 'Z') {
    if (format[1] == 'f' && format[2] == 0) return TENON_COMPLEX64;
    if (format[1] == 'd' && format[2] == 0) return TENON_COMPLEX128;
    return 0;
  }
  if (letter == 0 || format[1] != 0) return 0;
  switch (letter) {
    case 'f':
      return TENON_FLOAT32;
    case 'd':
      return TENON_FLOAT64;
    case 'e':
      return TENON_FLOAT16;
    case '?':
      return TENON_BOOL;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return size == 1 ? TENON_INT8 : size == 2 ? TENON_INT16 : size == 4 ? TENON_INT32 : TENON_INT64;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      return size == 1 ? TENON_UINT8 : size == 2 ? TENON_UINT16 : size == 4 ? TENON_UINT32 : TENON_UINT64;
    default:
      return 0;
  }
}

void value_dealloc(PyObject* self) {
  g.api->value_release(self_of(self)->value);
  tidy();
  free_object(self);
}

bool tensor_of(PyObject* self, tenon_tensor* out) {
  const tenon_status status = g.api->value_tensor(self_of(self)->value, out);
  if (status == TENON_OK) return true;
  tenon_value_place place{};
  place.struct_size = sizeof(place);
  tenon_error error = new_error();
  if (g.api->value_place(self_of(self)->value, &place, &error) != TENON_OK) {
    raise(status, error);
    return false;
  }
  raise_misuse(
      "the tensor is in the memory of the device %.100s, which the host cannot read; use Value.to_host() "
      "first",
      place.device.size != 0 ? place.device.data : "that made it");
  return false;
}

// The PEP 3118 format of an element type of numpy, or NULL.
const char* format_of(uint32_t dtype) {
  static const char* const formats[] = {nullptr, "f", "B", "b", "H", "h", "i",  "q",
                                        nullptr, "?", "e", "d", "I", "Q", "Zf", "Zd"};
  return dtype < std::size(formats) ? formats[dtype] : nullptr;
}

int value_getbuffer(PyObject* self, Py_buffer* view, int flags) {
  tenon_tensor tensor;
  if (!tensor_of(self, &tensor)) return -1;
  const int both = PyBUF_FORMAT | PyBUF_ND;
  const bool wants_elements = (flags & both) == both;  // else bytes, as numpy.ndarray(buffer=) wants them
  const char* format = format_of(tensor.dtype);
  if (tensor.dtype == TENON_STRING || (wants_elements && format == nullptr)) {
    PyErr_SetString(PyExc_BufferError, "a tensor of this element type has no buffer; use Value.numpy()");
    return -1;
  }
  static char nothing[1];
  void* data = tensor.byte_size != 0 ? tensor.data : nothing;
  const Py_ssize_t size = static_cast<Py_ssize_t>(tensor.byte_size);
  const int read_only = g.api->value_is_read_only(self_of(self)->value) != 0 ? 1 : 0;
  if (!wants_elements) return PyBuffer_FillInfo(view, self, data, size, read_only, flags);
  if (read_only != 0 && (flags & PyBUF_WRITABLE) != 0) {
    PyErr_SetString(PyExc_BufferError, "the tensor is read-only");
    return -1;
  }
  Py_ssize_t* dims =
      static_cast<Py_ssize_t*>(PyMem_Malloc((size_t{2} * tensor.rank + 1) * sizeof(Py_ssize_t)));
  if (dims == nullptr) {
    PyErr_NoMemory();
    return -1;
  }
  for (uint32_t i = 0; i < tensor.rank; ++i) dims[i] = static_cast<Py_ssize_t>(tensor.dims[i]);
  static constexpr int kSizes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 8, 16};
  Py_ssize_t step = kSizes[tensor.dtype];
  *view = Py_buffer{};
  view->buf = data;
  view->obj = Py_NewRef(self);
  view->len = size;
  view->itemsize = step;
  view->readonly = read_only;
  view->ndim = static_cast<int>(tensor.rank);
  view->shape = dims;
  view->internal = dims;
  if ((flags & PyBUF_FORMAT) != 0) view->format = const_cast<char*>(format);
  if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES) view->strides = dims + tensor.rank;
  for (uint32_t i = tensor.rank; i-- > 0;) {
    dims[tensor.rank + i] = step;
    step *= dims[i];
  }
  return 0;
}

void value_releasebuffer(PyObject*, Py_buffer* view) { PyMem_Free(view->internal); }

PyObject* value_kind(PyObject* self, void*) {
  return PyLong_FromUnsignedLong(g.api->value_kind(self_of(self)->value));
}

PyObject* value_place(PyObject* self, PyObject*) {
  tenon_value_place place{};
  place.struct_size = sizeof(place);
  tenon_error error = new_error();
  const tenon_status status = g.api->value_place(self_of(self)->value, &place, &error);
  if (status != TENON_OK) return raise(status, error);
  PyObject* dims = dims_tuple(place.dims, place.rank);
  if (dims == nullptr) return nullptr;
  return Py_BuildValue(
      "(INs#s#KO)", place.dtype, dims, place.device.data, static_cast<Py_ssize_t>(place.device.size),
      place.domain.data, static_cast<Py_ssize_t>(place.domain.size),
      static_cast<unsigned long long>(place.byte_size), place.host_can_read != 0 ? Py_True : Py_False);
}

PyObject* value_elements(PyObject* self, PyObject*) {
  const uint64_t size = g.api->value_size(self_of(self)->value);
  PyObject* out = PyList_New(0);
  for (uint64_t i = 0; out != nullptr && i < size; ++i) {
    tenon_value* element = g.api->value_element(self_of(self)->value, i);
    if (element == nullptr) break;  // a tensor has none
    g.api->value_retain(element);
    PyObject* item = new_value(element);
    if (item == nullptr || PyList_Append(out, item) != 0) Py_CLEAR(out);
    Py_XDECREF(item);
  }
  return out;
}

PyObject* value_strings(PyObject* self, PyObject*) {
  tenon_tensor tensor;
  if (!tensor_of(self, &tensor)) return nullptr;
  if (tensor.dtype != TENON_STRING) return raise_misuse("the value is not a tensor of strings");
  Py_ssize_t count = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i) count *= static_cast<Py_ssize_t>(tensor.dims[i]);
  PyObject* out = PyList_New(count);
  const char* bytes = static_cast<const char*>(tensor.data);
  for (Py_ssize_t i = 0; out != nullptr && i < count; ++i) {
    const int64_t begin = tensor.offsets[i];
    const Py_ssize_t size = static_cast<Py_ssize_t>(tensor.offsets[i + 1] - begin);
    PyObject* item = PyUnicode_DecodeUTF8(size != 0 ? bytes + begin : "", size, "surrogateescape");
    if (item == nullptr) {
      Py_CLEAR(out);
      break;
    }
    PyList_SetItem(out, i, item);
  }
  return out;
}

PyObject* value_to_host(PyObject* self, PyObject*) {
  tenon_value* copied = nullptr;
  tenon_error error = new_error();
  tenon_status status;
  PyThreadState* const saved = PyEval_SaveThread();
  status = g.api->value_to_host(self_of(self)->value, &copied, &error);
  PyEval_RestoreThread(saved);
  return status == TENON_OK ? new_value(copied) : raise(status, error);
}

PyObject* value_copy(PyObject* self, PyObject*) {
  tenon_value* copied = nullptr;
  tenon_error error = new_error();
  const tenon_status status = g.api->value_copy(self_of(self)->value, &copied, &error);
  return status == TENON_OK ? new_value(copied) : raise(status, error);
}

PyObject* value_to_python(PyObject* self, PyObject*) {
  g.api->value_retain(self_of(self)->value);
  return to_python(self_of(self)->value);
}

void capsule_gone(PyObject* capsule) {
  // A consumer renames the capsule and calls the deleter itself. The deleter is the third member of DLManagedTensor and of
  // DLManagedTensorVersioned alike, after a version or a tensor of different size.
  for (const bool versioned : {false, true}) {
    const char* name = versioned ? "dltensor_versioned" : "dltensor";
    if (!PyCapsule_IsValid(capsule, name)) continue;
    void* managed = PyCapsule_GetPointer(capsule, name);
    tenon_value* back = nullptr;
    tenon_error error = new_error();
    // The library owns `managed` again, and releases it with the value.
    if (g.api->value_from_dlpack(managed, versioned ? 1 : 0, &back, &error) == TENON_OK)
      g.api->value_release(back);
    tidy();
  }
}

PyObject* value_dlpack(PyObject* self, PyObject* args) {
  int versioned = 0;
  if (!PyArg_ParseTuple(args, "p", &versioned)) return nullptr;
  void* managed = nullptr;
  tenon_error error = new_error();
  const tenon_status status =
      g.api->value_to_dlpack(self_of(self)->value, versioned ? 1 : 0, &managed, &error);
  if (status != TENON_OK) return raise(status, error);
  return PyCapsule_New(managed, versioned ? "dltensor_versioned" : "dltensor", capsule_gone);
}

PyObject* value_write_pb(PyObject* self, PyObject* args) {
  PyObject *path, *name;
  if (!PyArg_ParseTuple(args, "OO", &path, &name)) return nullptr;
  tenon_str name_text;
  if (!utf8(name, "name", &name_text)) return nullptr;
  PyObject* bytes = path_bytes(path);
  if (bytes == nullptr) return nullptr;
  tenon_error error = new_error();
  const tenon_status status = g.api->value_write_pb(str_of(PyBytes_AsString(bytes), PyBytes_Size(bytes)),
                                                    name_text, self_of(self)->value, &error);
  Py_DECREF(bytes);
  if (status != TENON_OK) return raise(status, error);
  Py_RETURN_NONE;
}

PyMethodDef value_methods[] = {
    {"_place", value_place, METH_NOARGS, "(dtype, dims, device, domain, byte_size, host_can_read)"},
    {"_elements", value_elements, METH_NOARGS, "Values of a sequence, optional or map."},
    {"_strings", value_strings, METH_NOARGS, "The strings of a tensor, row-major."},
    {"_dlpack", value_dlpack, METH_VARARGS, "A capsule: (versioned)."},
    {"_write_pb", value_write_pb, METH_VARARGS, "(path, name)"},
    {"_copy", value_copy, METH_NOARGS, "The same content in new memory of the host."},
    {"_to_host", value_to_host, METH_NOARGS, "The same content in host memory."},
    {"_to_python", value_to_python, METH_NOARGS, "As a Run gives it."},
    {}};
PyGetSetDef value_getset[] = {{"_kind", value_kind, nullptr, "TENON_KIND_x", nullptr}, {}};
PyType_Slot value_slots[] = {{Py_tp_dealloc, slot(value_dealloc)},
                             {Py_tp_methods, value_methods},
                             {Py_tp_getset, value_getset},
                             {Py_bf_getbuffer, slot(value_getbuffer)},
                             {Py_bf_releasebuffer, slot(value_releasebuffer)},
                             {0, nullptr}};

}  // namespace

PyType_Spec value_spec = {"tenon._tenon.Value", sizeof(ValueObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          value_slots};

PyObject* new_value(tenon_value* value) {
  PyObject* out = allocate(g.value_type);
  if (out == nullptr) {
    g.api->value_release(value);
    return nullptr;
  }
  self_of(out)->value = value;
  return out;
}

PyObject* dims_tuple(const int64_t* dims, uint32_t rank) {
  PyObject* out = PyTuple_New(rank);
  for (uint32_t i = 0; out != nullptr && i < rank; ++i) {
    PyObject* item = PyLong_FromLongLong(dims[i]);
    if (item == nullptr) {
      Py_CLEAR(out);
      break;
    }
    PyTuple_SetItem(out, i, item);
  }
  return out;
}

int dims_of(PyObject* shape, int64_t* out) {
  PyObject* tuple = PySequence_Tuple(shape);
  if (tuple == nullptr) return -1;
  const Py_ssize_t rank = PyTuple_Size(tuple);
  if (rank > static_cast<Py_ssize_t>(TENON_EP_MAX_RANK)) {
    raise_misuse("a tensor has at most %u dimensions, and this shape has %zd", TENON_EP_MAX_RANK, rank);
    Py_DECREF(tuple);
    return -1;
  }
  for (Py_ssize_t i = 0; i < rank; ++i) {
    out[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
    if (out[i] == -1 && PyErr_Occurred()) {
      Py_DECREF(tuple);
      return -1;
    }
  }
  Py_DECREF(tuple);
  return static_cast<int>(rank);
}

PyObject* to_python(tenon_value* value) {
  tenon_tensor tensor;
  const bool is_tensor = value != nullptr && g.api->value_kind(value) == TENON_KIND_TENSOR;
  if (value == nullptr || (!is_tensor && g.api->value_kind(value) == TENON_KIND_NONE)) {
    g.api->value_release(value);
    Py_RETURN_NONE;
  }
  PyObject* owner = new_value(value);
  if (owner == nullptr) return nullptr;
  if (is_tensor && g.api->value_tensor(value, &tensor) != TENON_OK) return owner;  // in a device's memory
  PyObject* dtype = is_tensor && tensor.dtype < kTypes ? g.dtypes[tensor.dtype] : nullptr;
  PyObject* out = nullptr;
  if (dtype == nullptr) {
    out = PyObject_CallFunctionObjArgs(g.from_value, owner, nullptr);
  } else if (PyObject* dims = dims_tuple(tensor.dims, tensor.rank); dims != nullptr) {
    out = PyObject_CallFunctionObjArgs(g.ndarray, dims, dtype, owner, nullptr);
    Py_DECREF(dims);
  }
  Py_DECREF(owner);
  return out;
}

tenon_value* wrap_array(PyObject* array, uint32_t dtype, bool writable, bool quiet) {
  Held* held = static_cast<Held*>(std::malloc(sizeof(Held)));
  if (held == nullptr) {
    PyErr_NoMemory();
    return nullptr;
  }
  const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(array, &held->view, flags) != 0) {
    std::free(held);
    if (quiet) PyErr_Clear();
    return nullptr;
  }
  held->later.run = release_held;
  const Py_buffer& view = held->view;
  const uint32_t own = dtype_of_format(view.format, view.itemsize);
  const uint32_t type = dtype != 0 ? dtype : own;
  tenon_tensor tensor{};
  tenon_value* value = nullptr;
  tenon_error error = new_error();
  tenon_status status = TENON_OK;
  int64_t dims[TENON_EP_MAX_RANK];
  if (type != 0 && view.ndim <= static_cast<int>(TENON_EP_MAX_RANK)) {
    for (int i = 0; i < view.ndim; ++i) dims[i] = static_cast<int64_t>(view.shape[i]);
    tensor.kind = TENON_KIND_TENSOR;
    tensor.dtype = type;
    tensor.rank = static_cast<uint32_t>(view.ndim);
    tensor.dims = dims;
    tensor.data = view.len != 0 ? view.buf : nullptr;
    tensor.byte_size = static_cast<uint64_t>(view.len);
    const auto wrap_it = view.readonly != 0 ? g.api->value_wrap_read_only : g.api->value_wrap;
    status = wrap_it(&tensor, give_up_held, held, &value, &error);
    if (value != nullptr) return value;
  }
  if (status == TENON_OK && !quiet)
    raise_misuse("an array of format '%.20s' with %d dimensions is not a tensor of ONNX",
                 view.format ? view.format : "", view.ndim);
  PyBuffer_Release(&held->view);
  std::free(held);
  if (status != TENON_OK) raise(status, error);
  return nullptr;
}

PyObject* wrap(PyObject*, PyObject* args) {
  PyObject *array, *shape = Py_None;
  unsigned int dtype = 0;
  int writable = 0;
  if (!PyArg_ParseTuple(args, "O|IpO", &array, &dtype, &writable, &shape)) return nullptr;
  if (shape == Py_None) {
    tenon_value* value = wrap_array(array, dtype, writable, false);
    return value != nullptr ? new_value(value) : nullptr;
  }
  // Packed elements: a new tensor of another shape than that of its bytes.
  int64_t dims[TENON_EP_MAX_RANK];
  const int rank = dims_of(shape, dims);
  if (rank < 0) return nullptr;
  Py_buffer view;
  if (PyObject_GetBuffer(array, &view, PyBUF_SIMPLE) != 0) return nullptr;
  tenon_value* value = nullptr;
  void* data = nullptr;
  tenon_error error = new_error();
  tenon_tensor made;
  tenon_status status =
      g.api->value_make_tensor(dtype, static_cast<uint32_t>(rank), dims, &value, &data, &error);
  if (status == TENON_OK) status = g.api->value_tensor(value, &made);
  const bool fits = status == TENON_OK && made.byte_size == static_cast<uint64_t>(view.len);
  if (fits && view.len != 0) std::memcpy(data, view.buf, static_cast<size_t>(view.len));
  PyBuffer_Release(&view);
  if (fits) return new_value(value);
  g.api->value_release(value);
  return status != TENON_OK ? raise(status, error)
                            : raise_misuse("the bytes do not have the size of the tensor");
}

PyObject* empty(PyObject*, PyObject* args) {
  PyObject* shape;
  unsigned int dtype = 0;
  if (!PyArg_ParseTuple(args, "IO", &dtype, &shape)) return nullptr;
  int64_t dims[TENON_EP_MAX_RANK];
  const int rank = dims_of(shape, dims);
  if (rank < 0) return nullptr;
  tenon_value* value = nullptr;
  tenon_error error = new_error();
  const tenon_status status =
      g.api->value_make_tensor(dtype, static_cast<uint32_t>(rank), dims, &value, nullptr, &error);
  return status == TENON_OK ? new_value(value) : raise(status, error);
}

PyObject* make_strings(PyObject*, PyObject* args) {
  PyObject *shape, *list;
  if (!PyArg_ParseTuple(args, "OO!", &shape, &PyList_Type, &list)) return nullptr;
  int64_t dims[TENON_EP_MAX_RANK];
  const int rank = dims_of(shape, dims);
  if (rank < 0) return nullptr;
  const Py_ssize_t count = PyList_Size(list);
  int64_t* offsets = static_cast<int64_t*>(PyMem_Malloc((static_cast<size_t>(count) + 1) * sizeof(int64_t)));
  PyObject* joined = PyBytes_FromStringAndSize("", 0);
  PyObject* all = joined != nullptr ? PyObject_CallMethod(joined, "join", "O", list) : nullptr;
  Py_XDECREF(joined);
  PyObject* out = nullptr;
  if (offsets == nullptr) PyErr_NoMemory();
  if (offsets != nullptr && all != nullptr) {
    offsets[0] = 0;
    for (Py_ssize_t i = 0; i < count; ++i)
      offsets[i + 1] = offsets[i] + PyBytes_Size(PyList_GetItem(list, i));
    int64_t elements = 1;
    for (int i = 0; i < rank; ++i) elements *= dims[i];
    tenon_value* value = nullptr;
    tenon_error error = new_error();
    if (elements != count) {
      raise_misuse("the shape has %lld elements, and there are %zd strings", static_cast<long long>(elements),
                   count);
    } else {
      const tenon_status status = g.api->value_make_strings(static_cast<uint32_t>(rank), dims, offsets,
                                                            PyBytes_AsString(all), &value, &error);
      out = status == TENON_OK ? new_value(value) : raise(status, error);
    }
  }
  PyMem_Free(offsets);
  Py_XDECREF(all);
  return out;
}

PyObject* make_value(PyObject*, PyObject* args) {
  unsigned int kind = 0, dtype = 0;
  PyObject* list;
  if (!PyArg_ParseTuple(args, "IIO!", &kind, &dtype, &PyList_Type, &list)) return nullptr;
  const Py_ssize_t count = PyList_Size(list);
  tenon_value** elements =
      static_cast<tenon_value**>(PyMem_Malloc((static_cast<size_t>(count) + 1) * sizeof(tenon_value*)));
  if (elements == nullptr) return PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyList_GetItem(list, i);
    if (!PyObject_TypeCheck(item, g.value_type)) {
      PyMem_Free(elements);
      PyErr_SetString(PyExc_TypeError, "elements must be Values");
      return nullptr;
    }
    elements[i] = self_of(item)->value;
  }
  tenon_value* value = nullptr;
  tenon_error error = new_error();
  const tenon_status status =
      g.api->value_make(kind, dtype, elements, static_cast<uint64_t>(count), &value, &error);
  PyMem_Free(elements);
  return status == TENON_OK ? new_value(value) : raise(status, error);
}

PyObject* tensor_from_dlpack(PyObject*, PyObject* capsule) {
  const bool versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
  const char* name = versioned ? "dltensor_versioned" : "dltensor";
  void* managed = PyCapsule_GetPointer(capsule, name);
  if (managed == nullptr) return nullptr;
  PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor");
  tenon_value* value = nullptr;
  tenon_error error = new_error();
  const tenon_status status = g.api->value_from_dlpack(managed, versioned ? 1 : 0, &value, &error);
  return status == TENON_OK ? new_value(value) : raise(status, error);
}

PyObject* read_pb(PyObject*, PyObject* args) {
  PyObject *path, *type = Py_None;
  if (!PyArg_ParseTuple(args, "O|O", &path, &type)) return nullptr;
  tenon_io_info like{};
  like.struct_size = sizeof(like);
  if (type != Py_None && !utf8(type, "type", &like.type_text)) return nullptr;
  PyObject* bytes = path_bytes(path);
  if (bytes == nullptr) return nullptr;
  tenon_value* value = nullptr;
  tenon_error error = new_error();
  const tenon_status status = g.api->value_read_pb(str_of(PyBytes_AsString(bytes), PyBytes_Size(bytes)),
                                                   type != Py_None ? &like : nullptr, &value, &error);
  Py_DECREF(bytes);
  return status == TENON_OK ? new_value(value) : raise(status, error);
}

}  // namespace tenon::python
