// The managed training loop, event files, and progress bars.
#ifndef HEADRACE_CPP_TRAIN_HPP_
#define HEADRACE_CPP_TRAIN_HPP_

#include "headrace/cpp/session.hpp"

namespace hr {
inline namespace cpp {

// The options of a training; see hr_train_options. If one of the functions throws, the training is
// saved and ends, and train() throws the exception again.
struct TrainOptions {
  const Dataset* train_data = nullptr;  // the training runs through its pass
  const Dataset* eval_data = nullptr;   // may be nullptr
  std::string train_signature;          // "": "train"
  std::string eval_signature;           // "": "eval"
  int64_t max_steps = 0;                // 0: to the end of the data
  std::vector<std::pair<std::string, double>>
      scalars;                       // inputs that are bound once: the learning rate
  std::string checkpoint_directory;  // "": none
  int64_t checkpoint_steps = 0;  // the steps from one checkpoint to the next; 0: only at the end
  int32_t keep_checkpoints = 0;  // 0: 5
  std::string event_directory;   // "": none
  int64_t summary_steps = 0;     // 0: 100
  int64_t eval_steps = 0;        // 0: only at the end
  // Called after every step; false stops the training, with a checkpoint.
  std::function<bool(const hr_train_report& report)> on_step;
  std::function<void(const std::string& message)> on_message;
  std::string best_metric;  // "": none
  bool best_is_smallest = false;
  bool restore_best = false;  // at the end the session gets the best checkpoint
  int64_t patience = 0;       // evaluations that are no better before it stops; 0: it does not
  // Called after each evaluation with its metrics, before on_step.
  std::function<void(const hr_train_report& report,
                     const std::vector<std::pair<std::string, double>>& metrics)>
      on_evaluate;
  const Group* group = nullptr;  // for which this process writes checkpoints; may be nullptr
  std::string bound_group;       // whose ranks all train together; "": this process alone
};

namespace detail {

// The functions of a training, and the first exception that one of them has thrown.
struct TrainCallbacks {
  const TrainOptions& options;
  std::exception_ptr failure;

  static hr_status* step(void* context, const hr_train_report* report, int32_t* out_stop) noexcept {
    auto* self = static_cast<TrainCallbacks*>(context);
    self->guard([&] {
      if (self->options.on_step) *out_stop = self->options.on_step(*report) ? 0 : 1;
    });
    if (self->failure) *out_stop = 1;  // train() throws it again
    return nullptr;
  }
  static hr_status* evaluated(void* context, const hr_train_report* report, size_t count,
                              const char* const* names, const double* values) noexcept {
    auto* self = static_cast<TrainCallbacks*>(context);
    self->guard([&] {
      if (!self->options.on_evaluate) return;
      std::vector<std::pair<std::string, double>> metrics;
      for (size_t i = 0; i < count; ++i) metrics.emplace_back(names[i], values[i]);
      self->options.on_evaluate(*report, metrics);
    });
    return nullptr;  // on_step stops the training
  }
  static void message(void* context, const char* text) noexcept {
    auto* self = static_cast<TrainCallbacks*>(context);
    self->guard([&] {
      if (self->options.on_message) self->options.on_message(text);
    });
  }

 private:
  template <typename Function>
  void guard(const Function& function) noexcept {
    try {
      function();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
};

inline hr_train_report empty_report() {
  hr_train_report out{};
  out.struct_size = sizeof out;
  return out;
}

}  // namespace detail

// Runs a training; see hr_train.
inline hr_train_report train(const Session& session, const TrainOptions& given,
                             const hr_limits* limits = nullptr) {
  std::vector<const char*> names;
  std::vector<double> scalars;
  for (const auto& [name, value] : given.scalars) {
    names.push_back(name.c_str());
    scalars.push_back(value);
  }
  detail::TrainCallbacks callbacks{given, nullptr};
  hr_train_options options{};
  options.struct_size = sizeof options;
  options.train_signature = detail::or_null(given.train_signature);
  options.eval_signature = detail::or_null(given.eval_signature);
  options.train_data = given.train_data == nullptr ? nullptr : given.train_data->get();
  options.eval_data = given.eval_data == nullptr ? nullptr : given.eval_data->get();
  options.max_steps = given.max_steps;
  options.scalar_count = names.size();
  options.scalar_names = names.data();
  options.scalars = scalars.data();
  options.checkpoint_directory = detail::or_null(given.checkpoint_directory);
  options.checkpoint_steps = given.checkpoint_steps;
  options.keep_checkpoints = given.keep_checkpoints;
  options.event_directory = detail::or_null(given.event_directory);
  options.summary_steps = given.summary_steps;
  options.eval_steps = given.eval_steps;
  options.on_step = detail::TrainCallbacks::step;
  options.on_message = detail::TrainCallbacks::message;
  options.best_metric = detail::or_null(given.best_metric);
  options.best_is_smallest = given.best_is_smallest ? 1 : 0;
  options.restore_best = given.restore_best ? 1 : 0;
  options.patience = given.patience;
  options.on_evaluate = detail::TrainCallbacks::evaluated;
  options.context = &callbacks;
  options.group = given.group == nullptr ? nullptr : given.group->get();
  options.bound_group = detail::or_null(given.bound_group);
  hr_train_report out = detail::empty_report();
  hr_status* status = hr_train(session.get(), &options, limits, &out);
  if (callbacks.failure) {
    hr_status_release(status);
    std::rethrow_exception(callbacks.failure);
  }
  check(status);
  return out;
}

// Evaluates the rest of the data set's pass with a signature.
inline hr_train_report evaluate(const Session& session, const Dataset& data,
                                const std::string& signature = "eval",
                                const hr_limits* limits = nullptr) {
  hr_train_report out = detail::empty_report();
  check(hr_evaluate(session.get(), signature.c_str(), data.get(), limits, &out));
  return out;
}

// The same, with all metrics as JSON; see hr_evaluate_metrics.
inline std::string evaluate_metrics(const Session& session, const Dataset& data,
                                    const std::string& signature = "eval",
                                    const hr_limits* limits = nullptr) {
  return detail::text_of(hr_evaluate_metrics, session.get(), signature.c_str(), data.get(), limits);
}

// An event file that `tensorboard --logdir DIRECTORY` shows. Thread-safe.
class Events : public detail::Handle<hr_summary, hr_summary_release> {
 public:
  explicit Events(const std::string& directory)
      : Handle(detail::made<hr_summary*>(hr_summary_open, directory.c_str())) {}
  void scalar(const std::string& tag, int64_t step, double value) {
    check(hr_summary_scalar(get(), tag.c_str(), step, value));
  }
  void histogram(const std::string& tag, int64_t step, const Tensor& values) {
    check(hr_summary_histogram(get(), tag.c_str(), step, values.get()));
  }
  // Adds the first `most` images of a batch.
  void images(const std::string& tag, int64_t step, const Tensor& images, int64_t most = 3) {
    check(hr_summary_images(get(), tag.c_str(), step, images.get(), most));
  }
  void text(const std::string& tag, int64_t step, const std::string& text) {
    check(hr_summary_text(get(), tag.c_str(), step, text.c_str()));
  }
  void graph(const Model& model) { check(hr_summary_graph(get(), model.get())); }
  void flush() { check(hr_summary_flush(get())); }
};

// Shows progress on standard error: as a bar if that is a terminal, otherwise as plain lines.
class Progress : public detail::Handle<hr_progress, hr_progress_release> {
 public:
  // Begins with `done` of `total` steps (-1: unknown); `items` names what the steps handle.
  Progress(const std::string& label, const std::string& items, int64_t done, int64_t total)
      : Handle(detail::made<hr_progress*>(hr_progress_create, label.c_str(), items.c_str(), done,
                                          total)) {}
  // Shows that `done` steps are done, and that the last of them handled `items` items. Without a
  // name no metric is shown.
  void update(int64_t done, int64_t items, const std::string& metric_name = "", double metric = 0) {
    hr_progress_update(get(), done, items, detail::or_null(metric_name), metric);
  }
  void message(const std::string& text) { hr_progress_message(get(), text.c_str()); }
};

}  // namespace cpp
}  // namespace hr

#endif  // HEADRACE_CPP_TRAIN_HPP_
