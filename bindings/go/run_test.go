package headrace

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestRunsEndWithTheirContext(t *testing.T) {
	call := slowCall(t, 100)
	cancelled(t, call.Run)
	ctx, cancel := context.WithTimeout(background, 60*time.Millisecond)
	defer cancel()
	err := call.Run(ctx)
	expect(t, err, DeadlineExceeded)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	check(t, slowCall(t, 1).Run(background))
}

func TestCallsRunWithOtherContexts(t *testing.T) {
	call := nullCall(t)
	for range 3 {
		ctx, cancel := context.WithCancel(background)
		for range 3 {
			check(t, call.Run(ctx))
			check(t, call.Run(context.WithValue(ctx, t, t)))
		}
		cancel()
		expect(t, call.Run(ctx), Cancelled)
		check(t, call.Run(background))
		short, cancelShort := context.WithTimeout(background, time.Hour)
		check(t, call.Run(short))
		cancelShort()
		expect(t, call.Run(short), Cancelled)
	}
	slow := slowCall(t, 5)
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	check(t, slow.Run(ctx))
	brief, cancelBrief := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancelBrief()
	expect(t, slow.Run(brief), DeadlineExceeded)
	check(t, slow.Run(ctx))
}

func TestSessionsWorkAfterACancelledRun(t *testing.T) {
	call := slowCall(t, 10)
	cancelled(t, call.Run)
	check(t, call.Run(background))
	if y := must(Values[float32](must(call.Result("y"))(t)))(t); !slices.Equal(y, []float32{1, 2}) {
		t.Fatal(y)
	}
}

func TestBackgroundRuns(t *testing.T) {
	call := slowCall(t, 5)
	y := make([]float32, 2)
	check(t, OutputTo(call, "y", y))
	run := must(call.Start(background))(t)
	defer run.Close()
	if run.Ended() {
		t.Fatal("a run of 0.1 s ended at once")
	}
	expect(t, call.Run(background), FailedPrecondition)
	cancelled(t, func(ctx context.Context) error { return must(slowCall(t, 10).Start(background))(t).Wait(ctx) })
	told := make(chan error, 1)
	check(t, run.OnDone(func(err error) { told <- err }))
	<-run.Done()
	check(t, <-told)
	check(t, run.Wait(background))
	if !run.Ended() || y[1] != 2 {
		t.Fatal(y)
	}
	check(t, call.Run(background))
}

func TestBackgroundRunsAreCancelled(t *testing.T) {
	call := slowCall(t, 100)
	run := must(call.Start(background))(t)
	run.Cancel()
	expect(t, run.Wait(background), Cancelled)
	ctx, cancel := context.WithCancel(background)
	run = must(call.Start(ctx))(t)
	cancel()
	expect(t, run.Wait(background), Cancelled)
	_, err := call.Start(ctx)
	expect(t, err, Cancelled)
	<-must(slowCall(t, 1).Start(background))(t).Done()
}

func TestRunsAreCollectedWhileTheyRun(t *testing.T) {
	var done sync.WaitGroup
	for range 20 {
		call := slowCall(t, 2)
		check(t, OutputTo(call, "y", make([]float32, 2)))
		run := must(call.Start(background))(t)
		done.Add(1)
		check(t, run.OnDone(func(error) { done.Done() }))
	}
	for range 5 {
		runtime.GC()
	}
	done.Wait()
}

func TestCallbacksMayStartTheNextRun(t *testing.T) {
	call := slowCall(t, 1)
	end := make(chan error, 1)
	var again func(left int)
	again = func(left int) {
		run, err := call.Start(background)
		if err != nil || left == 0 {
			end <- err
			return
		}
		if err := run.OnDone(func(error) { again(left - 1) }); err != nil {
			end <- err
		}
	}
	again(3)
	check(t, <-end)
}

