#include "runtime/train/trainer.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/errors.h"
#include "runtime/data/example_dataset.h"
#include "runtime/graph/shards.h"
#include "runtime/train/best.h"
#include "runtime/train/checkpoint_directory.h"
#include "runtime/train/event_file.h"
#include "runtime/train/session_checkpoint.h"
#include "runtime/train/session_shards.h"
#include "runtime/train/state_parts.h"

namespace hr::train {
namespace {

class Trainer {
 public:
  Trainer(std::shared_ptr<session::Session> session, const TrainOptions& options,
          const CallLimits& limits)
      : session_(std::move(session)),
        options_(options),
        limits_(limits),
        clock_(session_->env().clock()),
        best_(options.best_metric, options.best_is_smallest) {}

  Result<StepReport> Run() {
    if (options_.train_data == nullptr) return InvalidArgument("training needs a data set");
    if (!options_.group.empty()) {
      HR_RETURN_IF_ERROR(BindFirst());
      HR_RETURN_IF_ERROR(FindRanks());
      group_limits_.context = this;
      group_limits_.interrupted = [](void* self) {
        return static_cast<Trainer*>(self)->GraceIsOver() ? 1 : 0;
      };
    }
    auto report = RunOnRank();
    if (!report.ok() && !all_know_) ranks_.TellFailure(report.status());
    return report;
  }

 private:
  // An elastic training binds its group, unless the caller has: ranks may die meanwhile, too.
  Status BindFirst() {
    if (!options_.elastic.has_value() || session_->FindGroup(options_.group).ok()) return {};
    HR_ASSIGN_OR_RETURN(const auto shards, graph::ShardsOf(session_->model().module()));
    divided_ = !shards.empty();
    MakeElastic();
    HR_RETURN_IF_ERROR(elastic_->Begin(limits_));
    parts_.reset();  // no step has been made
    return {};
  }
  void MakeElastic() {
    if (elastic_.has_value()) return;
    elastic_.emplace(
        *options_.elastic, [this](std::string_view text) { Say(text); },
        [this](int ranks) { return Fit(ranks); });
  }

  // The ranks of the group that is bound now.
  Status FindRanks() {
    HR_ASSIGN_OR_RETURN(auto group, session_->FindGroup(options_.group));
    ranks_ = Ranks(std::move(group));
    if (!options_.elastic.has_value()) return {};
    MakeElastic();
    owner_ = elastic_->owner();
    return {};
  }

  Result<StepReport> RunOnRank() {
    HR_RETURN_IF_ERROR(CheckBestOptions());
    HR_ASSIGN_OR_RETURN(const SessionShards shards, SessionShards::Of(*session_));
    divided_ = !shards.empty();
    if (divides_anew() && options_.checkpoint_directory.empty()) {
      return InvalidArgument(
          "an elastic training whose ranks divide the optimizer's state (zero=1) needs a ",
          "checkpoint_directory: a rank that dies takes its part of the state with it");
    }
    HR_RETURN_IF_ERROR(Prepare());
    if (ranks_.chief() && !divides_anew()) HR_RETURN_IF_ERROR(RestoreNewest());
    if (elastic_.has_value() && ranks_.chief()) elastic_->SetOver(false);
    begin_nanos_ = clock_.NowNanos();
    while (true) {
      Result<StepReport> report = RunTogether();
      if (report.ok() && elastic_.has_value() && ranks_.chief()) elastic_->SetOver(true);
      if (report.ok() || !elastic_.has_value() || !elastic_->IsEnd(report.status())) return report;
      HR_RETURN_IF_ERROR(elastic_->GoOn(std::move(report).status(), GroupLimits()));
      HR_RETURN_IF_ERROR(TakeRanks());
    }
  }

  // From here on with the group that the elastic one stands for now.
  Status TakeRanks() {
    const bool was_chief = ranks_.chief();
    HR_RETURN_IF_ERROR(FindRanks());
    if (!ranks_.chief() || was_chief) return {};
    HR_RETURN_IF_ERROR(OpenEvents());
    if (!began_ && !divides_anew()) return RestoreNewest();
    saved_step_ = -1;
    if (options_.checkpoint_directory.empty()) return {};
    return TakeTerm(options_.checkpoint_directory, owner_).status().Clone();
  }

