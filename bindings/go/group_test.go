package headrace

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Runs a function as each of the ranks of a group, in goroutines with envs of their own.
func ranks(t *testing.T, size int, options GroupOptions, function func(t *testing.T, g *Group)) {
	t.Helper()
	var all sync.WaitGroup
	if options.Store == nil {
		options.Store = must(newEnv(t).OpenStore("memory:", nil))(t)
	}
	for rank := range size {
		all.Add(1)
		go func() {
			defer all.Done()
			own := options
			own.Rank, own.Size = rank, size
			group, err := newEnv(t).NewGroup(background, &own)
			if err != nil {
				t.Errorf("rank %d: %v", rank, err)
				return
			}
			defer group.Close()
			function(t, group)
		}()
	}
	all.Wait()
}

func good(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

func same[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v instead of %v", what, got, want)
	}
}

func TestCollectives(t *testing.T) {
	ranks(t, 3, GroupOptions{}, func(t *testing.T, g *Group) {
		r := float64(g.Rank())
		in, one, three := []float64{r, 10 * r}, make([]float64, 2), make([]float64, 6)
		mine := []int64{int64(g.Rank())}
		blocks := []float64{r, r + 10, r + 20}
		good(t, g.Barrier(background))
		good(t, AllReduce(background, g, in, one, Sum))
		same(t, "AllReduce", one, 3, 30)
		good(t, AllGather(background, g, in, three))
		same(t, "AllGather", three, 0, 0, 1, 10, 2, 20)
		clear(one)
		good(t, Reduce(background, g, in, one, Max, 1))
		if g.Rank() == 1 {
			same(t, "Reduce", one, 2, 20)
		}
		copy(one, in)
		good(t, Broadcast(background, g, one, one, 2))
		same(t, "Broadcast", one, 2, 20)
		if g.Rank() == 0 {
			good(t, Gather(background, g, in, three, 0))
			same(t, "Gather", three, 0, 0, 1, 10, 2, 20)
			good(t, Scatter(background, g, three, one, 0))
		} else {
			good(t, Gather(background, g, in, nil, 0))
			good(t, Scatter(background, g, nil, one, 0))
		}
		same(t, "Scatter", one, in...)
		good(t, ReduceScatter(background, g, blocks, one[:1], Sum))
		same(t, "ReduceScatter", one[:1], 3+30*r)
		good(t, AllToAll(background, g, blocks, three[:3]))
		same(t, "AllToAll", three[:3], 10*r, 10*r+1, 10*r+2)
		good(t, AllReduce(background, g, mine, mine, Product))
		same(t, "AllReduce", mine, 0)
		next, before := (g.Rank()+1)%3, (g.Rank()+2)%3
		work := must(SendStart(g, in, next, 7))(t)
		good(t, Recv(background, g, one, before, 7), work.Wait(background))
		same(t, "Recv", one, float64(before), 10*float64(before))
	})
}

func TestCollectivesInFlight(t *testing.T) {
	ranks(t, 2, GroupOptions{}, func(t *testing.T, g *Group) {
		r := float32(g.Rank())
		in, out, two, blocks := []float32{r}, make([]float32, 1), make([]float32, 2), []float32{r, r + 2}
		wait := func(work *Work, err error) {
			t.Helper()
			good(t, err)
			if err == nil {
				runtime.GC() // the slices are pinned and the work is not closed
				good(t, work.Wait(background))
				<-work.Done()
				if !work.Ended() {
					t.Error("the work has not ended")
				}
			}
		}
		wait(g.BarrierStart())
		wait(AllReduceStart(g, in, out, Sum))
		same(t, "AllReduce", out, 1)
		wait(AllGatherStart(g, in, two))
		same(t, "AllGather", two, 0, 1)
		wait(BroadcastStart(g, in, out, 1))
		same(t, "Broadcast", out, 1)
		wait(ReduceStart(g, in, out, Sum, 0))
		wait(GatherStart(g, in, two, 0))
		wait(ScatterStart(g, blocks, out, 0))
		same(t, "Scatter", out, 2*r)
		wait(ReduceScatterStart(g, blocks, out, Sum))
		same(t, "ReduceScatter", out, 1+4*r)
		wait(AllToAllStart(g, blocks, two))
		same(t, "AllToAll", two, 2*r, 2*r+1)
		if g.Rank() == 0 {
			good(t, Send(background, g, in, 1, 3))
		} else {
			wait(RecvStart(g, out, 0, 3))
			same(t, "Recv", out, 0)
		}
	})
}

