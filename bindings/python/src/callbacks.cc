#include "callbacks.h"

#include <cstring>

#include "convert.h"
#include "define.h"
#include "limits.h"
#include "mailbox.h"

namespace nb = nanobind;

namespace hr::python {

hr_status* Guarded(const std::function<void()>& function) {
  WithGil with;
  if (!with.ok()) return api.hr_status_create(HR_CANCELLED, "the Python interpreter is ending");
  hr_status* failure = nullptr;
  OrStay([&] {
    try {
      function();
    } catch (nb::python_error& error) {
      failure = FailureOf(error);
    } catch (const std::exception& error) {
      failure = FailureOf(error);
    }
  });
  return failure;
}

void OnDoneTrampoline(void* context, const hr_status* status) {
  hr_status* failure = Guarded([&] {
    nb::object callback = nb::steal(static_cast<PyObject*>(context));
    nb::object exception = status == nullptr
                               ? nb::none()
                               : ExceptionOf(api.hr_status_create(api.hr_status_code(status),
                                                                  api.hr_status_message(status)));
    try {
      callback(exception);
    } catch (nb::python_error& error) {
      error.restore();
      PyErr_WriteUnraisable(callback.ptr());
    }
  });
  if (failure != nullptr) api.hr_status_release(failure);
}

namespace {

// ---- Envs ----

void WriteLog(void* context, hr_log_level level, const char* message) {
  auto* callable = static_cast<PyObject*>(context);  // lives until ReleaseLog's work is done
  mailbox.Post([callable, level, text = std::string(message)] {
    try {
      const nb::handle function(callable);
      function(level, ToPython(text.c_str()));
    } catch (nb::python_error& error) {
      error.restore();
      PyErr_WriteUnraisable(callable);
    }
  });
}

// A service of the host that is no function of Python: the address of its struct.
template <class T>
const T* ServiceAt(Settings& settings, const char* field) {
  uint64_t address = 0;
  settings.Number(field, &address);
  return reinterpret_cast<const T*>(address);
}

nb::object EnvCreate(nb::handle dict) {
  Settings settings(dict, {"hr_env_create", "options"});
  hr_env_options options{};
  options.struct_size = sizeof options;
  settings.Number("threads", &options.threads);
  settings.String("cost_table", &options.cost_table);
  options.allocator = ServiceAt<hr_allocator>(settings, "allocator");
  options.clock = ServiceAt<hr_clock>(settings, "clock");
  options.executor = ServiceAt<hr_executor>(settings, "executor");
  hr_log_sink sink{};
  nb::object log = settings.Take("log");
  settings.CheckAllTaken();
  if (log.is_valid()) {
    sink = {.struct_size = sizeof sink,
            .context = Keep(log),
            .write = WriteLog,
            .release = DropContext};
    options.log = &sink;
  }
  hr_env* env = nullptr;
  hr_status* status = Released([&] { return api.hr_env_create(&options, &env); });
  if (status != nullptr && log.is_valid()) DropContext(sink.context);
  Check(status);
  return ToObject(env);
}

// ---- Stores ----

// The three functions of a store, in a tuple.
nb::object FunctionOf(void* context, size_t index) {
  return nb::borrow<nb::tuple>(static_cast<PyObject*>(context))[index];
}

nb::object Bytes(const char* data, size_t size) { return nb::bytes(data, size); }

hr_status* StoreGet(void* context, const char* key, char* value, size_t capacity,
                    int64_t* out_size) {
  return Guarded([&] {
    nb::object found = FunctionOf(context, 0)(ToPython(key));
    *out_size = -1;
    if (found.is_none()) return;
    Memory memory(found, false, {"get", "result"});
    *out_size = static_cast<int64_t>(memory.bytes());
    if (memory.bytes() > 0) std::memcpy(value, memory.data(), std::min(capacity, memory.bytes()));
  });
}

hr_status* StoreSwap(void* context, const char* key, const char* expected, size_t expected_size,
                     const char* desired, size_t desired_size, int32_t* out_swapped) {
  return Guarded([&] {
    nb::object was = expected == nullptr ? nb::none() : Bytes(expected, expected_size);
    nb::object swapped = FunctionOf(context, 1)(ToPython(key), was, Bytes(desired, desired_size));
    *out_swapped = PyObject_IsTrue(swapped.ptr()) == 1 ? 1 : 0;
  });
}

hr_status* StoreRemove(void* context, const char* key) {
  return Guarded([&] { FunctionOf(context, 2)(ToPython(key)); });
}

nb::object StoreFromCallbacks(nb::handle get, nb::handle compare_and_swap, nb::handle remove) {
  nb::tuple functions = nb::make_tuple(get, compare_and_swap, remove);
  hr_store_callbacks callbacks{.struct_size = sizeof callbacks,
                               .context = Keep(functions),
                               .get = StoreGet,
                               .compare_and_swap = StoreSwap,
                               .remove = StoreRemove,
                               .release = DropContext};
  hr_store* store = nullptr;
  hr_status* status = Released([&] { return api.hr_store_from_callbacks(&callbacks, &store); });
  if (status != nullptr) DropContext(callbacks.context);
  Check(status);
  return ToObject(store);
}

// ---- Models ----

nb::object ModelLoadMemory(nb::handle env_object, nb::handle data, nb::handle dict) {
  auto env = Borrow<hr_env>(env_object, {"hr_model_load_memory", "env"});
  Memory memory(data, false, {"hr_model_load_memory", "data"});
  const StructOf<hr_load_options> options(dict, {"hr_model_load_memory", "options"});
  auto* kept = new std::shared_ptr<Py_buffer>(memory.share());
  auto release = [](void* context) {
    auto* buffer = static_cast<std::shared_ptr<Py_buffer>*>(context);
    DropLater(std::move(*buffer));
    delete buffer;
  };
  hr_model* model = nullptr;
  hr_status* status = Released([&] {
    return api.hr_model_load_memory(env.get(), memory.data(), memory.bytes(), release, kept,
                                    options.get(), &model);
  });
  if (status != nullptr) delete kept;
  Check(status);
  return ToObject(model);
}

hr_status* ReadPart(void* context, uint64_t offset, void* out, size_t bytes) {
  return Guarded([&] {
    nb::object part = nb::handle(static_cast<PyObject*>(context))(offset, bytes);
    Memory memory(part, false, {"read", "result"});
    if (memory.bytes() != bytes) {
      Throw(HR_DATA_LOSS, "read gave " + std::to_string(memory.bytes()) + " bytes at offset " +
                              std::to_string(offset) + ", expected " + std::to_string(bytes));
    }
    if (bytes > 0) std::memcpy(out, memory.data(), bytes);
  });
}

nb::object ModelLoadCallback(nb::handle env_object, nb::handle read, nb::handle total_bytes,
                             nb::handle dict) {
  auto env = Borrow<hr_env>(env_object, {"hr_model_load_callback", "env"});
  const StructOf<hr_load_options> options(dict, {"hr_model_load_callback", "options"});
  hr_reader reader{.struct_size = sizeof reader,
                   .context = read.ptr(),
                   .total_bytes = ToUint64(total_bytes, {"hr_model_load_callback", "total_bytes"}),
                   .read = ReadPart,
                   .release = nullptr};
  hr_model* model = nullptr;
  Check(Released(
      [&] { return api.hr_model_load_callback(env.get(), &reader, options.get(), &model); }));
  return ToObject(model);
}

// ---- Calls ----

// Makes runs write the output to memory of the call again. (Memory of Python is given as a tensor,
// which the call keeps alive.)
void CallOutput(nb::handle object, nb::handle output) {
  auto call = Borrow<hr_call>(object, {"hr_call_output", "call"});
  Text name(output, {"hr_call_output", "output"});
  Check(Released([&] { return api.hr_call_output(call.get(), name.get(), nullptr, 0); }));
}

// ---- Training ----

// The functions of a training; NULL if there are none.
struct Watcher {
  nb::object on_step, on_evaluate, on_message;
};

hr_status* OnStep(void* context, const hr_train_report* report, int32_t* out_stop) {
  return Guarded([&] {
    nb::object stop = static_cast<Watcher*>(context)->on_step(ToPython(*report));
    const int truth = PyObject_IsTrue(stop.ptr());
    if (truth < 0) throw nb::python_error();
    *out_stop = truth;
  });
}

hr_status* OnEvaluate(void* context, const hr_train_report* report, size_t count,
                      const char* const* names, const double* values) {
  return Guarded([&] {
    nb::dict metrics;
    for (size_t i = 0; i < count; ++i) metrics[ToPython(names[i])] = values[i];
    static_cast<Watcher*>(context)->on_evaluate(ToPython(*report), metrics);
  });
}

void OnMessage(void* context, const char* message) {
  hr_status* failure =
      Guarded([&] { static_cast<Watcher*>(context)->on_message(ToPython(message)); });
  if (failure != nullptr) api.hr_status_release(failure);
}

void ReadTraining(Settings& settings, hr_train_options* out, Watcher* watcher) {
  settings.String("train_signature", &out->train_signature);
  settings.String("eval_signature", &out->eval_signature);
  settings.Handle("train_data", &out->train_data);
  settings.Handle("eval_data", &out->eval_data);
  settings.Handle("group", &out->group);
  settings.String("bound_group", &out->bound_group);
  settings.Handle("elastic_group", &out->elastic_group);
  settings.Number("min_ranks", &out->min_ranks);
  settings.Number("max_ranks", &out->max_ranks);
  settings.Number("max_steps", &out->max_steps);
  settings.String("checkpoint_directory", &out->checkpoint_directory);
  settings.Number("checkpoint_steps", &out->checkpoint_steps);
  settings.Number("keep_checkpoints", &out->keep_checkpoints);
  settings.String("event_directory", &out->event_directory);
  settings.Number("summary_steps", &out->summary_steps);
  settings.Number("eval_steps", &out->eval_steps);
  settings.String("best_metric", &out->best_metric);
  settings.Number("best_is_smallest", &out->best_is_smallest);
  settings.Number("restore_best", &out->restore_best);
  settings.Number("patience", &out->patience);
  watcher->on_step = settings.Take("on_step");
  watcher->on_evaluate = settings.Take("on_evaluate");
  watcher->on_message = settings.Take("on_message");
  out->on_step = watcher->on_step.is_valid() ? OnStep : nullptr;
  out->on_evaluate = watcher->on_evaluate.is_valid() ? OnEvaluate : nullptr;
  out->on_message = watcher->on_message.is_valid() ? OnMessage : nullptr;
  out->context = watcher;
}

// `scalar_names` and `scalars` are the inputs that are bound once.
nb::object Train(nb::handle session_object, nb::handle dict, nb::handle scalar_names,
                 nb::handle scalars, nb::handle timeout, nb::handle cancel) {
  auto session = Borrow<hr_session>(session_object, {"hr_train", "session"});
  Settings settings(dict, {"hr_train", "options"});
  hr_train_options options{};
  options.struct_size = sizeof options;
  Watcher watcher;
  ReadTraining(settings, &options, &watcher);
  settings.CheckAllTaken();
  Texts names(scalar_names, {"hr_train", "scalar_names"});
  Numbers<double> values(scalars, {"hr_train", "scalars"});
  CheckLength(values.size(), names.size(), {"hr_train", "scalars"});
  options.scalar_count = names.size();
  options.scalar_names = names.get();
  options.scalars = values.get();
  Limits limits(timeout, cancel, "hr_train");
  hr_train_report report{};
  report.struct_size = sizeof report;
  limits.Check(
      Released([&] { return api.hr_train(session.get(), &options, limits.get(), &report); }));
  return ToPython(report);
}

}  // namespace

void DefineCallbacks(nb::module_& module) {
  Def<&EnvCreate>(module, "hr_env_create");
  Def<&StoreFromCallbacks>(module, "hr_store_from_callbacks");
  Def<&ModelLoadMemory>(module, "hr_model_load_memory");
  Def<&ModelLoadCallback>(module, "hr_model_load_callback");
  Def<&CallOutput>(module, "hr_call_output");
  Def<&Train>(module, "hr_train");
}

}  // namespace hr::python
