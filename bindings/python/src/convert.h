// Arguments from Python, and results for it.
#ifndef HEADRACE_PYTHON_CONVERT_H_
#define HEADRACE_PYTHON_CONVERT_H_

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "errors.h"
#include "objects.h"

namespace hr::python {

int64_t ToInt64(nanobind::handle object, Where where);
uint64_t ToUint64(nanobind::handle object, Where where);
double ToDouble(nanobind::handle object, Where where);
[[noreturn]] void ThrowRange(Where where, const char* type);

// Returns a number of type T; throws if the object is none, or does not fit.
template <class T>
T To(nanobind::handle object, Where where) {
  if constexpr (std::is_floating_point_v<T>) {
    return ToDouble(object, where);
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return ToInt64(object, where);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return ToUint64(object, where);
  } else {
    const int64_t value = ToInt64(object, where);
    if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
      ThrowRange(where, std::is_signed_v<T> ? "a 32-bit integer" : "a 32-bit unsigned integer");
    }
    return static_cast<T>(value);
  }
}

// A text for the library. The characters live as long as the object of Python.
class Text {
 public:
  Text(nanobind::handle object, Where where);
  const char* get() const { return text_; }

 protected:
  Text() = default;
  const char* text_ = nullptr;
};

// NULL for None.
class TextOrNull : public Text {
 public:
  TextOrNull(nanobind::handle object, Where where) {
    if (!object.is_none()) text_ = Text(object, where).get();
  }
};

// The elements of a list, tuple or other sequence, with references to them.
std::vector<nanobind::object> Elements(nanobind::handle sequence, Where where);
// Throws if an array has another length than the first of those that share a count.
void CheckLength(size_t length, size_t expected, Where where);

// Arrays for the library, which live as long as these objects. A list may change while the library
// works, so everything is copied or referenced.
template <class T>
class Numbers {
 public:
  // `unknown`: None is a list of unknown length, such as the dimensions of an unknown rank.
  Numbers(nanobind::handle sequence, Where where, bool unknown = false)
      : known_(!unknown || !sequence.is_none()) {
    if (!known_) return;
    for (const auto& one : Elements(sequence, where)) values_.push_back(To<T>(one, where));
  }
  const T* get() const { return values_.data(); }
  T* data() { return values_.data(); }
  size_t size() const { return values_.size(); }
  int32_t rank() const { return known_ ? static_cast<int32_t>(values_.size()) : -1; }

 private:
  bool known_;
  std::vector<T> values_;
};

class Texts {
 public:
  // `holes`: elements may be None, which is NULL.
  Texts(nanobind::handle sequence, Where where, bool holes = false);
  const char* const* get() const { return is_null_ ? nullptr : texts_.data(); }
  size_t size() const { return texts_.size(); }

 protected:
  Texts() = default;
  bool is_null_ = false;
  std::vector<nanobind::object> objects_;
  std::vector<const char*> texts_;
};

// NULL for None; then it has any length.
class TextsOrNull : public Texts {
 public:
  TextsOrNull(nanobind::handle sequence, Where where, bool holes = false) {
    if (sequence.is_none()) {
      is_null_ = true;
    } else {
      *static_cast<Texts*>(this) = Texts(sequence, where, holes);
    }
  }
  bool is_null() const { return is_null_; }
};

template <class T>
class Handles {
 public:
  Handles(nanobind::handle sequence, Where where) {
    for (const auto& one : Elements(sequence, where)) {
      owners_.push_back(Borrow<T>(one, where));
      handles_.push_back(owners_.back().get());
    }
  }
  const T* const* get() const { return handles_.data(); }
  size_t size() const { return handles_.size(); }

 private:
  std::vector<std::shared_ptr<T>> owners_;
  std::vector<const T*> handles_;
};

// The settings of a struct: a dict whose keys are names of fields. What a struct points to lives as
// long as this object.
class Settings {
 public:
  Settings(nanobind::handle dict, Where where);
  // Returns the value of a field, or an invalid object if there is none or it is None. Each field
  // is asked for once.
  nanobind::object Take(const char* field);
  // Throws if the dict has a key that nobody has asked for.
  void CheckAllTaken() const;

  template <class T>
  void Number(const char* field, T* out) {
    if (nanobind::object value = Take(field); value.is_valid()) *out = To<T>(value, At(field));
  }
  void String(const char* field, const char** out) {
    if (nanobind::object value = Take(field); value.is_valid()) *out = Text(value, At(field)).get();
  }
  template <class T>
  void Handle(const char* field, T** out) {
    nanobind::object value = Take(field);
    if (!value.is_valid()) return;
    auto owner = Borrow<std::remove_const_t<T>>(value, At(field));
    *out = owner.get();
    owners_.push_back(std::move(owner));
  }
  Where At(const char* field) const { return {where_.function, field}; }

 private:
  Where where_;
  nanobind::object dict_;
  size_t taken_ = 0;
  std::vector<std::string> known_;
  std::vector<nanobind::object> values_;
  std::vector<std::shared_ptr<void>> owners_;
};

// Returns a text and releases it.
nanobind::object TakeText(hr_text* text);
nanobind::object ToPython(const char* text);  // None for NULL

template <class T>
nanobind::object ListOf(const T* values, int64_t count) {
  if (count < 0) return nanobind::none();
  nanobind::list list;
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_pointer_v<T>) {
      list.append(ToPython(values[i]));
    } else {
      list.append(nanobind::cast(values[i]));
    }
  }
  return list;
}

template <class T>
nanobind::object ListOfOrNone(const T* values, int64_t count) {
  if (values == nullptr) return nanobind::none();
  return ListOf(values, count);
}

// Read(Settings&, T*) and ToPython(const T&) of structs.
#include "generated/structs.inc"

// A struct of settings made of a dict; NULL for None. The dict may be changed meanwhile.
template <class T>
class StructOf {
 public:
  StructOf(nanobind::handle dict, Where where) : is_null_(dict.is_none()) {
    if (is_null_) return;
    settings_ = std::make_unique<Settings>(dict, where);
    value_.struct_size = sizeof value_;
    Read(*settings_, &value_);
    settings_->CheckAllTaken();
  }
  const T* get() const { return is_null_ ? nullptr : &value_; }

 private:
  bool is_null_;
  T value_{};
  std::unique_ptr<Settings> settings_;
};

// An array of such structs, made of a list of dicts.
template <class T>
class StructsOf {
 public:
  StructsOf(nanobind::handle list, Where where) {
    for (const auto& one : Elements(list, where)) {
      owners_.push_back(std::make_unique<StructOf<T>>(one, where));
      if (owners_.back()->get() == nullptr) ThrowType(where, "a list of dicts", one);
      values_.push_back(*owners_.back()->get());
    }
  }
  const T* get() const { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  std::vector<std::unique_ptr<StructOf<T>>> owners_;
  std::vector<T> values_;
};

// Returns a list of new handles.
template <class T>
nanobind::object ListOfHandles(const std::vector<T*>& handles) {
  nanobind::list list;
  for (T* one : handles) list.append(ToObject(one));
  return list;
}

}  // namespace hr::python

#endif  // HEADRACE_PYTHON_CONVERT_H_