func TestGeneralOperations(t *testing.T) {
	ranks(t, 2, GroupOptions{}, func(t *testing.T, g *Group) {
		tensor := must(TensorOf(newEnv(t), []float32{float32(g.Rank()), 3}))(t)
		buffer := must(tensor.Buffer())(t)
		sum := &Operation{Kind: OperationAllReduce, Input: buffer, Output: buffer, Op: PreMultipliedSum, Factor: 2}
		good(t, g.Run(background, sum))
		same(t, "Run", must(Values[float32](tensor))(t), 2, 12)
		all := make([]int32, 4)
		work, err := g.Start(&Operation{Kind: OperationAllGather, Input: BufferOf([]int32{int32(g.Rank()), 5}), Output: BufferOf(all)})
		good(t, err, work.Wait(background))
		same(t, "Start", all, 0, 5, 1, 5)
		if about, err := g.Explain(&Operation{Kind: OperationAllReduce, Count: 1000, DType: Float32}); err != nil || !json.Valid(about) {
			t.Error(string(about), err)
		}
		sum.Output = BufferOf(make([]float32, 3))
		if err := g.Run(background, sum); !errors.Is(err, InvalidArgument) {
			t.Error(err)
		}
		tensor.Close()
		sum.Output = buffer
		if err := g.Run(background, sum); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

func TestWrongLengthsAreRefused(t *testing.T) {
	ranks(t, 2, GroupOptions{}, func(t *testing.T, g *Group) {
		a, b := make([]float32, 2), make([]float32, 3)
		for _, err := range []error{AllReduce(background, g, a, b, Sum), AllGather(background, g, a, b), AllToAll(background, g, b, b),
			ReduceScatter(background, g, b, a, Sum), Gather(background, g, a, b, g.Rank()), Broadcast(background, g, b, a, g.Rank())} {
			if !errors.Is(err, InvalidArgument) {
				t.Error(err)
			}
		}
		good(t, g.Barrier(background), g.Err()) // nothing was sent
	})
}

func TestReceivesEndWithTheirContext(t *testing.T) {
	ranks(t, 2, GroupOptions{}, func(t *testing.T, g *Group) {
		in := make([]float32, 4)
		if g.Rank() == 0 {
			cancelled(t, func(ctx context.Context) error { return Recv(ctx, g, in, 1, 1) })
			good(t, g.Barrier(background), Recv(background, g, in, 1, 1)) // the group goes on
			same(t, "Recv", in, 1, 2, 3, 4)
		} else {
			good(t, g.Barrier(background), Send(background, g, []float32{1, 2, 3, 4}, 0, 1))
		}
	})
}

func TestWorksAreCancelled(t *testing.T) {
	ranks(t, 2, GroupOptions{}, func(t *testing.T, g *Group) {
		if g.Rank() == 0 {
			queue := must(newEnv(t).NewQueue())(t)
			work := must(RecvStart(g, make([]float32, 4), 1, 1))(t)
			told := make(chan error, 1)
			good(t, work.Enqueue(queue, 5), work.OnDone(func(err error) { told <- err }))
			if work.Ended() {
				t.Error("nothing was sent")
			}
			cancelled(t, work.Wait)
			good(t, work.Cancel())
			if err := work.Wait(background); !errors.Is(err, Cancelled) || !errors.Is(<-told, Cancelled) {
				t.Error(err)
			}
			if done := must(queue.Wait(background))(t); done.Key != 5 || !errors.Is(done.Err, Cancelled) {
				t.Errorf("%+v", done)
			}
			work.Close()
			if err := work.Wait(background); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
		good(t, g.Barrier(background))
	})
}

func TestGroupsEndTogether(t *testing.T) {
	ranks(t, 3, GroupOptions{}, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			good(t, g.Abort("grüße"))
		}
		err := g.Barrier(background)
		for i := 0; err == nil && i < 1000; i++ {
			err = g.Barrier(background)
		}
		if !errors.Is(err, Aborted) || !strings.Contains(err.Error(), "grüße") || g.Err() == nil {
			t.Error(err, g.Err())
		}
		var first, second *Error
		if !errors.As(err, &first) || !errors.As(g.Err(), &second) || first.Message != second.Message {
			t.Error(err, g.Err())
		}
	})
}

func TestCloseDuringAReceive(t *testing.T) {
	ranks(t, 2, GroupOptions{}, func(t *testing.T, g *Group) {
		if g.Rank() == 1 {
			return
		}
		time.AfterFunc(20*time.Millisecond, func() { g.Close() })
		err := Recv(background, g, make([]float32, 1), 1, 1)
		if !errors.Is(err, Cancelled) && !errors.Is(err, Unavailable) {
			t.Error(err)
		}
		if err := g.Barrier(background); err == nil {
			t.Error("a closed group works")
		}
	})
}

func TestSplitGroups(t *testing.T) {
	ranks(t, 4, GroupOptions{Name: "split", Transport: "shm,inproc,tcp"}, func(t *testing.T, g *Group) {
		half, err := g.Split(background, g.Rank()%2, -g.Rank())
		good(t, err)
		sum := []int32{int32(g.Rank())}
		good(t, AllReduce(background, half, sum, sum, Sum))
		if want := int32(2 + 2*(g.Rank()%2)); sum[0] != want || half.Size() != 2 {
			t.Error(sum, half.Size())
		}
		good(t, g.Barrier(background))
		color := -1
		if g.Rank() == 0 {
			color = 0
		}
		some, err := g.Split(background, color, 0)
		good(t, err)
		if (some == nil) != (g.Rank() != 0) {
			t.Error(some)
		}
		if !json.Valid(must(g.Describe())(t)) || !json.Valid(must(g.Dump())(t)) || g.Epoch() != 0 {
			t.Error("the group does not describe itself")
		}
		half.Release()
		good(t, g.Barrier(background))
	})
}

func TestGroupsShrinkAndGrow(t *testing.T) {
	store := must(newEnv(t).OpenStore("memory:", nil))(t)
	joined := make(chan *Group, 1)
	ranks(t, 3, GroupOptions{Store: store, Silence: 2 * time.Second}, func(t *testing.T, g *Group) {
		if g.Rank() == 2 {
			return // leaves
		}
		err := g.Barrier(background)
		if !errors.Is(err, Unavailable) {
			t.Error(err)
		}
		two, err := g.Shrink(background)
		if err != nil {
			t.Error(err)
			return
		}
		defer two.Close()
		if two.Rank() == 0 {
			go func() {
				new, err := newEnv(t).JoinGroup(background, &GroupOptions{Store: store})
				good(t, err)
				joined <- new
			}()
		}
		three, err := two.Grow(background, 3)
		if err != nil {
			t.Error(err)
			return
		}
		defer three.Close()
		if two.Size() != 2 || three.Size() != 3 || three.Epoch() <= g.Epoch() {
			t.Error(two.Size(), three.Size(), three.Epoch())
		}
		if three.Rank() == 0 {
			go func() { (<-joined).Barrier(background) }()
		}
		good(t, three.Barrier(background))
	})
}

// shelf is a store of the program.
type shelf struct {
	mutex  sync.Mutex
	values map[string][]byte
	asked  int
	panics bool
}

func (s *shelf) Get(key string) ([]byte, bool, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.panics {
		panic("the shelf fell")
	}
	s.asked++
	value, found := s.values[key]
	return value, found, nil
}

func (s *shelf) CompareAndSwap(key string, expected, desired []byte) (bool, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	value, found := s.values[key]
	if found != (expected != nil) || string(value) != string(expected) {
		return false, nil
	}
	s.values[key] = desired
	return true, nil
}

func (s *shelf) Remove(key string) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.values, key)
	return nil
}

