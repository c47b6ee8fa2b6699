package headrace

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// Every kind of object: closing twice is no error, and what is closed says so.
func TestClosedObjectsOfEveryKind(t *testing.T) {
	env := newEnv(t)
	graph := newGraphOf(t, env)
	doubling(graph)
	model := must(graph.Model())(t)
	session := must(model.NewSession(background, nil))(t)
	call := must(session.NewCall("double"))(t)
	check(t, BindSlice(call, "x", []float32{1}))
	run := must(call.Start(background))(t)
	check(t, run.Wait(background))
	data, queue := linearData(t, env, 1), must(env.NewQueue())(t)
	store := must(env.OpenStore("memory:", nil))(t)
	group := must(env.NewGroup(background, &GroupOptions{Size: 1, Store: store}))(t)
	work := must(group.BarrierStart())(t)
	check(t, work.Wait(background))
	summary := must(OpenSummary(t.TempDir()))(t)
	for _, one := range []struct {
		kind   string
		closer io.Closer
		use    func() error
	}{
		{"graph", graph, func() error { _, err := graph.Info(); return err }},
		{"model", model, func() error { _, err := model.Describe(); return err }},
		{"session", session, func() error { _, err := session.Describe(); return err }},
		{"call", call, func() error { return call.Run(background) }},
		{"run", run, func() error { return run.Wait(background) }},
		{"data set", data, func() error { _, err := data.Next(background); return err }},
		{"queue", queue, func() error { _, err := queue.Wait(background); return err }},
		{"store", store, func() error { _, err := store.URL(); return err }},
		{"work", work, func() error { return work.Wait(background) }},
		{"group", group, func() error { return group.Barrier(background) }},
		{"summary", summary, summary.Flush},
		{"env", env, func() error { _, err := env.Describe(); return err }},
	} {
		check(t, one.closer.Close())
		check(t, one.closer.Close())
		if err := one.use(); !errors.Is(err, ErrClosed) {
			t.Errorf("a closed %s: %v", one.kind, err)
		}
	}
}

// A run keeps what is bound to its call, though the program has closed it and forgotten the rest.
func TestTensorsMayGoDuringARun(t *testing.T) {
	call := slowCall(t, 3)
	x := must(WrapTensor([]float32{3, 4}))(t)
	check(t, call.Bind("x", x))
	run := must(call.Start(background))(t)
	check(t, x.Close())
	x = nil
	for range 5 {
		runtime.GC()
		_ = make([]float32, 1<<20)
	}
	check(t, run.Wait(background))
	if y := must(Values[float32](must(call.Result("y"))(t)))(t); y[0] != 3 || y[1] != 4 {
		t.Fatal(y)
	}
}

func TestPanicsOfTypeRulesAndGradients(t *testing.T) {
	infers, differentiates := false, false
	env := operatorEnv(t, &Operator{Name: "test.Bad", MinInputs: 1, MaxInputs: 1, MinOutputs: 1, MaxOutputs: 1,
		Infer: func(o *InferOp) error {
			if infers {
				panic("no type")
			}
			return o.SetOutputLike(0, 0)
		},
		Compute: func(*ComputeOp) error { return nil },
		Gradient: func(*GradientOp) error {
			if differentiates {
				panic("no slope")
			}
			return nil
		}})
	g := newGraphOf(t, env)
	x := g.Input("x", Float32, 1)
	y := g.Op("test.Bad", "", x)
	differentiates = true
	g.Gradients(y, x)
	expect(t, g.ClearErr(), Internal, "no slope", "bad_input_test.go")
	infers = true
	g.Op("test.Bad", "", x)
	expect(t, g.ClearErr(), Internal, "no type", "bad_input_test.go")
	infers = false
	g.Op("test.Bad", "", x)
	check(t, g.Err())
}

// faulty is an allocator, a clock and a data set of which everything panics when it is told to.
type faulty struct {
	counting
	panics atomic.Bool
	given  bool // the batch of this epoch
}

func (f *faulty) fail() {
	if f.panics.Load() {
		panic("oops")
	}
}

func (f *faulty) Allocate(bytes, alignment uintptr) unsafe.Pointer {
	f.fail()
	return f.counting.Allocate(bytes, alignment)
}

func (f *faulty) Now() int64 {
	f.fail()
	return time.Now().UnixNano()
}

func (f *faulty) Next(int64, []*Tensor) error {
	if f.given = !f.given; !f.given {
		return io.EOF
	}
	return nil
}

func (f *faulty) SeekTo(int64, int64) error {
	f.fail()
	return nil
}

func (f *faulty) Close() error {
	f.fail()
	return nil
}

// What no call can return goes to slog.Default.
func TestPanicsOfServices(t *testing.T) {
	lines := make(chan string, 100)
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(writer(func(line []byte) {
		select {
		case lines <- string(line):
		default:
		}
	}), nil)))
	reported := func() {
		t.Helper()
		select {
		case line := <-lines:
			if !strings.Contains(line, "oops") {
				t.Fatal(line)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the panic was not reported")
		}
	}
	service := new(faulty)
	env := must(NewEnv(&EnvOptions{Allocator: service}))(t)
	service.panics.Store(true)
	_, err := env.NewTensor(Float32, 8)
	expect(t, err, ResourceExhausted)
	reported()
	service.panics.Store(false)
	must(env.NewTensor(Float32, 8))(t).Close()
	env.Close()

	clock := new(faulty)
	env = must(NewEnv(&EnvOptions{Clock: clock}))(t)
	clock.panics.Store(true)
	doubled(t, env, 3)
	ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	_, err = must(env.NewQueue())(t).Wait(ctx)
	expect(t, err, DeadlineExceeded)
	reported()
	env.Close()

	source := new(faulty)
	data := must(newEnv(t).NewSourceDataset(source, 0, field("x", 2), &DatasetOptions{Repeat: 2}))(t)
	must(data.Next(background))(t).Close()
	source.panics.Store(true)
	_, err = data.Next(background)
	expect(t, err, Internal, "oops")
	check(t, data.Close())
	reported() // of Close
}

func TestPanicsOfTrainings(t *testing.T) {
	env := newEnv(t)
	session := newSession(t, env, linear)
	options := &TrainOptions{TrainData: linearData(t, env, -1), CheckpointDirectory: t.TempDir(), CheckpointSteps: 2,
		OnMessage: func(string) { panic("oops") }}
	_, err := session.Train(background, options)
	expect(t, err, Internal, "OnMessage panicked at bad_input_test.go", "oops")
}

func TestATableOfCostsThatIsDamagedIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "costs")
	_, err := NewEnv(&EnvOptions{CostTable: file})
	expect(t, err, NotFound, file)
	if err := os.WriteFile(file, []byte("not a table\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = NewEnv(&EnvOptions{CostTable: file})
	expect(t, err, DataLoss, "does not begin")
}
