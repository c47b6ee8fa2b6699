package headrace

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

func numbers(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(i)
	}
	return out
}

func TestDatasetsOfTensors(t *testing.T) {
	env := newEnv(t)
	x := must(WrapTensor(numbers(10), 10, 1))(t)
	labels := must(WrapTensor(make([]int64, 10)))(t)
	data := must(env.NewDataset([]string{"x", "labels"}, []*Tensor{x, labels}, &DatasetOptions{Batch: 4}))(t)
	defer data.Close()
	if data.Batches() != 3 || !slices.Equal(data.Fields(), []string{"x", "labels"}) {
		t.Fatal(data.Batches(), data.Fields())
	}
	var seen []float32
	var kept *Tensor
	for batch, err := range data.All(background) {
		check(t, err)
		if kept == nil {
			kept = must(batch.Tensor("x").Share())(t)
		}
		if batch.Tensor("nobody") != nil {
			t.Fatal("there is no such field")
		}
		seen = append(seen, must(Data[float32](batch.Tensor("x")))(t)...)
	}
	if !slices.Equal(seen, numbers(10)) || !data.Done(background) || !slices.Equal(must(Values[float32](kept))(t), numbers(4)) {
		t.Fatal(seen)
	}
	_, err := data.Next(background)
	expect(t, err, OutOfRange)
	check(t, data.Rewind(background))
	must(data.Next(background))(t)
	position := must(data.Position())(t)
	must(data.Next(background))(t)
	check(t, data.Seek(background, position))
	batch := must(data.Next(background))(t)
	if got := must(Values[float32](batch.Tensor("x")))(t); got[0] != 4 {
		t.Fatal(got)
	}
	check(t, data.Rename("x", "y"))
	if !slices.Equal(data.Fields(), []string{"y", "labels"}) || len(must(data.Describe())(t)) == 0 {
		t.Fatal(data.Fields())
	}
	expect(t, data.Rename("x", "y"), NotFound)
	_, err = env.NewDataset([]string{"x"}, nil, nil)
	expect(t, err, InvalidArgument, "1 names for 0 tensors")
	_, err = env.NewDataset([]string{"x"}, []*Tensor{nil}, nil)
	expect(t, err, InvalidArgument)
	_, err = env.OpenDataset("what:ever")
	if err == nil {
		t.Fatal("a data set of nothing")
	}
}

// counter gives the numbers from 0; the epoch is added to them.
type counter struct {
	at, size int64
	epoch    int64
	closed   atomic.Bool
	fails    func() error // before each batch
}

func (c *counter) Next(examples int64, batch []*Tensor) error {
	if c.fails != nil {
		if err := c.fails(); err != nil {
			return err
		}
	}
	if c.at >= c.size {
		return io.EOF
	}
	var data []float32
	var err error
	if left := c.size - c.at; left < examples || batch[0] == nil { // needs a tensor of its own
		data = make([]float32, min(left, examples))
		batch[0], err = WrapTensor(data)
	} else {
		data, err = Data[float32](batch[0])
	}
	if err != nil {
		return err
	}
	for i := range data {
		data[i] = float32(c.at + 100*c.epoch)
		c.at++
	}
	return nil
}

func (c *counter) SeekTo(epoch, first int64) error {
	c.epoch, c.at = epoch, first
	return nil
}

func (c *counter) Close() error {
	c.closed.Store(true)
	return nil
}

func field(name string, dims ...int64) []Field { return []Field{{name, Float32, dims}} }

func read(t testing.TB, data *Dataset) (out []float32, err error) {
	t.Helper()
	for batch, err := range data.All(background) {
		if err != nil {
			return out, err
		}
		out = append(out, must(Values[float32](batch.Tensors[0]))(t)...)
	}
	return out, nil
}

func TestSourcesInGo(t *testing.T) {
	for prefetch, dim := range map[int64]int64{0: -1, 2: 2} {
		source := &counter{size: 5}
		data := must(newEnv(t).NewSourceDataset(source, 5, field("x", dim), &DatasetOptions{Batch: 2, Repeat: 2, Prefetch: prefetch}))(t)
		got, err := read(t, data)
		check(t, err)
		if !slices.Equal(got, []float32{0, 1, 2, 3, 4, 100, 101, 102, 103, 104}) {
			t.Fatal(got)
		}
		data.Close()
		for i := 0; !source.closed.Load(); i++ {
			if time.Sleep(time.Millisecond); i > 1000 {
				t.Fatal("the source was not closed")
			}
		}
	}
}

func TestSourcesThatFail(t *testing.T) {
	fails := error(&Error{Code: Unavailable, Message: "no network"})
	source := &counter{size: 4, fails: func() error { return fails }}
	data := must(newEnv(t).NewSourceDataset(source, 0, field("x", -1), &DatasetOptions{Batch: 2}))(t)
	defer data.Close()
	_, err := data.Next(background)
	expect(t, err, Unavailable, "no network")
	source.fails = func() error { panic("oops") }
	_, err = data.Next(background)
	expect(t, err, Internal, "oops")
	source.fails = nil
	got, err := read(t, data)
	check(t, err)
	if !slices.Equal(got, numbers(4)) {
		t.Fatal(got)
	}
}

