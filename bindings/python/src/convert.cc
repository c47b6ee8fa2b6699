#include "convert.h"

#include <cstring>

namespace nb = nanobind;

namespace hr::python {
namespace {

// The object as Python's int, which it may be, or may offer by __index__ as NumPy's integers do.
nb::object Index(nb::handle object, Where where) {
  PyObject* index = PyNumber_Index(object.ptr());
  if (index != nullptr) return nb::steal(index);
  PyErr_Clear();
  ThrowType(where, "an integer", object);
}

}  // namespace

void ThrowRange(Where where, const char* type) {
  PyErr_Format(PyExc_OverflowError, "%s: '%s' is out of the range of %s", where.function,
               where.argument, type);
  throw nb::python_error();
}

int64_t ToInt64(nb::handle object, Where where) {
  nb::object index = Index(object, where);
  const long long value = PyLong_AsLongLong(index.ptr());
  if (value != -1 || PyErr_Occurred() == nullptr) return value;
  PyErr_Clear();
  ThrowRange(where, "a 64-bit integer");
}

uint64_t ToUint64(nb::handle object, Where where) {
  nb::object index = Index(object, where);
  const unsigned long long value = PyLong_AsUnsignedLongLong(index.ptr());
  if (value != static_cast<unsigned long long>(-1) || PyErr_Occurred() == nullptr) return value;
  PyErr_Clear();
  ThrowRange(where, "an unsigned 64-bit integer");
}

double ToDouble(nb::handle object, Where where) {
  const double value = PyFloat_AsDouble(object.ptr());
  if (value != -1 || PyErr_Occurred() == nullptr) return value;
  PyErr_Clear();
  ThrowType(where, "a number", object);
}

Text::Text(nb::handle object, Where where) {
  if (!PyUnicode_Check(object.ptr())) ThrowType(where, "a str", object);
  Py_ssize_t size = 0;
  text_ = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (text_ == nullptr) throw nb::python_error();  // a lone surrogate
  if (std::strlen(text_) == static_cast<size_t>(size)) return;
  Throw(HR_INVALID_ARGUMENT, std::string(where.function) + ": '" + where.argument +
                                 "' has a NUL character, which texts of the library cannot have; "
                                 "remove it");
}

std::vector<nb::object> Elements(nb::handle sequence, Where where) {
  if (PyUnicode_Check(sequence.ptr()) || PySequence_Check(sequence.ptr()) == 0) {
    ThrowType(where, "a list or tuple", sequence);
  }
  const Py_ssize_t size = PySequence_Size(sequence.ptr());
  if (size < 0) throw nb::python_error();
  std::vector<nb::object> elements;
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyObject* one = PySequence_GetItem(sequence.ptr(), i);
    if (one == nullptr) throw nb::python_error();
    elements.push_back(nb::steal(one));
  }
  return elements;
}

void CheckLength(size_t length, size_t expected, Where where) {
  if (length == expected) return;
  Throw(HR_INVALID_ARGUMENT, std::string(where.function) + ": '" + where.argument + "' has " +
                                 std::to_string(length) + " elements, expected " +
                                 std::to_string(expected) + ", as many as the list before it");
}

Texts::Texts(nb::handle sequence, Where where, bool holes) : objects_(Elements(sequence, where)) {
  for (const auto& one : objects_) {
    texts_.push_back(holes && one.is_none() ? nullptr : Text(one, where).get());
  }
}

Settings::Settings(nb::handle dict, Where where) : where_(where), dict_(nb::borrow(dict)) {
  if (!PyDict_Check(dict.ptr())) ThrowType(where, "a dict of settings", dict);
}

nb::object Settings::Take(const char* field) {
  known_.push_back(field);
  PyObject* value = PyDict_GetItemString(dict_.ptr(), field);
  if (value == nullptr) return {};
  ++taken_;
  if (value == Py_None) return {};
  values_.push_back(nb::borrow(value));
  return values_.back();
}

void Settings::CheckAllTaken() const {
  if (taken_ == nb::len(dict_)) return;
  std::string names;
  for (const auto& one : known_) names += (names.empty() ? "" : ", ") + one;
  for (nb::handle key : nb::borrow<nb::dict>(dict_).keys()) {
    const std::string name = nb::cast<std::string>(nb::str(key));
    bool known = false;
    for (const auto& one : known_) known = known || one == name;
    if (known) continue;
    Throw(HR_INVALID_ARGUMENT, std::string(where_.function) + ": there is no setting '" + name +
                                   "'; the settings are " + names);
  }
}

nb::object ToPython(const char* text) {
  if (text == nullptr) return nb::none();
  PyObject* object =
      PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "surrogateescape");
  if (object == nullptr) throw nb::python_error();
  return nb::steal(object);
}

nb::object TakeText(hr_text* text) {
  if (text == nullptr) return nb::none();
  PyObject* object = PyUnicode_DecodeUTF8(
      api.hr_text_data(text), static_cast<Py_ssize_t>(api.hr_text_size(text)), "surrogateescape");
  api.hr_text_release(text);
  if (object == nullptr) throw nb::python_error();
  return nb::steal(object);
}

}  // namespace hr::python
