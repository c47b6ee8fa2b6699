package headrace

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

var background = context.Background()

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Returns a function that ends the test if there is an error, else returns the value: must(t)(f()).
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return value
	}
}

// Fails if err has not the code and the words.
func expect(t testing.TB, err error, code Code, words ...string) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("got %v, expected %v", err, code)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Fatalf("'%v' does not contain '%s'", err, word)
		}
	}
}

func newEnv(t testing.TB) *Env {
	t.Helper()
	env := must(NewEnv(&EnvOptions{Threads: 2}))(t)
	t.Cleanup(func() { env.Close() })
	return env
}

// Returns a session of a graph that a function builds.
func newSession(t testing.TB, env *Env, build func(g *Graph)) *Session {
	t.Helper()
	g := must(env.NewGraph())(t)
	defer g.Close()
	build(g)
	model := must(g.Model())(t)
	defer model.Close()
	session := must(model.NewSession(background, nil))(t)
	t.Cleanup(func() { session.Close() })
	return session
}

// Builds y = 2 x of any number of float32, as the signature "double".
func doubling(g *Graph) {
	x := g.Input("x", Float32, -1)
	y := g.Op("Add", "", x, x)
	g.NameValue(y, "y")
	g.SignatureInput("double", "x", x)
	g.SignatureOutput("double", "y", y)
}

// Builds a linear model, y = w x, with the signatures "infer" and "train" (input "x" and "t", output
// "loss").
func linear(g *Graph) {
	x := g.NamedInput("x", Float32, []int64{-1, 2}, []string{"batch", ""})
	target := g.NamedInput("t", Float32, []int64{-1, 1}, []string{"batch", ""})
	y := g.Dense("layer", x, 1)
	d := g.Op("Sub", "", y, target)
	loss := g.Op("ReduceMean", "keepdims=0", g.Op("Mul", "", d, d))
	rate := g.Op("Constant", "value_float=0.1")
	g.SignatureInput("infer", "x", x)
	g.SignatureOutput("infer", "y", y)
	for _, signature := range []string{"train", "eval"} {
		g.SignatureInput(signature, "x", x)
		g.SignatureInput(signature, "t", target)
		g.SignatureOutput(signature, "loss", loss)
	}
	g.Minimize("train", loss, "sgd", rate)
}

// Returns an env with the operator "test.Slow", the identity, which takes 20 ms.
func slowEnv(t testing.TB) *Env {
	t.Helper()
	return operatorEnv(t, &Operator{Name: "test.Slow", MinInputs: 1, MaxInputs: 1, MinOutputs: 1, MaxOutputs: 1,
		Infer: func(o *InferOp) error { return o.SetOutputLike(0, 0) },
		Compute: func(o *ComputeOp) error {
			time.Sleep(20 * time.Millisecond)
			in, err := Elements[float32](o.Input(0))
			if err != nil {
				return err
			}
			out, err := Elements[float32](o.Output(0))
			copy(out, in)
			return err
		}})
}

func operatorEnv(t testing.TB, operators ...*Operator) *Env {
	t.Helper()
	env := newEnv(t)
	for _, operator := range operators {
		check(t, env.AddOperator(operator))
	}
	return env
}

// Builds a chain of so many nodes "test.Slow" from x to y, as the signature "slow".
func slowly(nodes int) func(g *Graph) {
	return func(g *Graph) {
		x := g.Input("x", Float32, -1)
		y := x
		for range nodes {
			y = g.Op("test.Slow", "", y)
		}
		g.SignatureInput("slow", "x", x)
		g.SignatureOutput("slow", "y", y)
	}
}

// Returns a call of a session of a chain of slow nodes with something to do.
func slowCall(t testing.TB, nodes int) *Call {
	t.Helper()
	call := must(newSession(t, slowEnv(t), slowly(nodes)).NewCall("slow"))(t)
	t.Cleanup(func() { call.Close() })
	check(t, BindSlice(call, "x", []float32{1, 2}))
	return call
}

// Fails if a function takes longer than 0.2 s after its context was cancelled, three times in a row (a
// machine may be busy), or does not fail so.
func cancelled(t testing.TB, function func(ctx context.Context) error) {
	t.Helper()
	var late time.Duration
	for range 3 {
		if late = lateness(t, function); late <= 200*time.Millisecond {
			return
		}
	}
	t.Fatalf("the call ended %v after its context", late)
}

func lateness(t testing.TB, function func(ctx context.Context) error) time.Duration {
	t.Helper()
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	moment := make(chan time.Time, 1)
	time.AfterFunc(50*time.Millisecond, func() {
		moment <- time.Now()
		cancel()
	})
	err := function(ctx)
	late := time.Since(<-moment)
	expect(t, err, Cancelled)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("'%v' does not match context.Canceled", err)
	}
	return late
}