  Result<StepReport> RunTogether() {
    HR_RETURN_IF_ERROR(BeginTogether());
    Status ended = Loop();
    bool ran_out = ended.code() == Code::kCancelled || ended.code() == Code::kDeadlineExceeded;
    if (!ended.ok() && !ran_out && !stopped_) return ended;
    // What was reached is kept, also when the caller's patience ended or the evaluation fails.
    HR_ASSIGN_OR_RETURN(const bool unsaved, ChiefSays(report_.step != saved_step_));
    if (unsaved) HR_RETURN_IF_ERROR(Save());
    if (ended.ok() && !stopped_ && options_.eval_data != nullptr) HR_RETURN_IF_ERROR(EvaluateNow());
    if (ended.ok() && !Due(report_.step, options_.summary_steps))
      HR_RETURN_IF_ERROR(SummariseRanks());
    if (events_ != nullptr) {
      if (report_.step != summarised_step_) HR_RETURN_IF_ERROR(Summarise());
      HR_RETURN_IF_ERROR(events_->Flush());
    }
    if (!ended.ok()) return ended;
    if (!stopped_) HR_RETURN_IF_ERROR(RestoreBest());
    return report_;
  }

  Status CheckBestOptions() const {
    if (options_.best_metric.empty()) {
      if (options_.patience == 0 && !options_.restore_best) return {};
      return InvalidArgument("patience and restore_best need a best_metric");
    }
    if (options_.patience < 0)
      return InvalidArgument("patience is at least 0, got ", options_.patience);
    if (options_.eval_data == nullptr)
      return InvalidArgument("a best metric needs data to evaluate on");
    if (options_.restore_best && options_.checkpoint_directory.empty())
      return InvalidArgument("restore_best needs a directory for checkpoints");
    return CheckMetric(*session_, options_.eval_signature, options_.best_metric);
  }

  Status Prepare() {
    HR_ASSIGN_OR_RETURN(call_, session::Call::Create(session_, options_.train_signature));
    HR_RETURN_IF_ERROR(call_->BindSource(options_.train_data));
    for (const auto& [name, value] : options_.scalars)
      HR_RETURN_IF_ERROR(call_->BindScalar(name, value));
    has_rate_ = HasOutput(*session_, options_.train_signature, "learning_rate");
    return OpenEvents();
  }

  Status OpenEvents() {
    if (options_.event_directory.empty() || !ranks_.chief() || events_ != nullptr) return {};
    HR_ASSIGN_OR_RETURN(events_, EventWriter::Open(options_.event_directory, {}));
    return {};
  }

  void Say(std::string_view text) const {
    if (options_.on_message) options_.on_message(text);
  }

  Status RestoreNewest() {
    report_.step = summarised_step_ = session_->step();
    saved_step_ = -1;
    restored_path_.clear();
    const std::string& directory = options_.checkpoint_directory;
    if (directory.empty()) return {};
    if (owner_.has_value()) HR_RETURN_IF_ERROR(TakeTerm(directory, owner_).status().Clone());
    if (!FileExists(directory)) return {};
    HR_ASSIGN_OR_RETURN(auto known, ListCheckpoints(directory));
    if (known.empty()) return {};
    HR_ASSIGN_OR_RETURN(
        RestoreReport restored,
        RestoreSession(*session_, directory, {.dataset = options_.train_data.get()}, limits_));
    for (const std::string& warning : restored.warnings) Say(warning);
    Say(Cat("going on from '", restored.path, "', step ", restored.step));
    restored_path_ = restored.path;
    report_.step = saved_step_ = summarised_step_ = restored.step;
    best_.TakeFrom(restored.metadata);
    HR_RETURN_IF_ERROR(TakeFinalBest());
    ReportBest();
    return TakeEpoch();
  }

  // What the chief says, if all ranks take part in saving; otherwise the rank's own word.
  Result<bool> ChiefSays(bool own) const {
    if (!divided_) return own;
    int64_t said[1] = {ranks_.chief() && own};
    HR_RETURN_IF_ERROR(ranks_.Largest(said, {}));
    return said[0] != 0;
  }

  // Ranks that have parts of variables read them where the chief has read its own, if it has.
  // Returns whether it has.
  Result<bool> RestoreParts(std::string path) {
    if (!divided_) return false;
    HR_RETURN_IF_ERROR(ranks_.Broadcast(0, &path, GroupLimits()));
    if (path.empty() || ranks_.chief()) return !path.empty();
    auto restored = RestoreSession(*session_, path, {}, limits_);
    if (restored.ok()) return true;
    return std::move(restored).status().WithContext(
        "ranks that divide the optimizer's state read checkpoints from one folder");
  }