func TestCompletionQueues(t *testing.T) {
	call := slowCall(t, 3)
	queue := must(newEnv(t).NewQueue())(t)
	if _, found, err := queue.Poll(); found || err != nil {
		t.Fatal(found, err)
	}
	run := must(call.Start(background))(t)
	check(t, run.Enqueue(queue, 7))
	done := must(queue.Wait(background))(t)
	if done.Key != 7 || done.Err != nil {
		t.Fatalf("%+v", done)
	}
	<-run.Done()
	check(t, call.Bind("x", nil))
	run = must(call.Start(background))(t)
	check(t, run.Enqueue(queue, 8))
	<-run.Done()
	done, found, err := queue.Poll()
	for i := 0; err == nil && !found && i < 100; i++ {
		time.Sleep(time.Millisecond)
		done, found, err = queue.Poll()
	}
	check(t, err)
	if done.Key != 8 {
		t.Fatalf("%+v", done)
	}
	expect(t, done.Err, InvalidArgument, "x")
	cancelled(t, func(ctx context.Context) error {
		_, err := queue.Wait(ctx)
		return err
	})
	if fd := must(queue.Descriptor())(t); fd < 0 {
		t.Fatal(fd)
	}
	queue.Close()
	_, err = queue.Wait(background)
	expect(t, err, FailedPrecondition, "closed")
}

func TestConcurrentRuns(t *testing.T) {
	session := newSession(t, newEnv(t), doubling)
	var threads sync.WaitGroup
	for i := range 8 {
		threads.Add(1)
		go func() {
			defer threads.Done()
			call := must(session.NewCall("double"))(t)
			defer call.Close()
			x, y := make([]float32, 1000), make([]float32, 1000)
			check(t, BindSlice(call, "x", x))
			check(t, OutputTo(call, "y", y))
			for round := range 50 {
				x[999] = float32(i*1000 + round)
				check(t, call.Run(background))
				if y[999] != 2*x[999] {
					t.Errorf("2 * %g is not %g", x[999], y[999])
				}
			}
		}()
	}
	threads.Wait()
}

func TestWrongOutputs(t *testing.T) {
	call := must(newSession(t, newEnv(t), doubling).NewCall("double"))(t)
	check(t, BindSlice(call, "x", []float32{1, 2}))
	dtype, dims, err := call.OutputType("y")
	check(t, err)
	if dtype != Float32 || !slices.Equal(dims, []int64{2}) {
		t.Fatal(dtype, dims)
	}
	expect(t, OutputTo(call, "z", make([]float32, 2)), NotFound, "'z'")
	check(t, OutputTo(call, "y", make([]float32, 3)))
	expect(t, call.Run(background), InvalidArgument, "12", "8")
}

func TestSignalsDuringAWait(t *testing.T) {
	got := make(chan os.Signal, 100)
	signal.Notify(got, syscall.SIGUSR1)
	defer signal.Stop(got)
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				_ = syscall.Kill(os.Getpid(), syscall.SIGUSR1)
			}
		}
	}()
	check(t, slowCall(t, 5).Run(background))
	queue := must(newEnv(t).NewQueue())(t)
	ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
	defer cancel()
	_, err := queue.Wait(ctx)
	expect(t, err, DeadlineExceeded)
	close(stop)
	if len(got) == 0 {
		t.Fatal("there were no signals")
	}
}

// What no call can return goes to slog.Default.
func TestPanicsOfCallbacksAreReported(t *testing.T) {
	lines := make(chan string, 10)
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(writer(func(line []byte) { lines <- string(line) }), nil)))
	run := must(slowCall(t, 1).Start(background))(t)
	check(t, run.OnDone(func(error) { panic("oops") }))
	if line := <-lines; !strings.Contains(line, "oops") || !strings.Contains(line, "run_test.go") {
		t.Fatal(line)
	}
	check(t, run.Wait(background))
}

// Returns a call of a graph with nothing to compute.
func nullCall(t testing.TB) *Call {
	t.Helper()
	call := must(newSession(t, newEnv(t), func(g *Graph) {
		x := g.Input("x", Float32, 1)
		g.SignatureInput("null", "x", x)
		g.SignatureOutput("null", "y", g.Op("Identity", "", x))
	}).NewCall("null"))(t)
	check(t, BindSlice(call, "x", []float32{1}))
	return call
}

func BenchmarkNullRun(b *testing.B) {
	call := nullCall(b)
	for b.Loop() {
		if err := call.Run(background); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNullRunWithContext(b *testing.B) {
	call := nullCall(b)
	ctx, cancel := context.WithTimeout(background, time.Hour)
	defer cancel()
	for b.Loop() {
		if err := call.Run(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
