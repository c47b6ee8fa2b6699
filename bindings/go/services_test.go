package headrace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// A clock that the test moves.
type testClock struct{ now atomic.Int64 }

func (c *testClock) Now() int64 { return c.now.Load() }

// goroutines is an executor; it panics before it has run all tasks if it is told to.
type goroutines struct {
	panics bool
	tasks  atomic.Int64
}

func (*goroutines) Concurrency() int { return 2 }

func (g *goroutines) ParallelFor(tasks, threads int, task func(i int)) {
	g.tasks.Add(int64(tasks))
	var even sync.WaitGroup
	even.Add(1)
	go func() {
		defer even.Done()
		for i := 0; i < tasks; i += 2 {
			task(i)
		}
	}()
	if g.panics {
		panic("tired") // while the goroutine is running tasks
	}
	even.Wait()
	for i := 1; i < tasks; i += 2 {
		task(i)
	}
}

// counting is an allocator that counts what it has given: memory of Go, which it pins.
type counting struct {
	live, most atomic.Int64
	refuses    bool
	pins       sync.Map // the pinner of each block
}

func (c *counting) Allocate(bytes, alignment uintptr) unsafe.Pointer {
	if c.refuses && bytes > 1<<20 {
		return nil
	}
	c.most.Store(max(c.most.Load(), c.live.Add(int64(bytes))))
	block := make([]byte, bytes+alignment)
	pinner := new(runtime.Pinner)
	pinner.Pin(&block[0])
	skip := alignment - uintptr(unsafe.Pointer(&block[0]))%alignment
	c.pins.Store(unsafe.Pointer(&block[skip]), pinner)
	return unsafe.Pointer(&block[skip])
}

func (c *counting) Deallocate(data unsafe.Pointer, bytes, alignment uintptr) {
	c.live.Add(-int64(bytes))
	pinner, _ := c.pins.LoadAndDelete(data)
	pinner.(*runtime.Pinner).Unpin()
}

func doubled(t testing.TB, env *Env, count int) {
	t.Helper()
	call := must(newSession(t, env, doubling).NewCall("double"))(t)
	defer call.Close()
	x := numbers(count)
	check(t, BindSlice(call, "x", x))
	check(t, call.Run(background))
	y := must(call.Result("y"))(t)
	defer y.Close()
	for i, value := range must(Data[float32](y))(t) {
		if value != 2*x[i] {
			t.Fatalf("2 * %g is not %g", x[i], value)
		}
	}
}

func TestExecutorsOfGo(t *testing.T) {
	for _, panics := range []bool{false, true} {
		executor := &goroutines{panics: panics}
		env := must(NewEnv(&EnvOptions{Executor: executor}))(t)
		doubled(t, env, 1<<20)
		env.Close()
		if executor.tasks.Load() == 0 {
			t.Fatal("the executor had nothing to do")
		}
	}
}

func TestAllocatorsOfGo(t *testing.T) {
	allocator := new(counting)
	env := must(NewEnv(&EnvOptions{Allocator: allocator}))(t)
	tensor := must(env.NewTensor(Float32, 1<<20))(t)
	if allocator.live.Load() < 4<<20 {
		t.Fatal(allocator.live.Load())
	}
	tensor.Close()
	env.Close()
	if live := allocator.live.Load(); live != 0 || allocator.most.Load() < 4<<20 {
		t.Fatal(live)
	}
	strict := must(NewEnv(&EnvOptions{Allocator: &counting{refuses: true}}))(t)
	_, err := strict.NewTensor(Float32, 1<<20)
	expect(t, err, ResourceExhausted)
}

func TestClocksOfGo(t *testing.T) {
	clock := new(testClock)
	env := must(NewEnv(&EnvOptions{Clock: clock}))(t)
	queue := must(env.NewQueue())(t)
	ctx, cancel := context.WithTimeout(background, time.Hour)
	defer cancel()
	time.AfterFunc(20*time.Millisecond, func() { clock.now.Store(int64(2 * time.Hour)) })
	_, err := queue.Wait(ctx)
	expect(t, err, DeadlineExceeded)
}

func TestLogsGoToSlog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	context := newContext(log)
	defer hrgo_release(context)
	for level, word := range map[LogLevel]string{LogDebug: "DEBUG", LogInfo: "INFO", LogWarning: "WARN", LogError: "ERROR"} {
		out.Reset()
		log.Log(background, slogLevel(level), "x")
		if !strings.Contains(out.String(), "level="+word) {
			t.Fatal(out.String())
		}
	}
}

// A handler that panics.
type panicking struct{ slog.Handler }

func (panicking) Enabled(context.Context, slog.Level) bool { panic("no log") }

// A calibration that is no calibration is reported in the log.
func TestLogsOfTheLibrary(t *testing.T) {
	for _, panics := range []bool{false, true} {
		var mutex sync.Mutex
		var out bytes.Buffer
		handler := slog.Handler(slog.NewTextHandler(writer(func(data []byte) {
			mutex.Lock()
			defer mutex.Unlock()
			out.Write(data)
		}), nil))
		if panics {
			handler = panicking{handler}
		}
		env := must(NewEnv(&EnvOptions{Log: slog.New(handler)}))(t)
		store := must(env.OpenStore("memory:", nil))(t)
		group := must(env.NewGroup(background, &GroupOptions{Size: 1, Store: store, Calibration: "/no/such/file"}))(t)
		group.Close()
		env.Close()
		for i := 0; !panics; i++ {
			mutex.Lock()
			found := strings.Contains(out.String(), "/no/such/file")
			mutex.Unlock()
			if found {
				break
			}
			if time.Sleep(time.Millisecond); i > 2000 {
				t.Fatalf("the log has no word of it: %s", out.String())
			}
		}
	}
}

type writer func([]byte)

func (w writer) Write(data []byte) (int, error) {
	w(data)
	return len(data), nil
}

func TestEnvsDescribeThemselves(t *testing.T) {
	env := newEnv(t)
	var about struct{ Operators []any }
	check(t, json.Unmarshal(must(env.Describe())(t), &about))
	if len(about.Operators) < 100 {
		t.Fatal(about)
	}
	if err := env.LoadPlugin("nothing"); err == nil || !strings.Contains(fmt.Sprint(err), "nothing") {
		t.Fatal(err)
	}
}

func TestNumbersOutOfRange(t *testing.T) {
	_, err := NewEnv(&EnvOptions{Threads: 1 << 40})
	expect(t, err, InvalidArgument, "Threads")
	env := newEnv(t)
	g := newGraphOf(t, env)
	doubling(g)
	_, err = must(g.Model())(t).NewSession(background, &SessionOptions{MaxPlans: 1 << 32})
	expect(t, err, InvalidArgument, "MaxPlans")
	ranks(t, 2, GroupOptions{}, func(t *testing.T, g *Group) {
		if err := Send(background, g, []float32{1}, 1<<32, 1); !errors.Is(err, InvalidArgument) {
			t.Error(err)
		}
		if _, err := g.Split(background, 1<<32, 0); !errors.Is(err, InvalidArgument) {
			t.Error(err)
		}
	})
	_, err = env.NewTensor(Float32, 1<<62, 1<<62)
	expect(t, err, InvalidArgument)
	_, err = env.NewTensor(Float32, 1<<45)
	expect(t, err, ResourceExhausted)
	ops := g.Ops("Relu", "", -3, 0)
	if len(ops) != 0 {
		t.Fatal(ops)
	}
	g.ClearErr()
	_, err = g.Signature(-1)
	expect(t, err, InvalidArgument)
}
