package headrace

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestUseAfterCloseFails(t *testing.T) {
	env := newEnv(t)
	session := newSession(t, env, doubling)
	call := must(session.NewCall("double"))(t)
	x := must(TensorOf(env, []float32{1}))(t)
	for range 2 {
		x.Close()
		call.Close()
		session.Close()
		env.Close()
	}
	_, dataErr := Data[float32](x)
	_, runErr := session.Run(background, nil, nil)
	_, graphErr := env.NewGraph()
	for _, err := range []error{call.Run(background), call.Bind("x", nil), dataErr, runErr, graphErr} {
		expect(t, err, FailedPrecondition, "closed")
		if !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
	}
	if x.DType() != Undefined || x.Dims() != nil || session.Variables() != nil {
		t.Fatal("a closed object has answers")
	}
}

func TestNothingIsUsedBeforeItIsMade(t *testing.T) {
	expect(t, new(Call).Run(background), InvalidArgument)
	check(t, new(Session).Close())
	_, err := TensorOf(new(Env), []float32{1})
	expect(t, err, InvalidArgument)
	_, err = Data[float32](nil)
	expect(t, err, InvalidArgument)
}

func TestOwnersMayBeClosedFirst(t *testing.T) {
	env := newEnv(t)
	session := newSession(t, env, doubling)
	call := must(session.NewCall("double"))(t)
	check(t, BindSlice(call, "x", []float32{4}))
	check(t, call.Run(background))
	y := must(call.TakeResult("y"))(t)
	call.Close()
	session.Close()
	env.Close()
	if got := must(Values[float32](y))(t); got[0] != 8 {
		t.Fatal(got)
	}
}

func TestCloseDuringRuns(t *testing.T) {
	for range 20 {
		env := must(NewEnv(nil))(t)
		session := newSession(t, env, doubling)
		var threads sync.WaitGroup
		for range 4 {
			threads.Add(1)
			go func() {
				defer threads.Done()
				call, err := session.NewCall("double")
				if err != nil {
					return // closed before
				}
				y := make([]float32, 100)
				_ = BindSlice(call, "x", make([]float32, 100))
				_ = OutputTo(call, "y", y)
				for call.Run(background) == nil {
				}
			}()
		}
		time.Sleep(time.Millisecond)
		session.Close()
		env.Close()
		threads.Wait()
	}
}

func TestCallClosedDuringItsRun(t *testing.T) {
	call := slowCall(t, 5)
	y := make([]float32, 2)
	check(t, OutputTo(call, "y", y))
	run := must(call.Start(background))(t)
	call.Close()
	runtime.GC()
	check(t, run.Wait(background))
	if y[1] != 2 {
		t.Fatal(y)
	}
}

func TestCollectedObjectsAreClosed(t *testing.T) {
	var released atomic.Int64
	for range 10 {
		owner := new(struct{ object *object[*int] })
		own(owner, &owner.object, new(int), "test", false, func(*int) { released.Add(1) })
	}
	for i := 0; released.Load() < 10; i++ {
		if i > 100 {
			t.Fatalf("%d of 10 were released", released.Load())
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

func TestObjectsAreReleasedOnceAfterTheirLastUse(t *testing.T) {
	released := 0
	owner := new(struct{ object *object[*int] })
	own(owner, &owner.object, new(int), "test", false, func(*int) { released++ })
	must(owner.object.use())(t)
	must(owner.object.use())(t)
	if !owner.object.close() || owner.object.close() || released != 0 {
		t.Fatal("closing an object in use released it, or closed it twice")
	}
	owner.object.done()
	if _, err := owner.object.use(); !errors.Is(err, ErrClosed) || released != 0 {
		t.Fatal(err, released)
	}
	owner.object.done()
	if released != 1 {
		t.Fatal(released)
	}
}

// Returns a number with which a test repeats, from an environment variable.
func repeats(name string, fallback int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return fallback
}

// Returns the resident memory in bytes.
func resident(t testing.TB) int64 {
	t.Helper()
	fields := strings.Fields(string(must(os.ReadFile("/proc/self/statm"))(t)))
	return int64(must(strconv.Atoi(fields[1]))(t)) * int64(os.Getpagesize())
}

// With HEADRACE_SESSIONS=20000 and HEADRACE_ENVS=1000, as `test` sets them, a collection is forced every
// 1,000 sessions and every 50 envs.
func TestSessionsLeaveNoMemory(t *testing.T) {
	env := newEnv(t)
	g := must(env.NewGraph())(t)
	linear(g)
	model := must(g.Model())(t)
	session := func(close bool) {
		s := must(model.NewSession(background, nil))(t)
		call := must(s.NewCall("infer"))(t)
		check(t, BindSlice(call, "x", []float32{1, 2}, 1, 2))
		check(t, call.Run(background))
		if close {
			call.Close()
			s.Close()
		}
	}
	flat(t, repeats("HEADRACE_SESSIONS", 2000), func(i int) { session(i%2 == 0) })
}

func TestEnvsLeaveNoMemory(t *testing.T) {
	flat(t, repeats("HEADRACE_ENVS", 100), func(i int) {
		env := must(NewEnv(&EnvOptions{Threads: 2}))(t) // and nothing that t keeps
		g := must(env.NewGraph())(t)
		doubling(g)
		session := must(must(g.Model())(t).NewSession(background, nil))(t)
		call := must(session.NewCall("double"))(t)
		check(t, BindSlice(call, "x", []float32{1}))
		check(t, call.Run(background))
		if i%2 == 0 {
			call.Close()
			session.Close()
			env.Close()
		}
	})
}

// Fails if memory grows while a function runs so often, with a collection after every 5 %.
func flat(t testing.TB, times int, function func(i int)) {
	t.Helper()
	var after []int64
	for i := range times {
		function(i)
		if (i+1)%max(times/20, 1) == 0 {
			for range 3 {
				runtime.GC()
				time.Sleep(5 * time.Millisecond)
			}
			after = append(after, resident(t))
		}
	}
	warm, end := after[len(after)/4], after[len(after)-1]
	t.Logf("resident memory: %.1f MiB after a quarter, %.1f MiB at the end", float64(warm)/(1<<20), float64(end)/(1<<20))
	if grown := end - warm; grown > 8<<20 {
		t.Fatalf("resident memory grew by %d bytes: %v", grown, after)
	}
}
