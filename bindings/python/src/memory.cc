#include "memory.h"

#include <cstring>
#include <vector>

#include "block.h"
#include "convert.h"
#include "define.h"
#include "mailbox.h"
#include "objects.h"

namespace nb = nanobind;

namespace hr::python {
namespace {

std::shared_ptr<Py_buffer> ShareBuffer(const Py_buffer& buffer) {
  return std::shared_ptr<Py_buffer>(new Py_buffer(buffer), [](Py_buffer* last) {
    PyBuffer_Release(last);
    delete last;
  });
}

[[noreturn]] void ThrowBuffer(const char* what) {
  PyErr_SetString(PyExc_BufferError, what);
  throw nb::python_error();
}

hr_dtype IntegerOf(bool is_signed, Py_ssize_t size) {
  switch (size) {
    case 1: return is_signed ? HR_INT8 : HR_UINT8;
    case 2: return is_signed ? HR_INT16 : HR_UINT16;
    case 4: return is_signed ? HR_INT32 : HR_UINT32;
    case 8: return is_signed ? HR_INT64 : HR_UINT64;
    default: return HR_UNDEFINED;
  }
}

hr_dtype DtypeOf(const Py_buffer& buffer) {
  const char* format = buffer.format == nullptr ? "B" : buffer.format;
  if (std::strchr("@=<", *format) != nullptr && *format != '\0') ++format;
  if (std::strlen(format) != 1) return HR_UNDEFINED;
  if (std::strchr("bhilqn", *format) != nullptr) return IntegerOf(true, buffer.itemsize);
  if (std::strchr("BHILQN", *format) != nullptr) return IntegerOf(false, buffer.itemsize);
  switch (*format) {
    case 'f': return HR_FLOAT32;
    case 'd': return HR_FLOAT64;
    case 'e': return HR_FLOAT16;
    case '?': return HR_BOOL;
    default: return HR_UNDEFINED;
  }
}

}  // namespace

Memory::Memory(nb::handle object, bool writable, Where where) {
  Py_buffer buffer;
  const int flags = writable ? PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE : PyBUF_C_CONTIGUOUS;
  if (PyObject_GetBuffer(object.ptr(), &buffer, flags) == 0) {
    buffer_ = ShareBuffer(buffer);
    return;
  }
  nb::python_error error;
  if (error.matches(PyExc_TypeError)) ThrowType(where, "an array or another buffer", object);
  Throw(HR_INVALID_ARGUMENT,
        std::string(where.function) + ": '" + where.argument + "' must be " +
            (writable ? "writable and contiguous memory" : "contiguous memory") + "; " +
            nb::cast<std::string>(nb::str(error.value())));
}

void Memory::CheckElements(uint64_t count, hr_dtype dtype, int32_t ranks, Where where) const {
  if (buffer_ == nullptr) return;
  const uint64_t size = api.hr_dtype_size(dtype);
  uint64_t needed = 0;
  if (!__builtin_mul_overflow(count, size, &needed) &&
      !__builtin_mul_overflow(needed, static_cast<uint64_t>(ranks), &needed) && needed <= bytes()) {
    return;
  }
  Throw(HR_INVALID_ARGUMENT,
        std::string(where.function) + ": '" + where.argument + "' has " + std::to_string(bytes()) +
            " bytes, but " + std::to_string(count) + " elements of " + api.hr_dtype_name(dtype) +
            (ranks > 1 ? " for each of " + std::to_string(ranks) + " ranks" : "") + " need " +
            std::to_string(needed));
}

Memory MemoryOrNull(nb::handle object, bool writable, Where where) {
  return object.is_none() ? Memory() : Memory(object, writable, where);
}

void DropLater(PyObject* object) {
  mailbox.Post([object] { Py_DECREF(object); });
}

void DropLater(std::shared_ptr<Py_buffer> buffer) {
  mailbox.Post([buffer = std::move(buffer)] {});
}

// ---- Tensors in memory of Python ----

namespace {

// What a tensor is in, in the layout of DLPack. The library frees it through the deleter.
struct Exported {
  hr_dlpack managed{};
  std::vector<int64_t> dims, strides;
  std::shared_ptr<Py_buffer> buffer;
};

void SetDtype(hr_dtype dtype, hr_dlpack_dtype* out) {
  const auto bits = static_cast<uint8_t>(8 * api.hr_dtype_size(dtype));
  switch (dtype) {
    case HR_BOOL: *out = {6, bits, 1}; break;
    case HR_BFLOAT16: *out = {4, bits, 1}; break;
    case HR_FLOAT8E4M3FN: *out = {10, bits, 1}; break;
    case HR_FLOAT8E4M3FNUZ: *out = {11, bits, 1}; break;
    case HR_FLOAT8E5M2: *out = {12, bits, 1}; break;
    case HR_FLOAT8E5M2FNUZ: *out = {13, bits, 1}; break;
    case HR_FLOAT16:
    case HR_FLOAT32:
    case HR_FLOAT64: *out = {2, bits, 1}; break;
    case HR_INT8:
    case HR_INT16:
    case HR_INT32:
    case HR_INT64: *out = {0, bits, 1}; break;
    default: *out = {1, bits, 1}; break;
  }
}

std::unique_ptr<Exported> ExportedOf(std::shared_ptr<Py_buffer> buffer, hr_dtype dtype) {
  auto out = std::make_unique<Exported>();
  for (int i = 0; i < buffer->ndim; ++i) {
    const Py_ssize_t stride = buffer->strides[i];
    out->dims.push_back(buffer->shape[i]);
    if (buffer->shape[i] > 1 && (stride < 0 || stride % buffer->itemsize != 0)) {
      ThrowBuffer("a tensor cannot have elements in backward order, or between elements");
    }
    out->strides.push_back(stride < 0 ? 0 : stride / buffer->itemsize);
  }
  hr_dlpack_tensor& tensor = out->managed.dl_tensor;
  tensor.data = buffer->buf;
  tensor.device = {1, 0};
  tensor.ndim = buffer->ndim;
  SetDtype(dtype, &tensor.dtype);
  tensor.shape = out->dims.data();
  tensor.strides = out->strides.data();
  out->buffer = std::move(buffer);
  out->managed.version = {1, 0};
  out->managed.flags = HR_DLPACK_READ_ONLY;
  out->managed.manager_ctx = out.get();
  out->managed.deleter = [](hr_dlpack* self) {
    auto* exported = static_cast<Exported*>(self->manager_ctx);
    DropLater(std::move(exported->buffer));
    delete exported;
  };
  return out;
}

// The context of a tensor in writable memory.
void DropBuffer(void* context) {
  auto* buffer = static_cast<std::shared_ptr<Py_buffer>*>(context);
  DropLater(std::move(*buffer));
  delete buffer;
}

hr_tensor* WrapWritable(const Exported& from, hr_dtype dtype) {
  auto* kept = new std::shared_ptr<Py_buffer>(from.buffer);
  size_t last = 0;  // the last element, counted from the first
  bool is_empty = false;
  for (size_t i = 0; i < from.dims.size(); ++i) {
    is_empty = is_empty || from.dims[i] == 0;
    if (from.dims[i] > 0) last += static_cast<size_t>((from.dims[i] - 1) * from.strides[i]);
  }
  const size_t bytes = is_empty ? 0 : (last + 1) * api.hr_dtype_size(dtype);
  const bool contiguous = PyBuffer_IsContiguous(from.buffer.get(), 'C') != 0;
  hr_tensor* tensor = nullptr;
  hr_status* status = api.hr_tensor_wrap_strided(
      dtype, from.dims.size(), from.dims.data(), contiguous ? nullptr : from.strides.data(),
      from.buffer->buf, bytes, DropBuffer, kept, &tensor);
  if (status != nullptr) delete kept;
  Check(status);
  return tensor;
}

}  // namespace

nb::object TensorOfBuffer(nb::handle object) {
  Py_buffer raw;
  if (PyObject_GetBuffer(object.ptr(), &raw, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    throw nb::python_error();
  }
  auto buffer = ShareBuffer(raw);
  const hr_dtype dtype = DtypeOf(*buffer);
  if (dtype == HR_UNDEFINED) {
    ThrowBuffer(
        "there is no element type for these elements: expected numbers or booleans in the "
        "machine's byte order");
  }
  auto exported = ExportedOf(buffer, dtype);
  if (buffer->readonly == 0) return ToObject(WrapWritable(*exported, dtype));
  hr_tensor* tensor = nullptr;
  Check(api.hr_tensor_from_dlpack(&exported->managed, &tensor));
  static_cast<void>(exported.release());
  return ToObject(tensor);
}

namespace {

// A tensor of any type in writable memory whose elements follow each other.
nb::object TensorWrap(nb::handle data, nb::handle dtype, nb::handle dims) {
  Memory memory(data, true, {"hr_tensor_wrap", "data"});
  const Numbers<int64_t> sizes(dims, {"hr_tensor_wrap", "dims"});
  auto* kept = new std::shared_ptr<Py_buffer>(memory.share());
  hr_tensor* tensor = nullptr;
  hr_status* status =
      api.hr_tensor_wrap(To<hr_dtype>(dtype, {"hr_tensor_wrap", "dtype"}), sizes.size(),
                         sizes.get(), memory.data(), memory.bytes(), DropBuffer, kept, &tensor);
  if (status != nullptr) delete kept;
  Check(status);
  return ToObject(tensor);
}

// ---- DLPack ----

// The layout of before DLPack 1.0, which has no version and no flags.
struct Unversioned {
  hr_dlpack_tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(Unversioned* self);
};

constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kUnversioned = "dltensor";

// A tensor of somebody else. Its deleter may need the interpreter's lock, so it is called later.
template <class Managed>
hr_dlpack* Import(Managed* theirs, uint64_t flags) {
  auto* ours = new hr_dlpack{};
  ours->version = {1, 0};
  ours->flags = flags;
  ours->dl_tensor = theirs->dl_tensor;
  ours->manager_ctx = theirs;
  ours->deleter = [](hr_dlpack* self) {
    auto* managed = static_cast<Managed*>(self->manager_ctx);
    delete self;
    mailbox.Post([managed] {
      if (managed->deleter != nullptr) managed->deleter(managed);
    });
  };
  return ours;
}

nb::object TensorFromDlpack(nb::handle capsule) {
  const bool versioned = PyCapsule_IsValid(capsule.ptr(), kVersioned) != 0;
  if (!versioned && PyCapsule_IsValid(capsule.ptr(), kUnversioned) == 0) {
    ThrowType({"hr_tensor_from_dlpack", "capsule"}, "a DLPack capsule that nobody has taken",
              capsule);
  }
  hr_dlpack* ours;
  if (versioned) {
    auto* theirs = static_cast<hr_dlpack*>(PyCapsule_GetPointer(capsule.ptr(), kVersioned));
    if (theirs->version.major != 1) ThrowBuffer("expected version 1 of DLPack");
    ours = Import(theirs, theirs->flags);
  } else {
    ours = Import(static_cast<Unversioned*>(PyCapsule_GetPointer(capsule.ptr(), kUnversioned)), 0);
  }
  hr_tensor* tensor = nullptr;
  if (hr_status* status = api.hr_tensor_from_dlpack(ours, &tensor)) {
    delete ours;
    Throw(status);
  }
  PyCapsule_SetName(capsule.ptr(), versioned ? "used_dltensor_versioned" : "used_dltensor");
  return ToObject(tensor);
}

template <class Managed>
nb::object CapsuleOf(Managed* managed, const char* name, PyCapsule_Destructor drop) {
  PyObject* capsule = PyCapsule_New(managed, name, drop);
  if (capsule != nullptr) return nb::steal(capsule);
  managed->deleter(managed);
  throw nb::python_error();
}

// Frees what a capsule has that nobody has taken.
template <class Managed>
void DropCapsule(PyObject* capsule, const char* name) {
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

nb::object TensorToDlpack(nb::handle object, nb::handle versioned) {
  auto tensor = Borrow<hr_tensor>(object, {"hr_tensor_to_dlpack", "tensor"});
  hr_dlpack* managed = nullptr;
  Check(Released([&] { return api.hr_tensor_to_dlpack(tensor.get(), &managed); }));
  if (PyObject_IsTrue(versioned.ptr()) != 0) {
    return CapsuleOf(managed, kVersioned,
                     [](PyObject* capsule) { DropCapsule<hr_dlpack>(capsule, kVersioned); });
  }
  if ((managed->flags & HR_DLPACK_READ_ONLY) != 0) {
    managed->deleter(managed);
    ThrowBuffer("the tensor is read-only, which DLPack cannot say before its version 1.0");
  }
  auto* old = new Unversioned{managed->dl_tensor, managed, [](Unversioned* self) {
                                auto* inner = static_cast<hr_dlpack*>(self->manager_ctx);
                                inner->deleter(inner);
                                delete self;
                              }};
  return CapsuleOf(old, kUnversioned,
                   [](PyObject* capsule) { DropCapsule<Unversioned>(capsule, kUnversioned); });
}

// ---- The buffer protocol of tensors ----

std::unique_ptr<ViewOf> ViewOfTensor(std::shared_ptr<hr_tensor> tensor) {
  auto view = std::make_unique<ViewOf>();
  view->data = api.hr_tensor_data(tensor.get());
  view->dtype = api.hr_tensor_dtype(tensor.get());
  const auto size = static_cast<Py_ssize_t>(api.hr_dtype_size(view->dtype));
  const size_t rank = api.hr_tensor_rank(tensor.get());
  const int64_t* dims = api.hr_tensor_dims(tensor.get());
  const int64_t* strides = api.hr_tensor_strides(tensor.get());
  view->dims.assign(dims, dims + rank);
  view->strides.resize(rank);
  Py_ssize_t stride = size;
  for (size_t i = rank; i-- > 0;) {
    view->strides[i] = strides != nullptr ? strides[i] * size : stride;
    stride *= dims[i];
  }
  view->read_only = api.hr_tensor_read_only(tensor.get()) != 0;
  view->owner = std::move(tensor);
  return view;
}

int TensorGetBuffer(PyObject* self, Py_buffer* out, int flags) {
  out->obj = nullptr;
  try {
    auto view = ViewOfTensor(Borrow<hr_tensor>(self, {"memoryview", "tensor"}));
    view->format = FormatOf(view->dtype);
    if (view->data == nullptr &&
        api.hr_tensor_elements(static_cast<hr_tensor*>(view->owner.get())) > 0) {
      ThrowBuffer("the tensor is in the memory of a device");
    }
    if (*view->format == '\0') ThrowBuffer("buffers of Python cannot hold this element type");
    return FillView(std::move(view), self, out, flags);
  } catch (nb::python_error& error) {
    error.restore();
    return -1;
  }
}

void TensorReleaseBuffer(PyObject*, Py_buffer* buffer) {
  delete static_cast<ViewOf*>(buffer->internal);
}

// The elements of a contiguous tensor, of any type.
Block BlockOf(nb::handle object) {
  auto tensor = Borrow<hr_tensor>(object, {"block_of", "tensor"});
  const auto view = ViewOfTensor(tensor);
  Block block;
  block.dtype = view->dtype;
  block.dims.assign(view->dims.begin(), view->dims.end());
  block.data = view->data;
  block.read_only = view->read_only;
  block.owner = tensor;
  if (api.hr_tensor_strides(tensor.get()) != nullptr) ThrowBuffer("the tensor is not contiguous");
  return block;
}

}  // namespace

PyType_Slot* TensorSlots() {
  static PyType_Slot slots[] = {
      {Py_bf_getbuffer, reinterpret_cast<void*>(TensorGetBuffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(TensorReleaseBuffer)},
      {0, nullptr},
  };
  return slots;
}

void DefineMemory(nb::module_& module) {
  Def<&TensorOfBuffer>(module, "tensor_of_buffer");
  Def<&TensorWrap>(module, "hr_tensor_wrap");
  Def<&TensorFromDlpack>(module, "hr_tensor_from_dlpack");
  Def<&TensorToDlpack>(module, "hr_tensor_to_dlpack");
  Def<&BlockOf>(module, "block_of");
}

}  // namespace hr::python