func TestStoresInGo(t *testing.T) {
	contents := &shelf{values: map[string][]byte{}}
	store := must(NewStore(contents))(t)
	ranks(t, 2, GroupOptions{Store: store}, func(t *testing.T, g *Group) { good(t, g.Barrier(background)) })
	if contents.asked == 0 || must(store.URL())(t) != "" {
		t.Fatal("the group did not ask its store")
	}
	contents.panics = true
	_, err := newEnv(t).NewGroup(background, &GroupOptions{Rank: 0, Size: 2, Name: "other", Store: store, Timeout: time.Second})
	if err == nil {
		t.Fatal("a group met in a store that panics")
	}
	_, err = NewStore(nil)
	expect(t, err, InvalidArgument)
}

func TestStores(t *testing.T) {
	env := newEnv(t)
	served := must(env.OpenStore("tcp:127.0.0.1:0", &StoreOptions{Serve: true}))(t)
	url := must(served.URL())(t)
	ranks(t, 2, GroupOptions{Store: served, DumpFolder: t.TempDir()}, func(t *testing.T, g *Group) { good(t, g.Barrier(background)) })
	must(env.OpenStore(url, nil))(t).Close()
	must(env.OpenStore("file:"+t.TempDir(), nil))(t).Close()
	_, err := env.OpenStore("what:ever", nil)
	expect(t, err, InvalidArgument)
	served.Close()
	_, err = served.URL()
	expect(t, err, FailedPrecondition, "closed")
}

