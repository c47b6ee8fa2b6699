package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"maps"
	"slices"
	"unsafe"
)

// TrainReport says how far a training is.
type TrainReport struct {
	Step               int64
	Epoch              int64 // complete epochs
	Loss               float64
	ExamplesPerSecond  float64
	Evaluated          bool    // the two fields of the evaluation are of this step
	EvaluationLoss     float64 // mean per example
	EvaluationAccuracy float64 // NaN if the signature has no output "correct"
	Examples           int64   // in this step's batch; 0 if there was no step left to do
	LearningRate       float64 // the output "learning_rate" of the step; NaN if there is none
	Best               float64 // the best metric at its best so far; NaN if there is none
	BestStep           int64   // when that was; -1: never yet
	StoppedEarly       bool    // the patience was at its end
}

func reportOf(c *C.hr_train_report) TrainReport {
	return TrainReport{Step: int64(c.step), Epoch: int64(c.epoch), Loss: float64(c.loss),
		ExamplesPerSecond: float64(c.examples_per_second), Evaluated: c.evaluated != 0,
		EvaluationLoss: float64(c.evaluation_loss), EvaluationAccuracy: float64(c.evaluation_accuracy),
		Examples: int64(c.examples), LearningRate: float64(c.learning_rate), Best: float64(c.best),
		BestStep: int64(c.best_step), StoppedEarly: c.stopped_early != 0}
}

// TrainOptions are the options of a training.
type TrainOptions struct {
	TrainSignature string // must have an output "loss"; "": "train"
	// EvalSignature must have an output "loss". Its metrics are "loss", the mean per example; "accuracy",
	// if it has an output "correct", a count; and its other outputs that are one number. "": "eval".
	EvalSignature string
	TrainData     *Dataset // the training runs through its pass
	EvalData      *Dataset // may be nil
	MaxSteps      int64    // the session's total at which to stop; 0: the end of the data
	// Scalars are inputs that are bound once, such as the learning rate.
	Scalars map[string]float64
	// CheckpointDirectory is where checkpoints are written. If it contains one, the training continues
	// from the newest. "": no checkpoints.
	CheckpointDirectory string
	CheckpointSteps     int64  // the steps from one checkpoint to the next; 0: only at the end
	KeepCheckpoints     int    // how many of the newest are kept; 0: 5; -1: all
	EventDirectory      string // for TensorBoard; "": no events
	SummarySteps        int64  // the steps from one summary to the next; 0: 100
	EvalSteps           int64  // the steps from one evaluation to the next; 0: only at the end
	// OnStep is called after every step, by the goroutine that called Train. If it returns stop, the
	// training saves a checkpoint and ends; if it fails, Train returns the failure.
	OnStep func(report TrainReport) (stop bool, err error)
	// OnMessage gets sentences for people: what was restored, saved or skipped.
	OnMessage func(message string)
	// OnEvaluate is called after each evaluation with its metrics, by the goroutine that called Train,
	// before OnStep. If it fails, Train returns the failure.
	OnEvaluate func(report TrainReport, metrics map[string]float64) error
	// BestMetric is the metric of the evaluation that says which step is the best. Where it is better
	// than ever, a checkpoint is kept in the folder "best" of CheckpointDirectory. "": none.
	BestMetric     string
	BestIsSmallest bool   // the smallest value is the best, as for a loss
	RestoreBest    bool   // at the end the session gets the best checkpoint
	Patience       int64  // stop after so many evaluations that are no better than the best; 0: never
	Group          *Group // for which this process writes checkpoints; may be nil
	// BoundGroup names a group that the session has bound (Session.BindGroup): all its ranks train
	// together, with the same options and shards of the same data; "": this process alone.
	BoundGroup string
	// ElasticGroup is the group that was bound: the training goes on when ranks of it die, and takes
	// new ones in. It stands for the latest group from then on.
	ElasticGroup *Group
	MinRanks     int // with fewer ranks an elastic training waits for new ones; 0: 1
	MaxRanks     int // up to which new ranks are taken in; 0: as many as there are at first
}

// trainer is the context of the functions of a training.
type trainer struct {
	options *TrainOptions
	failure error // the first of OnStep, OnEvaluate and OnMessage
}

func (t *trainer) keep(err error) error {
	if t.failure == nil {
		t.failure = err
	}
	return t.failure
}

// tell calls a function of the options, unless one has failed before.
func (t *trainer) tell(name string, function func() error) *C.hr_status {
	return guarded(name, func() error {
		if t.failure != nil {
			return t.failure
		}
		return t.keep(caught(name, function))
	})
}

//export hrgo_step
func hrgo_step(cell unsafe.Pointer, report *C.hrgo_report, stop *C.int32_t) *C.hr_status {
	t := contextValue[*trainer](cell)
	return t.tell("OnStep", func() error {
		if t.options.OnStep == nil {
			return nil
		}
		end, err := t.options.OnStep(reportOf((*C.hr_train_report)(report)))
		*stop = flag(end)
		return err
	})
}

