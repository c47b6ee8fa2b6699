#include "block.h"

#include <cstring>

#include "convert.h"
#include "errors.h"
#include "library.h"

namespace nb = nanobind;

namespace hr::python {

const char* FormatOf(hr_dtype dtype) {
  switch (dtype) {
    case HR_FLOAT32: return "f";
    case HR_FLOAT64: return "d";
    case HR_FLOAT16: return "e";
    case HR_BOOL: return "?";
    case HR_UINT8: return "B";
    case HR_INT8: return "b";
    case HR_UINT16: return "H";
    case HR_INT16: return "h";
    case HR_UINT32: return "I";
    case HR_INT32: return "i";
    case HR_UINT64: return "Q";
    case HR_INT64: return "q";
    default: return "";
  }
}

namespace {

bool IsContiguous(const ViewOf& view) {
  Py_ssize_t expected = static_cast<Py_ssize_t>(api.hr_dtype_size(view.dtype));
  for (size_t i = view.dims.size(); i-- > 0;) {
    if (view.dims[i] == 0) return true;
    if (view.dims[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.dims[i];
  }
  return true;
}

const char* ProblemOf(const ViewOf& view, int flags) {
  if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && view.read_only) {
    return "the memory is read-only";
  }
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !IsContiguous(view)) {
    return "the elements are not contiguous";
  }
  return nullptr;
}

int BlockGetBuffer(PyObject* self, Py_buffer* out, int flags) {
  Block& block = *nb::inst_ptr<Block>(nb::handle(self));
  auto view = std::make_unique<ViewOf>();
  view->data = block.data;
  view->dtype = block.dtype;
  view->dims.assign(block.dims.begin(), block.dims.end());
  view->strides.resize(view->dims.size());
  const auto size = static_cast<Py_ssize_t>(api.hr_dtype_size(block.dtype));
  Py_ssize_t stride = size;
  for (size_t i = view->dims.size(); i-- > 0;) {
    view->strides[i] = stride;
    stride *= view->dims[i];
  }
  view->read_only = block.read_only;
  view->format = FormatOf(block.dtype);
  if (*view->format == '\0') view->format = size == 1 ? "B" : "H";
  view->owner = block.owner;
  if (FillView(std::move(view), self, out, flags) < 0) return -1;
  ++block.exports;
  return 0;
}

void BlockReleaseBuffer(PyObject* self, Py_buffer* buffer) {
  --nb::inst_ptr<Block>(nb::handle(self))->exports;
  delete static_cast<ViewOf*>(buffer->internal);
}

}  // namespace

int FillView(std::unique_ptr<ViewOf> view, PyObject* exporter, Py_buffer* out, int flags) {
  out->obj = nullptr;
  if (const char* problem = ProblemOf(*view, flags)) {
    PyErr_SetString(PyExc_BufferError, problem);
    return -1;
  }
  out->itemsize = static_cast<Py_ssize_t>(api.hr_dtype_size(view->dtype));
  out->len = out->itemsize;
  for (Py_ssize_t dim : view->dims) out->len *= dim;
  out->buf = view->data;
  out->readonly = view->read_only ? 1 : 0;
  out->ndim = static_cast<int>(view->dims.size());
  const bool wants_shape = (flags & PyBUF_ND) == PyBUF_ND;
  const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  out->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(view->format) : nullptr;
  out->shape = wants_shape ? view->dims.data() : nullptr;
  out->strides = wants_strides ? view->strides.data() : nullptr;
  out->suboffsets = nullptr;
  out->internal = view.release();
  out->obj = exporter;
  Py_INCREF(exporter);
  return 0;
}

void DefineBlocks(nb::module_& module) {
  static PyType_Slot slots[] = {
      {Py_bf_getbuffer, reinterpret_cast<void*>(BlockGetBuffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(BlockReleaseBuffer)},
      {0, nullptr},
  };
  nb::class_<Block>(module, "Block", nb::type_slots(slots))
      .def_prop_ro("dtype", [](const Block& self) { return self.dtype; })
      .def_prop_ro("dims", [](const Block& self) {
        return ListOf(self.dims.data(), static_cast<int64_t>(self.dims.size()));
      });
}

}  // namespace hr::python