func TestGroupsThatDoNotMeet(t *testing.T) {
	env := newEnv(t)
	store := must(env.OpenStore("memory:", nil))(t)
	cancelled(t, func(ctx context.Context) error {
		_, err := env.NewGroup(ctx, &GroupOptions{Rank: 0, Size: 2, Store: store})
		return err
	})
	_, err := env.NewGroup(background, &GroupOptions{Rank: 0, Size: 2, Store: store, Name: "late", Timeout: 50 * time.Millisecond})
	expect(t, err, DeadlineExceeded)
	_, err = env.NewGroup(background, &GroupOptions{Rank: 5, Size: 2, Store: store})
	expect(t, err, InvalidArgument)
	store.Close()
	_, err = env.NewGroup(background, &GroupOptions{Rank: 0, Size: 1, Store: store})
	expect(t, err, FailedPrecondition, "store is closed")
}

func TestLaunches(t *testing.T) {
	t.Setenv("HEADRACE_RANK", "1")
	t.Setenv("HEADRACE_SIZE", "3")
	t.Setenv("HEADRACE_STORE", "file:/tmp/x")
	launch := must(LaunchFromEnvironment())(t)
	if launch.Rank != 1 || launch.Size != 3 || launch.Store != "file:/tmp/x" || !json.Valid(launch.Description) {
		t.Fatalf("%+v", launch)
	}
	t.Setenv("HEADRACE_RANK", "7")
	if _, err := LaunchFromEnvironment(); err == nil {
		t.Fatal("rank 7 of 3")
	}
}

func TestDumps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.flight")
	check(t, os.WriteFile(path, []byte("nonsense"), 0o600))
	_, err := ReadDump(path)
	expect(t, err, DataLoss)
	folder := t.TempDir()
	ranks(t, 2, GroupOptions{DumpFolder: folder}, func(t *testing.T, g *Group) {
		good(t, g.Barrier(background))
		flights, _ := filepath.Glob(filepath.Join(folder, "*-"+string(rune('0'+g.Rank()))+".flight"))
		if len(flights) != 1 || !json.Valid(must(ReadDump(flights[0]))(t)) {
			t.Error(flights)
		}
		good(t, g.Barrier(background))
	})
}

func TestSessionsOfAGroup(t *testing.T) {
	ranks(t, 2, GroupOptions{}, func(t *testing.T, g *Group) {
		env := newEnv(t) // a run keeps its threads while it waits for other ranks
		session := newSession(t, env, func(graph *Graph) {
			x := graph.Input("x", Float32, -1, 2)
			y := graph.Dense("dense", x, 1)
			loss := graph.Op("ReduceMean", "keepdims=0", y)
			graph.SignatureInput("train", "x", x)
			graph.SignatureOutput("train", "loss", loss)
			graph.Minimize("train", loss, "sgd", graph.Schedule("train", "constant base=0.5"))
			graph.Distribute("train", "workers", "mirrored")
		})
		expect(t, session.BindGroup(background, "others", g), NotFound, "workers")
		good(t, session.BindGroup(background, "workers", g), session.Broadcast(background, "workers", 1))
		call := must(session.NewCall("train"))(t)
		rows := 1 + g.Rank() // one example of ones, two of fours: the mean is three
		x := slices.Repeat([]float32{float32(1 + 3*g.Rank())}, 2*rows)
		good(t, BindSlice(call, "x", x, int64(rows), 2), session.SetVariable(background, "dense/weight",
			must(TensorOf(env, []float32{1, 1}, 1, 2))(t)), session.SetVariable(background, "dense/bias",
			must(TensorOf(env, []float32{0}, 1))(t)), call.Run(background))
		same(t, "loss", must(Values[float32](must(call.Result("loss"))(t)))(t), 6)
		same(t, "weights", must(Values[float32](must(session.Variable(background, "dense/weight"))(t)))(t), -0.5, -0.5)
		good(t, session.BindGroup(background, "workers", nil))
	})
}
