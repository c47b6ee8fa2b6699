// The C++ wrappers of headrace/train.h, in C++17.
#include <cmath>

#include "cpp_support.h"

namespace {

// ---- Training ----

std::vector<float> all_variables(const hr::Session& session) {
  std::vector<float> out;
  for (const std::string& name : session.variables()) {
    const std::vector<float> values = floats(session.variable(name));
    out.insert(out.end(), values.begin(), values.end());
  }
  return out;
}

void train_on(hr::Session& session, hr::Dataset& data, float* loss) {
  hr::Call step(session, "train");
  step.bind(data).bind("rate", 0.05).output("loss", loss, sizeof *loss);
  while (!data.done()) step.run();
}

void test_training(hr_env*) {
  const Folder folder;
  const hr::Env env(2);
  const hr::Model model(network(env));
  hr::Session session(model, 7);
  EXPECT(session.variables()[0] == "hidden/weight" && session.step() == 0);
  hr::Dataset data = batches(env, 50);
  float loss = 0, before = 0;
  const hr_train_report untrained = hr::evaluate(session, batches(env, 1));
  train_on(session, data, &loss);
  EXPECT(session.step() == 200 && loss < 0.1 * untrained.evaluation_loss);

  const hr_checkpoint_options options = hr::checkpoint_options(1, &data);
  session.save(folder.path, &options);
  const std::vector<float> trained = all_variables(session);
  hr::Session other(model, 8);
  EXPECT(all_variables(other) != trained);
  hr::Dataset anew = batches(env, 50);
  const hr_checkpoint_options from = hr::checkpoint_options(0, &anew);
  EXPECT(has(other.restore(folder.path, &from), "\"step\":200"));
  EXPECT(all_variables(other) == trained && other.step() == 200);
  EXPECT(anew.position() == data.position() && anew.done());
  EXPECT(has(hr::describe_checkpoints(folder.path), "\"whole\":true"));
  data.rewind();
  anew.rewind();
  train_on(session, data, &before);
  train_on(other, anew, &loss);
  EXPECT(loss == before && all_variables(session) == all_variables(other));
  throws([&] { other.restore(folder / "nothing"); }, HR_NOT_FOUND, "nothing");
}

void test_managed_training(hr_env*) {
  const Folder folder;
  const hr::Env env(2);
  hr::Session session{hr::Model(network(env))};
  const hr::Dataset data = batches(env, 4);
  hr::Dataset test = batches(env, 1);
  hr::TrainOptions options;
  throws([&] { hr::train(session, options); }, HR_INVALID_ARGUMENT, "train_data");
  options.train_data = &data;
  options.eval_data = &test;
  options.scalars = {{"rate", 0.05}};
  options.checkpoint_directory = folder / "checkpoints";
  options.event_directory = folder / "events";
  int64_t steps = 0;
  std::string messages;
  options.on_step = [&](const hr_train_report& report) {
    EXPECT(report.step == ++steps && report.examples == 16);
    return steps < 6;
  };
  options.on_message = [&](const std::string& message) { messages += message + "\n"; };
  EXPECT(hr::train(session, options).step == 6);
  options.on_step = [&](const hr_train_report&) -> bool { throw std::out_of_range("enough"); };
  try {
    hr::train(session, options);
    EXPECT(false);
  } catch (const std::out_of_range& error) {
    EXPECT(std::strcmp(error.what(), "enough") == 0 && session.step() == 7);
  }
  options.on_step = nullptr;
  const hr_train_report end = hr::train(session, options);
  EXPECT(end.step == 16 && end.epoch == 4 && end.evaluated == 1);
  throws([&] { hr::evaluate(session, test); }, HR_FAILED_PRECONDITION, "rewind it");
  test.rewind();
  // The next pass has the same examples in another order.
  EXPECT(std::fabs(hr::evaluate(session, test).evaluation_loss - end.evaluation_loss) < 1e-6);
  EXPECT(has(messages, "going on from") && has(messages, "saved"));
  test.rewind();
  const hr::Cancel cancel;
  const hr_limits limits = hr::limits(1, &cancel);
  throws([&] { hr::evaluate(session, test, "eval", &limits); }, HR_DEADLINE_EXCEEDED, "");
  throws([&] { hr::evaluate(session, test, "evil"); }, HR_NOT_FOUND, "did you mean 'eval'");
}

hr::Group group_of_one(const hr::Env& env, const std::string& store) {
  hr_group_options options{};
  options.struct_size = sizeof options;
  options.size = 1;
  options.store_url = store.c_str();
  return hr::Group(env, options);
}

void test_checkpoints_of_groups(hr_env*) {
  const Folder folder;
  const hr::Env env(1);
  const hr::Group before = group_of_one(env, "file:" + (folder / "before"));
  const hr::Group after = group_of_one(env, "file:" + (folder / "after"));
  hr::Session session{hr::Model(network(env))};
  const hr::Dataset data = batches(env, 1);
  const hr_checkpoint_options saving = hr::checkpoint_options(0, nullptr, &before);
  session.save(folder / "checkpoints", &saving);
  hr::TrainOptions options;
  options.train_data = &data;
  options.scalars = {{"rate", 0.05}};
  options.checkpoint_directory = folder / "checkpoints";
  options.group = &after;
  throws([&] { hr::train(session, options); }, HR_FAILED_PRECONDITION, "without a data set");
  throws([&] { session.save(folder / "checkpoints", &saving); }, HR_FAILED_PRECONDITION,
         "which came after job");
}

// ---- Data sets ----

// One shard of three, whose second batch has no examples.
hr::Dataset nearly_empty(const hr::Env& env) {
  const Data data(env);
  hr_dataset_options options{};
  options.batch = kPoints / 3;
  options.shard_count = 3;
  return hr::Dataset::from_tensors(env, {{"x", &data.x}, {"target", &data.target}}, options);
}

void test_empty_batches(hr_env*) {
  const hr::Env env(1);
  hr::Session session{hr::Model(network(env))};
  const hr::Dataset data = nearly_empty(env);
  EXPECT(data.batches() == 2);
  EXPECT(std::isfinite(hr::evaluate(session, data).evaluation_loss) && data.done());
  const hr::Dataset again = nearly_empty(env);
  hr::TrainOptions options;
  options.train_data = &again;
  options.scalars = {{"rate", 0.05}};
  throws([&] { hr::train(session, options); }, HR_ABORTED,
         "at step 2, whose batch has no examples; give data sets with shards drop_remainder");
}

// Three batches of one x and "count" [-1], of which the second throws where it is told to.
hr::Dataset counted(const hr::Env& env, std::shared_ptr<bool> fails, int64_t prefetch) {
  hr::HostData host;
  auto at = std::make_shared<int64_t>(0);
  host.next = [&env, at, fails](int64_t examples, std::vector<hr::Tensor>& batch) {
    EXPECT(examples == 1);
    if (*at == 3) return false;
    if (*at == 1 && *fails) throw std::runtime_error("the second");
    EXPECT(batch.size() == 2 && batch[0].elements() == 2 && !batch[1]);
    batch[0].data<float>()[0] = batch[0].data<float>()[1] = static_cast<float>(*at);
    batch[1] = hr::Tensor::copy_of<int64_t>(env, {*at + 1}, std::vector<int64_t>(*at + 1, *at));
    ++*at;
    return true;
  };
  host.seek = [at](int64_t, int64_t first_example) { *at = first_example; };
  host.examples = 3;
  hr_dataset_options options{};
  options.repeat = 2;
  options.prefetch = prefetch;
  return hr::Dataset::from_host(env, {{"x", HR_FLOAT32, {1, 2}}, {"count", HR_INT64, {-1}}},
                                std::move(host), options);
}

void test_host_data(hr_env*) {
  const hr::Env env(1);
  const auto fails = std::make_shared<bool>(false);
  for (int64_t prefetch = 0; prefetch < 3; prefetch += 2) {
    hr::Dataset data = counted(env, fails, prefetch);
    EXPECT(data.batches() == 3 && (data.fields() == Names{"x", "count"}));
    for (int64_t i = 0; i < 6; ++i) {
      const std::vector<hr::Tensor> batch = data.next();
      EXPECT(batch.size() == 2 && floats(batch[0])[1] == static_cast<float>(i % 3));
      EXPECT(batch[1].elements() == i % 3 + 1 && batch[1].data<int64_t>()[i % 3] == i % 3);
    }
    throws([&] { data.next(); }, HR_OUT_OF_RANGE, "no more data");
    data.rename("count", "n");
    EXPECT(has(data.describe(), "\"name\":\"n\"") && data.fields()[1] == "n");
    throws([&] { data.rename("count", "m"); }, HR_NOT_FOUND, "it has: x, n");
    data.rewind();
    EXPECT(floats(data.next()[0])[0] == 0);
    const std::string position = data.position();
    EXPECT(floats(data.next()[0])[0] == 1);
    data.seek(position);
    EXPECT(floats(data.next()[0])[0] == 1);
  }
  EXPECT(fails.use_count() == 1); /* the functions are gone with their data sets */
  *fails = true;
  hr::Dataset failing = counted(env, fails, 0);
  failing.next();
  throws([&] { failing.next(); }, HR_UNKNOWN,
         "the host's data set failed to make a batch: the second");
  throws(
      [&] {
        hr::Dataset::from_host(env, {{"x", HR_FLOAT32, {1}}}, {});
      },
      HR_INVALID_ARGUMENT, "next");
}

// ---- Event files ----

void test_events(hr_env*) {
  const Folder folder;
  const hr::Env env(1);
  hr::Events events(folder.path);
  events.scalar("loss", 1, NAN);
  events.histogram("weights", 1, hr::Tensor::copy_of<float>(env, {3}, {1, 2, NAN}));
  events.images("pictures", 1, hr::Tensor::copy_of<uint8_t>(env, {1, 1, 2, 2}, {0, 9, 99, 255}));
  events.text("notes", 1, "**none**");
  events.graph(hr::Model(network(env)));
  events.flush();
  EXPECT(count_entries(folder.path) == 3);
  const hr::Tensor number = hr::Tensor::copy_of<int64_t>(env, {1, 1, 1}, {1});
  throws([&] { events.images("pictures", 1, number); }, HR_INVALID_ARGUMENT, "int64[1, 1, 1]");
  throws([&] { hr::Events("/proc/events"); }, HR_NOT_FOUND, "/proc/events");
  const hr::Events closed = std::move(events);
  throws([&] { events.scalar("loss", 2, 1); }, HR_INVALID_ARGUMENT, "'events' must not be NULL");
  EXPECT(closed && !events);
  hr::Progress progress("cpp", "points", 0, 2);
  progress.message("half-way");
  progress.update(2, 1, "loss", 0.5);
}

}  // namespace

extern "C" {
extern const test tests[] = {{"training", test_training},
                             {"managed training", test_managed_training},
                             {"checkpoints of groups", test_checkpoints_of_groups},
                             {"empty batches", test_empty_batches},
                             {"host data", test_host_data},
                             {"events", test_events},
                             {nullptr, nullptr}};
}
