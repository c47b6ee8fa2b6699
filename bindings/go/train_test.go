package headrace

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func linearData(t testing.TB, env *Env, repeat int64) *Dataset {
	t.Helper()
	x, target := make([]float32, 0, 16), make([]float32, 0, 8)
	for i := range 8 {
		a, b := float32(i%3)-1, float32(i%5)/4
		x, target = append(x, a, b), append(target, 2*a-b)
	}
	data := must(env.NewDataset([]string{"x", "t"}, []*Tensor{must(WrapTensor(x, 8, 2))(t), must(WrapTensor(target, 8, 1))(t)},
		&DatasetOptions{Batch: 4, Repeat: repeat}))(t)
	t.Cleanup(func() { data.Close() })
	return data
}

func TestTraining(t *testing.T) {
	env := newEnv(t)
	session, folder := newSession(t, env, linear), t.TempDir()
	steps, messages := 0, []string{}
	report, err := session.Train(background, &TrainOptions{
		TrainData: linearData(t, env, 50), EvalData: linearData(t, env, 1),
		CheckpointDirectory: filepath.Join(folder, "checkpoints"), EventDirectory: filepath.Join(folder, "events"),
		OnStep:    func(TrainReport) (bool, error) { steps++; return false, nil },
		OnMessage: func(message string) { messages = append(messages, message) }})
	check(t, err)
	if report.Step != 100 || steps != 100 || report.Epoch != 50 || report.Loss > 0.01 || len(messages) == 0 ||
		!report.Evaluated || report.EvaluationLoss > 0.01 {
		t.Fatalf("%+v, %d steps, %q", report, steps, messages)
	}
	evaluation := must(session.Evaluate(background, "eval", linearData(t, env, 1)))(t)
	if evaluation.EvaluationLoss != report.EvaluationLoss {
		t.Fatalf("%+v", evaluation)
	}
	if events, _ := filepath.Glob(filepath.Join(folder, "events", "*tfevents*")); len(events) != 1 {
		t.Fatal(events)
	}
	again := newSession(t, env, linear)
	restored := must(again.Restore(background, filepath.Join(folder, "checkpoints"), nil))(t)
	if restored.Step != 100 || !strings.Contains(restored.Path, "step-000100") || again.Step() != 100 {
		t.Fatalf("%+v", restored)
	}
	if about := must(DescribeCheckpoint(restored.Path))(t); !json.Valid(about) {
		t.Fatal(string(about))
	}
}

// The loss falls, so that the evaluation with the largest one is the first, and no later one is better.
func TestTheBestCheckpoint(t *testing.T) {
	env := newEnv(t)
	session, folder := newSession(t, env, linear), t.TempDir()
	var losses []float64
	options := &TrainOptions{TrainData: linearData(t, env, -1), EvalData: linearData(t, env, 1), EvalSteps: 10,
		CheckpointDirectory: folder, BestMetric: "loss", RestoreBest: true, Patience: 3,
		OnEvaluate: func(report TrainReport, metrics map[string]float64) error {
			if !report.Evaluated || len(metrics) != 1 || metrics["loss"] != report.EvaluationLoss {
				t.Errorf("%+v, %v", report, metrics)
			}
			losses = append(losses, metrics["loss"])
			return nil
		}}
	report := must(session.Train(background, options))(t)
	if report.Step != 40 || !report.StoppedEarly || report.BestStep != 10 || len(losses) != 4 ||
		report.Best != losses[0] || !math.IsNaN(report.LearningRate) || session.Step() != 10 {
		t.Fatalf("%+v, %v, step %d", report, losses, session.Step())
	}
	if restored := must(session.Restore(background, filepath.Join(folder, "best"), nil))(t); restored.Step != 10 {
		t.Fatalf("%+v", restored)
	}
	options.BestIsSmallest, options.CheckpointDirectory, options.RestoreBest, options.MaxSteps = true, "", false, 100
	report = must(session.Train(background, options))(t)
	if report.StoppedEarly || report.BestStep != 100 || report.Best >= losses[0] {
		t.Fatalf("%+v", report)
	}
	why := errors.New("out of coffee")
	options.OnEvaluate = func(TrainReport, map[string]float64) error { return why }
	options.MaxSteps = 200
	if _, err := session.Train(background, options); !errors.Is(err, why) {
		t.Fatal(err)
	}
	options.OnEvaluate = func(TrainReport, map[string]float64) error { panic("oops") }
	_, err := session.Train(background, options)
	expect(t, err, Internal, "OnEvaluate panicked at train_test.go", "oops")
	options.BestMetric = "nobody"
	_, err = session.Train(background, options)
	expect(t, err, NotFound, "nobody")
}