//export hrgo_evaluate
func hrgo_evaluate(cell unsafe.Pointer, report *C.hrgo_report, count C.size_t, names *C.hrgo_name, values *C.hrgo_number) *C.hr_status {
	t := contextValue[*trainer](cell)
	return t.tell("OnEvaluate", func() error {
		if t.options.OnEvaluate == nil {
			return nil
		}
		metrics := make(map[string]float64, int(count))
		numbers := unsafe.Slice(values, int(count))
		for i, name := range unsafe.Slice(names, int(count)) {
			metrics[C.GoString(name)] = float64(numbers[i])
		}
		return t.options.OnEvaluate(reportOf((*C.hr_train_report)(report)), metrics)
	})
}

//export hrgo_message
func hrgo_message(cell unsafe.Pointer, message *C.hrgo_text) {
	t := contextValue[*trainer](cell)
	_ = t.keep(caught("OnMessage", func() error {
		if t.options.OnMessage != nil {
			t.options.OnMessage(C.GoString(message))
		}
		return nil
	}))
}

func (l *loan) train(options *TrainOptions) *C.hr_train_options {
	out := C.hr_train_options{struct_size: C.sizeof_hr_train_options,
		train_signature: l.optional(options.TrainSignature), eval_signature: l.optional(options.EvalSignature),
		max_steps: C.int64_t(options.MaxSteps), scalar_count: C.size_t(len(options.Scalars)),
		checkpoint_directory: l.optional(options.CheckpointDirectory),
		checkpoint_steps:     C.int64_t(options.CheckpointSteps), keep_checkpoints: l.number("KeepCheckpoints", options.KeepCheckpoints),
		event_directory: l.optional(options.EventDirectory), summary_steps: C.int64_t(options.SummarySteps),
		bound_group: l.optional(options.BoundGroup), eval_steps: C.int64_t(options.EvalSteps),
		best_metric: l.optional(options.BestMetric), best_is_smallest: flag(options.BestIsSmallest),
		min_ranks: l.number("MinRanks", options.MinRanks), max_ranks: l.number("MaxRanks", options.MaxRanks),
		restore_best: flag(options.RestoreBest), patience: C.int64_t(options.Patience),
		on_step: (*[0]byte)(C.hrgo_step), on_evaluate: (*[0]byte)(C.hrgo_evaluate), on_message: (*[0]byte)(C.hrgo_message)}
	names := slices.Sorted(maps.Keys(options.Scalars))
	values := make([]C.double, len(names))
	for i, name := range names {
		values[i] = C.double(options.Scalars[name])
	}
	out.scalar_names, out.scalars = l.texts(names), lend(l, values)
	if options.TrainData == nil {
		l.failure = invalid("TrainData is nil; give the data set to train with")
	} else {
		out.train_data = borrow(l, options.TrainData.object)
	}
	if options.EvalData != nil {
		out.eval_data = borrow(l, options.EvalData.object)
	}
	if options.Group != nil {
		out.group = borrow(l, options.Group.object)
	}
	if options.ElasticGroup != nil {
		out.elastic_group = borrow(l, options.ElasticGroup.object)
	}
	return lendStruct(l, out)
}

// Train runs a training and returns its last report when it is over. It restores the newest checkpoint
// if there is one, trains, writes summaries, evaluates and saves. If the context ends it, it saves
// first and then fails.
func (s *Session) Train(ctx context.Context, options *TrainOptions) (TrainReport, error) {
	var lent loan
	defer lent.end()
	session, c := borrow(&lent, s.object), lent.train(options)
	if lent.failure != nil {
		return TrainReport{}, lent.failure
	}
	functions := &trainer{options: options}
	c.context = newContext(functions)
	defer hrgo_release(c.context)
	report := C.hr_train_report{struct_size: C.sizeof_hr_train_report}
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_train(session, c, l, &report) })
	if options.ElasticGroup != nil {
		options.ElasticGroup.look(c.elastic_group)
	}
	if known, ok := err.(*Error); ok && functions.failure != nil {
		known.cause = functions.failure
	}
	return reportOf(&report), err
}

// Evaluate evaluates the rest of the data set's pass with a signature ("": "eval").
func (s *Session) Evaluate(ctx context.Context, signature string, data *Dataset) (TrainReport, error) {
	var lent loan
	defer lent.end()
	session, name := borrow(&lent, s.object), lent.optional(signature)
	if data == nil {
		return TrainReport{}, invalid("the data set is nil; give one to evaluate")
	}
	dataset := borrow(&lent, data.object)
	if lent.failure != nil {
		return TrainReport{}, lent.failure
	}
	report := C.hr_train_report{struct_size: C.sizeof_hr_train_report}
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_evaluate(session, name, dataset, l, &report) })
	return reportOf(&report), err
}