  // Whether the ranks divide the optimizer's state again when they become more or fewer.
  bool divides_anew() const { return divided_ && elastic_.has_value(); }

  // The session becomes one for so many ranks. What this rank has of the optimizer's state is kept
  // until all have theirs.
  Status Fit(int ranks) {
    if (!divided_) return {};
    HR_RETURN_IF_ERROR(KeepParts());
    return session_->Redivide(options_.group, ranks, GroupLimits());
  }
  Status KeepParts() {
    if (parts_.has_value()) return {};
    HR_ASSIGN_OR_RETURN(parts_, StateParts::Of(*session_, options_.group, ranks_.rank()));
    return {};
  }

  // All ranks get their parts of the optimizer's state: from each other, or from the newest
  // checkpoint if a part is missing. Returns the rank from which they get everything else.
  Result<int> DivideState() {
    HR_RETURN_IF_ERROR(KeepParts());
    HR_ASSIGN_OR_RETURN(const std::vector<PartPlace> places, GatherPlaces());
    const bool begun = std::any_of(places.begin(), places.end(),
                                   [](const PartPlace& place) { return place.begun; });
    const std::vector<int> holders = HoldersOf(places);
    if (begun && !holders.empty()) return MoveParts(holders);
    if (ranks_.chief()) HR_RETURN_IF_ERROR(RestoreNewest());
    HR_ASSIGN_OR_RETURN(const bool restored, RestoreParts(restored_path_));
    if (restored) {
      if (begun) GoBack();
      return 0;
    }
    lacks_checkpoint_ = true;
    if (!holders.empty()) return MoveParts(holders);
    const bool any_step = std::any_of(places.begin(), places.end(),
                                      [](const PartPlace& place) { return place.step != 0; });
    if (!any_step) return session::Session::kFurthest;
    return DataLoss("a part of the optimizer's state is gone with its rank, or of another step, ",
                    "and '", options_.checkpoint_directory, "' has no checkpoint to go on from");
  }

  Result<std::vector<PartPlace>> GatherPlaces() const {
    const double told[] = {static_cast<double>(began_), static_cast<double>(parts_->ranks()),
                           static_cast<double>(parts_->rank()),
                           static_cast<double>(parts_->step())};
    HR_ASSIGN_OR_RETURN(const std::vector<double> all, ranks_.Gather(told, GroupLimits()));
    std::vector<PartPlace> out;
    for (size_t i = 0; i + 3 < all.size(); i += 4) {
      out.push_back({.begun = all[i] != 0,
                     .ranks = static_cast<int64_t>(all[i + 1]),
                     .rank = static_cast<int64_t>(all[i + 2]),
                     .step = static_cast<int64_t>(all[i + 3])});
    }
    return out;
  }

  Result<int> MoveParts(std::span<const int> holders) {
    HR_ASSIGN_OR_RETURN(const auto group, session_->FindGroup(options_.group));
    HR_RETURN_IF_ERROR(parts_->Move(*session_, *group, holders, GroupLimits()));
    return holders[0];
  }

  // The steps since the checkpoint are made again, with all that comes after them.
  void GoBack() {
    finished_step_ = session_->step();
    evaluated_step_ = -1;
    if (ranks_.chief()) Say("a rank has taken its part of the optimizer's state with it");
  }

  // All ranks go on from where one of them stands: the chief, or the one that is furthest.
  Status BeginTogether() {
    if (ranks_.alone()) {
      finished_step_ = report_.step;
      return {};
    }
    int root = elastic_.has_value() ? session::Session::kFurthest : 0;
    if (divides_anew()) {
      HR_ASSIGN_OR_RETURN(root, DivideState());
    } else {
      HR_RETURN_IF_ERROR(RestoreParts(restored_path_).status().Clone());
    }
    HR_RETURN_IF_ERROR(elastic_.has_value() ? Reshard() : CheckShards());
    HR_ASSIGN_OR_RETURN(root, session_->Broadcast(options_.group, root, GroupLimits()));
    HR_ASSIGN_OR_RETURN(const std::string own, options_.train_data->Save());
    std::string position = own;
    HR_RETURN_IF_ERROR(ranks_.Broadcast(root, &position, GroupLimits()));
    if (position != own) {
      Status status = options_.train_data->Restore(position, limits_);
      if (!status.ok()) {
        return std::move(status).WithContext(
            Cat("the data set of rank ", root, " is another than this rank's"));
      }
    }
    recent_ = {.begin_nanos = clock_.NowNanos(), .waited_nanos = ranks_.waited_nanos()};
    report_.step = session_->step();
    if (!began_ && !ranks_.chief()) saved_step_ = summarised_step_ = report_.step;
    HR_RETURN_IF_ERROR(elastic_.has_value() ? AgreeOnStep(root) : Status());
    if (!began_) finished_step_ = std::max(finished_step_, report_.step);
    // What a rank takes with it is in no other place.
    if (lacks_checkpoint_) HR_RETURN_IF_ERROR(Save());
    lacks_checkpoint_ = false;
    parts_.reset();
    began_ = true;
    return TakeEpoch();
  }