func TestTrainingsThatAreStopped(t *testing.T) {
	env := newEnv(t)
	session := newSession(t, env, linear)
	options := &TrainOptions{TrainData: linearData(t, env, -1), OnStep: func(report TrainReport) (bool, error) {
		return report.Step == 3, nil
	}}
	report := must(session.Train(background, options))(t)
	if report.Step != 3 {
		t.Fatalf("%+v", report)
	}
	why := errors.New("out of coffee")
	options.OnStep = func(TrainReport) (bool, error) { return false, why }
	_, err := session.Train(background, options)
	if !errors.Is(err, why) {
		t.Fatal(err)
	}
	options.OnStep = func(TrainReport) (bool, error) { panic("oops") }
	_, err = session.Train(background, options)
	expect(t, err, Internal, "OnStep panicked at train_test.go", "oops")
	options.OnStep = nil
	cancelled(t, func(ctx context.Context) error {
		_, err := session.Train(ctx, options)
		return err
	})
	_, err = session.Train(background, &TrainOptions{})
	expect(t, err, InvalidArgument, "TrainData")
	_, err = session.Evaluate(background, "", nil)
	expect(t, err, InvalidArgument)
	options.TrainSignature = "nobody"
	_, err = session.Train(background, options)
	expect(t, err, NotFound, "nobody")
	options.TrainSignature, options.Scalars, options.MaxSteps = "", map[string]float64{"speed": 1}, 1
	if _, err = session.Train(background, options); err == nil {
		t.Fatal("an unknown scalar was bound")
	}
}

func TestCheckpointsAndExports(t *testing.T) {
	env := newEnv(t)
	session, folder, data := newSession(t, env, linear), t.TempDir(), linearData(t, env, 2)
	call := must(session.NewCall("train"))(t)
	check(t, call.BindDataset(data))
	check(t, call.Run(background))
	check(t, session.Save(background, folder, &CheckpointOptions{Keep: 1, Dataset: data}))
	before := must(Values[float32](must(session.Variable(background, "layer/weight"))(t)))(t)
	place := string(must(data.Position())(t))
	check(t, call.Run(background))
	must(session.Restore(background, folder, &CheckpointOptions{Dataset: data}))(t)
	after := must(Values[float32](must(session.Variable(background, "layer/weight"))(t)))(t)
	if !slices.Equal(before, after) || string(must(data.Position())(t)) != place || session.Step() != 1 {
		t.Fatal(before, after, session.Step())
	}
	file := filepath.Join(folder, "serve.hrg")
	check(t, session.Export(background, file, []string{"infer"}, &SaveOptions{StripNames: true}))
	serving := must(must(env.LoadModel(file, nil))(t).NewSession(background, nil))(t)
	must(serving.NewCall("infer"))(t)
	_, err := serving.NewCall("train")
	expect(t, err, NotFound)
	_, err = session.Restore(background, filepath.Join(folder, "nothing"), nil)
	expect(t, err, NotFound)
}

func TestSummaries(t *testing.T) {
	env, folder := newEnv(t), t.TempDir()
	g := newGraphOf(t, env)
	linear(g)
	summary := must(OpenSummary(folder))(t)
	images := must(env.NewTensor(Uint8, 1, 2, 2))(t)
	check(t, summary.Scalar("loss", 1, 0.5))
	check(t, summary.Histogram("weights", 1, must(TensorOf(env, numbers(9)))(t)))
	check(t, summary.Images("images", 1, images, 1))
	check(t, summary.Text("text", 1, "# grüße"))
	check(t, summary.Graph(must(g.Model())(t)))
	check(t, summary.Flush())
	expect(t, summary.Histogram("weights", 1, nil), InvalidArgument)
	summary.Close()
	expect(t, summary.Scalar("loss", 2, 0.5), FailedPrecondition, "closed")
	if files := must(os.ReadDir(folder))(t); len(files) != 1 {
		t.Fatal(files)
	}
	progress := must(NewProgress("", "", 0, 2))(t)
	progress.Update(2, 10, "loss", 0.5)
	progress.Message("done")
	progress.Close()
}
