package headrace

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

// An operator with all there is: y = scale x^2, with its gradient.
func square() *Operator {
	return &Operator{Name: "test.Square", MinInputs: 1, MaxInputs: 1, MinOutputs: 1, MaxOutputs: 1,
		Attributes: []OperatorAttribute{{Name: "scale", Kind: AttributeFloat}},
		Infer: func(o *InferOp) error {
			if dtype, _, _ := o.InputType(0); dtype != Float32 {
				return &Error{Code: InvalidArgument, Message: "expected float32, got " + dtype.String()}
			}
			return o.SetOutputLike(0, 0)
		},
		Compute: func(o *ComputeOp) error {
			x, err := Elements[float32](o.Input(0))
			if err != nil {
				return err
			}
			y, err := Elements[float32](o.Output(0))
			scale := float32(o.Float("scale", 1))
			o.ParallelFor(len(x), func(i int) { y[i] = scale * x[i] * x[i] })
			return err
		},
		Gradient: func(o *GradientOp) error {
			two := o.Scalar(2*o.Float("scale", 1), o.Input(0))
			slope := o.Op("Mul", "", two, o.Input(0))
			if o.Wants(0) {
				o.SetGradient(0, o.Op("Mul", "", slope, o.OutputGradient(0)))
			}
			return nil
		},
	}
}

func TestOperatorsInGo(t *testing.T) {
	env := operatorEnv(t, square())
	session := newSession(t, env, func(g *Graph) {
		x := g.NamedInput("x", Float32, []int64{-1}, []string{"n"})
		y := g.Op("test.Square", "scale=3", x)
		if got := must(g.TypeOf(y))(t); got != "float32[n]" {
			t.Fatal(got)
		}
		g.SignatureInput("run", "x", x)
		g.SignatureOutput("run", "y", y)
		g.SignatureOutput("run", "dx", g.Gradients(y, x)[0])
		g.Op("test.Square", "", g.Op("Constant", "value_int=1"))
		expect(t, g.ClearErr(), InvalidArgument, "expected float32, got int64")
	})
	call := must(session.NewCall("run"))(t)
	check(t, BindSlice(call, "x", []float32{1, 2, 3}))
	check(t, call.Run(background))
	y := must(Values[float32](must(call.Result("y"))(t)))(t)
	dx := must(Values[float32](must(call.Result("dx"))(t)))(t)
	if !slices.Equal(y, []float32{3, 12, 27}) || !slices.Equal(dx, []float32{6, 12, 18}) {
		t.Fatal(y, dx)
	}
}

// Returns the failure of a run of an operator with these functions.
func failing(t *testing.T, compute func(o *ComputeOp) error) error {
	t.Helper()
	env := operatorEnv(t, &Operator{Name: "test.Bad", MinInputs: 1, MaxInputs: 1, MinOutputs: 1, MaxOutputs: 1,
		Infer: func(o *InferOp) error { return o.SetOutputLike(0, 0) }, Compute: compute})
	session := newSession(t, env, func(g *Graph) {
		x := g.Input("x", Float32, -1)
		g.SignatureInput("run", "x", x)
		g.SignatureOutput("run", "y", g.Op("test.Bad", "", x))
	})
	call := must(session.NewCall("run"))(t)
	check(t, BindSlice(call, "x", []float32{1, 2, 3}))
	for range 2 { // a failure leaves the session usable
		if err := call.Run(background); err == nil {
			t.Fatal("the run did not fail")
		}
	}
	run := must(call.Start(background))(t)
	return run.Wait(background)
}

func TestOperatorsThatFail(t *testing.T) {
	expect(t, failing(t, func(*ComputeOp) error { panic("oops") }), Internal, "Compute panicked at operator_test.go", "oops")
	expect(t, failing(t, func(*ComputeOp) error { return errors.New("no\x00text") }), Unknown, "no\\0text")
	expect(t, failing(t, func(o *ComputeOp) error {
		o.ParallelFor(5, func(i int) {
			if i == 3 {
				panic("task 3")
			}
		})
		return nil
	}), Internal, "task 3")
	expect(t, failing(t, func(o *ComputeOp) error {
		_, err := Elements[int64](o.Input(0))
		return err
	}), InvalidArgument, "float32", "int64")
	expect(t, failing(t, func(o *ComputeOp) error {
		if o.Input(7).DType != Undefined || o.Output(-1).DType != Undefined {
			return nil
		}
		return context.DeadlineExceeded
	}), DeadlineExceeded)
}

func TestOperatorsUsedAfterTheirCall(t *testing.T) {
	var kept *ComputeOp
	var inferred *InferOp
	env := operatorEnv(t, &Operator{Name: "test.Keeps", MinInputs: 1, MaxInputs: 1, MinOutputs: 1, MaxOutputs: 1,
		Infer:   func(o *InferOp) error { inferred = o; return o.SetOutputLike(0, 0) },
		Compute: func(o *ComputeOp) error { kept = o; return nil }})
	session := newSession(t, env, func(g *Graph) {
		x := g.Input("x", Float32, 1)
		g.SignatureInput("run", "x", x)
		g.SignatureOutput("run", "y", g.Op("test.Keeps", "", x))
	})
	call := must(session.NewCall("run"))(t)
	check(t, BindSlice(call, "x", []float32{1}))
	check(t, call.Run(background))
	expect(t, inferred.SetOutputLike(0, 0), FailedPrecondition, "returned")
	if kept.Inputs() != 0 || kept.Input(0).DType != Undefined || kept.Int("x", 5) != 5 {
		t.Fatal("an operator can be used after its call")
	}
	kept.ParallelFor(3, func(int) { t.Error("a task ran after the call") })
}

func TestOperatorsMayUseOtherObjects(t *testing.T) {
	inner := must(newSession(t, newEnv(t), doubling).NewCall("double"))(t)
	check(t, BindSlice(inner, "x", []float32{4}))
	var outer *Call
	var re atomic.Pointer[error]
	env := operatorEnv(t, &Operator{Name: "test.Calls", MinInputs: 1, MaxInputs: 1, MinOutputs: 1, MaxOutputs: 1,
		Infer: func(o *InferOp) error { return o.SetOutputLike(0, 0) },
		Compute: func(o *ComputeOp) error {
			err := outer.Run(background) // the call that it is part of
			re.Store(&err)
			return inner.Run(background)
		}})
	session := newSession(t, env, func(g *Graph) {
		x := g.Input("x", Float32, -1)
		g.SignatureInput("run", "x", x)
		g.SignatureOutput("run", "y", g.Op("test.Calls", "", x))
	})
	outer = must(session.NewCall("run"))(t)
	check(t, BindSlice(outer, "x", []float32{1}))
	check(t, outer.Run(background))
	expect(t, *re.Load(), FailedPrecondition)
}

func TestWrongOperators(t *testing.T) {
	env := newEnv(t)
	expect(t, env.AddOperator(nil), InvalidArgument)
	expect(t, env.AddOperator(&Operator{Name: "test.X"}), InvalidArgument, "Infer")
	bad := square()
	bad.Name = "no domain\x00"
	expect(t, env.AddOperator(bad), InvalidArgument, "NUL")
	good := square()
	check(t, env.AddOperator(good))
	if err := env.AddOperator(good); err == nil {
		t.Fatal("an operator was added twice")
	}
}