  // Each rank draws a part of the examples of its own, if the data sets say what they draw.
  Status CheckShards() {
    const data::Draw* const draw = options_.train_data->draw();
    const data::Shard own = draw == nullptr ? data::Shard{0, 0} : draw->batch.shard;
    const double told[2] = {static_cast<double>(own.index), static_cast<double>(own.count)};
    HR_ASSIGN_OR_RETURN(const std::vector<double> all, ranks_.Gather(told, GroupLimits()));
    const size_t ranks = all.size() / 2;
    std::vector<size_t> owners(ranks, ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
      const auto index = static_cast<size_t>(all[2 * rank]);
      const auto count = static_cast<size_t>(all[2 * rank + 1]);
      if (count <= 1) continue;  // unknown, or examples that the rank has alone
      if (count != ranks) {
        return FailedPrecondition("rank ", rank, "'s data set is shard ", index, " of ", count,
                                  ", and ", ranks, " ranks train together; give each rank ",
                                  "shard_index = its rank and shard_count = ", ranks);
      }
      if (owners[index] != ranks) {
        return FailedPrecondition("ranks ", owners[index], " and ", rank, " have data sets of one ",
                                  "shard, ", index, " of ", count, "; give each rank shard_index ",
                                  "= its rank");
      }
      owners[index] = rank;
    }
    return {};
  }

  Status Reshard() {
    const data::Shard shard{.index = elastic_->rank(), .count = elastic_->size()};
    HR_RETURN_IF_ERROR(options_.train_data->Reshard(shard, limits_));
    return options_.eval_data == nullptr ? Status() : options_.eval_data->Reshard(shard, limits_);
  }

  // What comes after a step is done again by all ranks, unless all that have been here before have
  // done it. New ranks do as the others do.
  Status AgreeOnStep(int root) {
    const bool finished = finished_step_ >= report_.step,
               evaluated = evaluated_step_ == report_.step;
    int64_t any[3] = {began_, began_ && !finished, began_ && !evaluated};
    HR_RETURN_IF_ERROR(ranks_.Largest(any, GroupLimits()));
    finished_step_ = report_.step - any[1];
    evaluated_step_ = any[0] != 0 && any[2] == 0 ? report_.step : -1;
    if (options_.best_metric.empty()) return {};
    std::string best = best_.Text();
    HR_RETURN_IF_ERROR(ranks_.Broadcast(root, &best, GroupLimits()));
    best_.TakeText(best);
    ReportBest();
    return {};
  }

  std::string BestDirectory() const { return JoinPath(options_.checkpoint_directory, kBestFolder); }

  // An evaluation at the end comes after the checkpoint, which knows nothing of it.
  Status TakeFinalBest() {
    if (options_.best_metric.empty() || !FileExists(BestDirectory())) return {};
    auto opened = OpenCheckpoint(BestDirectory(), {.verify_checksums = false});
    if (!opened.ok()) return {};
    if (opened->reader.step() == report_.step) best_.TakeFrom(opened->reader.metadata());
    return {};
  }

  void ReportBest() {
    report_.best = best_.value();
    report_.best_step = best_.step();
  }

  Status TakeEpoch() {
    HR_ASSIGN_OR_RETURN(const data::DataPosition position, options_.train_data->position());
    report_.epoch = position.epoch;
    return {};
  }

