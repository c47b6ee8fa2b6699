// Data sets whose batches functions of Python make.
#include <vector>

#include "callbacks.h"
#include "convert.h"
#include "define.h"
#include "limits.h"

namespace nb = nanobind;

namespace hr::python {
namespace {

// (next, seek)
nb::object FunctionOf(void* context, size_t index) {
  return nb::borrow<nb::tuple>(static_cast<PyObject*>(context))[index];
}

hr_status* Next(void* context, int64_t examples, size_t field_count, hr_tensor** out,
                int32_t* out_end) {
  return Guarded([&] {
    nb::object batch = FunctionOf(context, 0)(examples);
    if (batch.is_none()) {
      *out_end = 1;
      return;
    }
    const Handles<hr_tensor> tensors(batch, {"next", "batch"});
    if (tensors.size() != field_count) {
      Throw(HR_INVALID_ARGUMENT, "next gave " + std::to_string(tensors.size()) +
                                     " tensors, expected one for each of the " +
                                     std::to_string(field_count) + " fields");
    }
    for (size_t i = 0; i < field_count; ++i) {
      hr_tensor* shared = nullptr;
      Check(api.hr_tensor_share(tensors.get()[i], &shared));
      if (out[i] != nullptr) api.hr_tensor_release(out[i]);
      out[i] = shared;
    }
  });
}

hr_status* Seek(void* context, int64_t epoch, int64_t first_example) {
  return Guarded([&] { FunctionOf(context, 1)(epoch, first_example); });
}

// The fields of a data set: a list of (name, dtype, dims).
struct Fields {
  explicit Fields(nb::handle list) {
    for (const auto& one : Elements(list, kWhere)) {
      const auto parts = Elements(one, kWhere);
      CheckLength(parts.size(), 3, kWhere);
      objects.push_back(parts[0]);
      dims.emplace_back(parts[2], Where{"hr_dataset_from_callbacks", "dims"});
      hr_dataset_field field{};
      field.struct_size = sizeof field;
      field.name = Text(parts[0], {"hr_dataset_from_callbacks", "name"}).get();
      field.dtype = To<hr_dtype>(parts[1], {"hr_dataset_from_callbacks", "dtype"});
      field.rank = dims.back().size();
      values.push_back(field);
    }
    for (size_t i = 0; i < values.size(); ++i) values[i].dims = dims[i].get();
  }

  static constexpr Where kWhere{"hr_dataset_from_callbacks", "fields"};
  std::vector<nb::object> objects;
  std::vector<Numbers<int64_t>> dims;
  std::vector<hr_dataset_field> values;
};

// `next` is called with a number of examples and returns a list of tensors, or None at the end of
// an epoch; `seek` is called with an epoch and an example, or is None.
nb::object DatasetFromCallbacks(nb::handle env_object, nb::handle next, nb::handle seek,
                                nb::handle examples, nb::handle field_list, nb::handle dict) {
  auto env = Borrow<hr_env>(env_object, {"hr_dataset_from_callbacks", "env"});
  const StructOf<hr_dataset_options> options(dict, {"hr_dataset_from_callbacks", "options"});
  const Fields fields(field_list);
  hr_dataset_callbacks callbacks{};
  callbacks.struct_size = sizeof callbacks;
  callbacks.next = Next;
  callbacks.seek = seek.is_none() ? nullptr : Seek;
  callbacks.release = DropContext;
  callbacks.examples = ToInt64(examples, {"hr_dataset_from_callbacks", "examples"});
  callbacks.context = Keep(nb::make_tuple(next, seek));
  hr_dataset* dataset = nullptr;
  hr_status* status = Released([&] {
    return api.hr_dataset_from_callbacks(env.get(), &callbacks, fields.values.size(),
                                         fields.values.data(), options.get(), &dataset);
  });
  if (status != nullptr) DropContext(callbacks.context);
  Check(status);
  return ToObject(dataset);
}

// `dict` has the fields of an hr_cache_options; its `options` are a dict, too.
nb::object DatasetCache(nb::handle object, nb::handle dict, nb::handle timeout, nb::handle cancel) {
  auto dataset = Borrow<hr_dataset>(object, {"hr_dataset_cache", "dataset"});
  Settings settings(dict, {"hr_dataset_cache", "options"});
  hr_cache_options options{};
  options.struct_size = sizeof options;
  settings.String("path", &options.path);
  settings.String("key", &options.key);
  nb::object drawn = settings.Take("options");
  settings.CheckAllTaken();
  const StructOf<hr_dataset_options> how(drawn.is_valid() ? drawn : nb::none(),
                                         {"hr_dataset_cache", "options"});
  options.options = how.get();
  Limits limits(timeout, cancel, "hr_dataset_cache");
  hr_dataset* out = nullptr;
  limits.Check(
      Released([&] { return api.hr_dataset_cache(dataset.get(), &options, limits.get(), &out); }));
  return ToObject(out);
}

}  // namespace

void DefineDatasets(nb::module_& module) {
  Def<&DatasetCache>(module, "hr_dataset_cache");
  Def<&DatasetFromCallbacks>(module, "hr_dataset_from_callbacks");
}

}  // namespace hr::python