type closing struct{ Source }

func (closing) Next(int64, []*Tensor) error { return nil }

func TestSourcesThatGiveNothing(t *testing.T) {
	data := must(newEnv(t).NewSourceDataset(closing{}, 0, field("x", -1, -1), &DatasetOptions{Batch: 2}))(t)
	_, err := data.Next(background)
	if err == nil {
		t.Fatal("there was a batch of nothing")
	}
	_, err = newEnv(t).NewSourceDataset(nil, 0, nil, nil)
	expect(t, err, InvalidArgument)
	source := &counter{}
	_, err = newEnv(t).NewSourceDataset(source, 0, field("x\x00", -1), nil)
	expect(t, err, InvalidArgument, "NUL")
	_, err = newEnv(t).NewSourceDataset(source, 0, nil, nil)
	if err == nil || source.closed.Load() {
		t.Fatal("a source was taken over by a call that failed", err)
	}
}

func TestSourcesMayNotUseTheirDataset(t *testing.T) {
	var data *Dataset
	source := &counter{size: 4}
	source.fails = func() error {
		_, err := data.Next(background)
		return err
	}
	data = must(newEnv(t).NewSourceDataset(source, 0, field("x", -1), nil))(t)
	_, err := data.Next(background)
	expect(t, err, FailedPrecondition)
}

func TestDatasetsEndWithTheirContext(t *testing.T) {
	release := make(chan struct{})
	source := &counter{size: 100, fails: func() error {
		<-release
		return nil
	}}
	data := must(newEnv(t).NewSourceDataset(source, 0, field("x", -1), &DatasetOptions{Batch: 2, Prefetch: 1}))(t)
	cancelled(t, func(ctx context.Context) error {
		_, err := data.Next(ctx)
		return err
	})
	ctx, cancel := context.WithCancel(background)
	cancel()
	for batch, err := range data.All(ctx) {
		if batch != nil || !errors.Is(err, context.Canceled) {
			t.Fatal(batch, err)
		}
	}
	close(release)
	batch := must(data.Next(background))(t)
	if got := must(Values[float32](batch.Tensors[0]))(t); !slices.Equal(got, []float32{0, 1}) {
		t.Fatal(got)
	}
	data.Close()
}

func TestBoundDatasets(t *testing.T) {
	env := newEnv(t)
	session := newSession(t, env, linear)
	data := must(env.NewDataset([]string{"x", "t"}, []*Tensor{must(WrapTensor(numbers(12), 6, 2))(t),
		must(WrapTensor(numbers(6), 6, 1))(t)}, &DatasetOptions{Batch: 3}))(t)
	call := must(session.NewCall("train"))(t)
	check(t, call.BindDataset(data))
	runs := 0
	for ; !data.Done(background); runs++ {
		check(t, call.Run(background))
	}
	expect(t, call.Run(background), OutOfRange)
	if runs != 2 {
		t.Fatal(runs)
	}
	check(t, call.BindDataset(nil))
	check(t, call.Run(background)) // with the last batch
}

func TestDatasetsOfDatasets(t *testing.T) {
	env := newEnv(t)
	session := newSession(t, env, func(g *Graph) {
		x := g.NamedInput("x", Float32, []int64{-1}, []string{"n"})
		g.SignatureInput("double", "x", x)
		g.SignatureOutput("double", "x2", g.Op("Add", "", x, x))
		g.SignatureInput("large", "x", x)
		g.SignatureOutput("large", "keep", g.Op("Greater", "", x, g.Op("Constant", "value_float=2.5")))
	})
	source := must(env.NewSourceDataset(&counter{size: 5}, 5, field("x", -1), &DatasetOptions{Batch: 2}))(t)
	_, err := source.Filter(background, session, "large")
	expect(t, err, InvalidArgument)
	data := must(source.Cache(background, &CacheOptions{Options: &DatasetOptions{Batch: 3}}))(t)
	for _, one := range []struct {
		data *Dataset
		want []float32
	}{
		{data, []float32{0, 1, 2, 3, 4}},
		{must(data.Map(background, session, "double"))(t), []float32{0, 2, 4, 6, 8}},
		{must(data.Filter(background, session, "large"))(t), []float32{3, 4}},
		{must(data.Cache(background, &CacheOptions{Path: filepath.Join(t.TempDir(), "cache"), Key: "1"}))(t), []float32{0, 1, 2, 3, 4}},
	} {
		got, err := read(t, one.data)
		check(t, err)
		if !slices.Equal(got, one.want) {
			t.Errorf("%v instead of %v", got, one.want)
		}
	}
	_, err = data.Map(background, session, "nobody")
	expect(t, err, NotFound, "nobody")
	_, err = data.Map(background, nil, "double")
	expect(t, err, InvalidArgument)
}