  Status Loop() {
    while (true) {
      HR_RETURN_IF_ERROR(FinishStep());
      if (stopped_ && ranks_.alone()) return {};
      HR_ASSIGN_OR_RETURN(const bool complete, IsComplete());
      HR_ASSIGN_OR_RETURN(const bool ended, AllEnd(complete));
      if (ended) return std::move(ended_);
      HR_ASSIGN_OR_RETURN(const bool grown, TakeIn());
      if (!grown) HR_RETURN_IF_ERROR(Step());
    }
  }

  // Takes new ranks in, if some wait.
  Result<bool> TakeIn() {
    if (coming_ == 0) return false;
    HR_ASSIGN_OR_RETURN(const bool grown, elastic_->TakeIn(coming_, GroupLimits()));
    if (!grown) return false;
    HR_RETURN_IF_ERROR(TakeRanks());
    HR_RETURN_IF_ERROR(BeginTogether());
    return true;
  }

  // Whether all steps are made, or the data or the patience is at its end.
  Result<bool> IsComplete() {
    if (options_.max_steps >= 0 && report_.step >= options_.max_steps) return true;
    if (ranks_.chief() && LostPatience()) return true;
    HR_ASSIGN_OR_RETURN(const bool done, options_.train_data->Done(StepLimits()));
    HR_RETURN_IF_ERROR(TakeEpoch());  // Done may have found one to be complete
    return done;
  }

  // Whether the training ends before the next step, on all ranks: because that of one is complete,
  // its on_step has said so, or its limits do (then ended_ has the failure).
  Result<bool> AllEnd(bool complete) {
    if (ranks_.alone()) return complete;
    Status within = limits_.Check();
    const int coming = elastic_.has_value() && ranks_.chief() ? elastic_->Coming() : 0;
    int64_t ends[5] = {complete, report_.stopped_early, stopped_,
                       static_cast<int64_t>(within.code()), coming};
    HR_RETURN_IF_ERROR(ranks_.Largest(ends, {}));
    report_.stopped_early = ends[1] != 0;
    stopped_ = ends[2] != 0;
    all_know_ = ends[3] != 0;
    coming_ = static_cast<int>(ends[4]);
    if (!within.ok()) {
      ended_ = std::move(within);
    } else if (ends[3] != 0) {
      ended_ = Status(static_cast<Code>(ends[3]),
                      "the call was cancelled on another rank, or its deadline passed");
    }
    return ends[0] != 0 || ends[1] != 0 || ends[2] != 0 || ends[3] != 0;
  }

  // In a group the limits end the training between two steps, so that all ranks make the same ones;
  // a step that does not end then is broken off some seconds later.
  static constexpr int64_t kGraceNanos = 5'000'000'000;
  const CallLimits& StepLimits() const { return ranks_.alone() ? limits_ : group_limits_; }
  // Of what the ranks do together between steps: the caller's, without the deadline if that has
  // passed already.
  const CallLimits& GroupLimits() const { return elastic_.has_value() ? StepLimits() : limits_; }
  bool GraceIsOver() {
    if (limits_.Check().ok()) return false;
    const int64_t now = SystemClock().NowNanos();
    if (ran_out_nanos_ == 0) ran_out_nanos_ = now;
    return now - ran_out_nanos_ > kGraceNanos;
  }

  bool LostPatience() {
    if (options_.patience == 0 || best_.waits() < options_.patience) return false;
    report_.stopped_early = true;
    Say(Cat("stopped early: ", best_.waits(), " evaluations have not been better than ",
            best_.metric(), " ", best_.value(), " at step ", best_.step()));
    return true;
  }

  // A batch that was drawn for a run that did not come to pass is drawn again after a restore.
  Status RunOrGoBack() {
    HR_ASSIGN_OR_RETURN(const data::DataPosition before, options_.train_data->position());
    Status status = call_->Run(StepLimits());
    // Data that can be read only once cannot go back; then no later training can go on from here.
    if (!status.ok()) options_.train_data->Seek(before, {}).IgnoreError();
    return status;
  }

  static bool Due(int64_t step, int64_t every) { return every > 0 && step % every == 0; }

  Status Step() {
    report_.evaluated = false;
    HR_RETURN_IF_ERROR(RunOrGoBack());
    HR_ASSIGN_OR_RETURN(Tensor loss, call_->Output("loss"));
    HR_ASSIGN_OR_RETURN(report_.loss, NumberIn(loss, "loss"));
    if (has_rate_) {
      HR_ASSIGN_OR_RETURN(Tensor rate, call_->Output("learning_rate"));
      HR_ASSIGN_OR_RETURN(report_.learning_rate, NumberIn(rate, "learning_rate"));
    }
    report_.step = session_->step();
    HR_RETURN_IF_ERROR(TakeEpoch());
    report_.examples = call_->PulledExamples();
    examples_ += report_.examples;
    recent_.examples += report_.examples;
    ++recent_.steps;
    double seconds = static_cast<double>(clock_.NowNanos() - begin_nanos_) * 1e-9;
    report_.examples_per_second = seconds > 0 ? static_cast<double>(examples_) / seconds : 0;
    if (!std::isfinite(report_.loss)) return NotFinite();
    made_step_ = report_.step;
    return {};
  }

  // What comes after a step: a summary, an evaluation, a checkpoint, and the caller's turn.
  Status FinishStep() {
    if (finished_step_ < report_.step) {
      if (Due(report_.step, options_.summary_steps)) {
        if (events_ != nullptr) HR_RETURN_IF_ERROR(Summarise());
        HR_RETURN_IF_ERROR(SummariseRanks());
      }
      if (options_.eval_data != nullptr && Due(report_.step, options_.eval_steps))
        HR_RETURN_IF_ERROR(EvaluateNow());
      if (Due(report_.step, options_.checkpoint_steps) && report_.step != saved_step_)
        HR_RETURN_IF_ERROR(Save());
      finished_step_ = report_.step;
    }
    if (made_step_ != report_.step || !options_.on_step) return {};
    made_step_ = -1;
    Result<bool> go_on = options_.on_step(report_);
    stopped_ = !go_on.ok() || !*go_on;
    return std::move(go_on).status();
  }

  Status NotFinite() const {
    return Aborted("the loss is ", report_.loss, " at step ", report_.step,
                   report_.examples == 0
                       ? ", whose batch has no examples; give data sets with shards drop_remainder"
                       : "; lower the learning rate or check the data");
  }

  Status Summarise() {
    summarised_step_ = report_.step;
    HR_RETURN_IF_ERROR(events_->AddScalar("train/loss", report_.step, report_.loss));
    if (has_rate_ && !std::isnan(report_.learning_rate))
      HR_RETURN_IF_ERROR(
          events_->AddScalar("train/learning_rate", report_.step, report_.learning_rate));
    return events_->AddScalar("train/examples_per_second", report_.step,
                              report_.examples_per_second);
  }

  // How fast each rank is and how long it waits for others in a step, since the last time; all
  // ranks call it at the same steps.
  Status SummariseRanks() {
    if (ranks_.alone()) return {};
    const int64_t now = clock_.NowNanos(), waited = ranks_.waited_nanos();
    const double seconds = static_cast<double>(now - recent_.begin_nanos) * 1e-9;
    const double waited_ms = static_cast<double>(waited - recent_.waited_nanos) * 1e-6;
    const auto steps = static_cast<double>(std::max<int64_t>(recent_.steps, 1));
    const double own[2] = {seconds > 0 ? static_cast<double>(recent_.examples) / seconds : 0,
                           waited_ms / steps};
    const bool any = recent_.steps > 0;
    recent_ = {.begin_nanos = now, .waited_nanos = waited};
    HR_ASSIGN_OR_RETURN(const std::vector<double> all, ranks_.Gather(own, GroupLimits()));
    for (size_t i = 0; events_ != nullptr && any && i < all.size(); ++i) {
      const char* const name = i % 2 == 0 ? "examples_per_second" : "waiting_ms";
      HR_RETURN_IF_ERROR(events_->AddScalar(Cat("ranks/", i / 2, "/", name), report_.step, all[i]));
    }
    return {};
  }

  // Once a step.
  Status EvaluateNow() {
    if (evaluated_step_ == report_.step) return {};
    HR_RETURN_IF_ERROR(options_.eval_data->Rewind(limits_));
    HR_ASSIGN_OR_RETURN(StepReport result, Evaluate(session_, options_.eval_signature,
                                                    options_.eval_data, limits_, ranks_));
    evaluated_step_ = report_.step;
    report_.evaluated = true;
    report_.evaluation_loss = result.evaluation_loss;
    report_.evaluation_accuracy = result.evaluation_accuracy;
    report_.metrics = std::move(result.metrics);
    HR_RETURN_IF_ERROR(KeepBest());
    if (options_.on_evaluate) HR_RETURN_IF_ERROR(options_.on_evaluate(report_));
    for (size_t i = 0; events_ != nullptr && i < report_.metrics.size(); ++i) {
      const auto& [name, value] = report_.metrics[i];
      if (!std::isnan(value))
        HR_RETURN_IF_ERROR(events_->AddScalar(Cat("eval/", name), report_.step, value));
    }
    return {};
  }

  Status KeepBest() {
    for (const auto& [name, value] : report_.metrics) {
      if (name != best_.metric()) continue;
      HR_ASSIGN_OR_RETURN(const bool is_best, ChiefSays(best_.Take(value, report_.step)));
      ReportBest();
      if (is_best) HR_RETURN_IF_ERROR(SaveTo(BestDirectory(), 1));
      break;
    }
    return {};
  }

  Status RestoreBest() {
    if (!options_.restore_best) return {};
    int64_t other[1] = {ranks_.chief() && best_.step() >= 0 && best_.step() != session_->step()};
    HR_RETURN_IF_ERROR(ranks_.Largest(other, limits_));
    if (other[0] == 0) return {};
    std::string path;
    if (ranks_.chief()) {
      HR_ASSIGN_OR_RETURN(RestoreReport restored,
                          RestoreSession(*session_, BestDirectory(), {}, limits_));
      path = restored.path;
      Say(Cat("the session has the best, '", path, "'"));
    }
    if (ranks_.alone()) return {};
    HR_RETURN_IF_ERROR(RestoreParts(path).status().Clone());
    return session_->Broadcast(options_.group, 0, limits_).status().Clone();
  }

  Status Save() {
    HR_RETURN_IF_ERROR(SaveTo(options_.checkpoint_directory, options_.keep_checkpoints));
    saved_step_ = report_.step;
    return {};
  }

  Status SaveTo(const std::string& directory, int keep) {
    HR_ASSIGN_OR_RETURN(const bool wanted, ChiefSays(!options_.checkpoint_directory.empty()));
    if (!wanted || !(ranks_.chief() || divided_)) return {};
    SaveOptions save{.files = {.keep = keep, .owner = owner_},
                     .dataset = options_.train_data.get()};
    best_.AddTo(&save.metadata);
    // A caller whose deadline passed still wants what was reached.
    HR_ASSIGN_OR_RETURN(std::string path, SaveSession(*session_, directory, save, {}));
    if (ranks_.chief()) Say(Cat("saved '", path, "'"));
    return {};
  }

  const std::shared_ptr<session::Session> session_;
  const TrainOptions& options_;
  const CallLimits limits_;
  const Clock& clock_;
  std::unique_ptr<session::Call> call_;
  std::unique_ptr<EventWriter> events_;
  Ranks ranks_;
  std::optional<Elastic> elastic_;
  std::optional<CheckpointOwner> owner_ = options_.owner;
  StepReport report_;
  BestEvaluation best_;
  bool has_rate_ = false;
  bool stopped_ = false;             // by on_step
  bool divided_ = false;             // each rank has a part of some variables
  std::string restored_path_;        // by the chief, before the first step
  bool began_ = false;               // the training, with other ranks
  bool lacks_checkpoint_ = false;    // there is none to go back to
  std::optional<StateParts> parts_;  // until all ranks have theirs
  int coming_ = 0;                   // processes that are to become ranks
  int64_t made_step_ = -1;           // by this rank; -1: on_step knows of it
  int64_t finished_step_ = -1;       // with what comes after it
  int64_t evaluated_step_ = -1;      // the last one that all ranks have evaluated
  int64_t saved_step_ = -1;
  int64_t summarised_step_ = -1;  // none of the steps before training
  int64_t examples_ = 0;
  struct {
    int64_t begin_nanos = 0, waited_nanos = 0;  // then
    int64_t examples = 0, steps = 0;            // of this rank since then
  } recent_;  // since the last summary of the ranks, or they have begun together
  int64_t begin_nanos_ = 0;
  CallLimits group_limits_;    // of a step, unless this rank is alone
  Status ended_;               // why all ranks end, if limits do it
  bool all_know_ = false;      // that limits end the training
  int64_t ran_out_nanos_ = 0;  // when the limits were first found to have run out
};

}  // namespace

Result<StepReport> Train(std::shared_ptr<session::Session> session, const TrainOptions& options,
                         const CallLimits& limits) {
  return Trainer(std::move(session), options, limits).Run();
}

}  // namespace hr::train
