package headrace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestErrorsCompareByCode(t *testing.T) {
	_, err := newEnv(t).LoadModel("/no/such/file.hrg", nil)
	expect(t, err, NotFound, "/no/such/file.hrg")
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != NotFound || errors.Is(err, Internal) {
		t.Fatalf("%#v", err)
	}
	if CodeOf(fmt.Errorf("wrapped: %w", err)) != NotFound || CodeOf(nil) != OK || CodeOf(errors.New("x")) != Unknown {
		t.Fatal("CodeOf is wrong")
	}
}

func TestErrorsNameTheNode(t *testing.T) {
	env := operatorEnv(t, &Operator{Name: "test.Fails", MinInputs: 1, MaxInputs: 1, MinOutputs: 1, MaxOutputs: 1,
		Infer:   func(o *InferOp) error { return o.SetOutputLike(0, 0) },
		Compute: func(*ComputeOp) error { return &Error{Code: DataLoss, Message: "no number"} }})
	session := newSession(t, env, func(g *Graph) {
		x := g.Input("x", Float32, 1)
		y, _ := g.Add(&NodeSpec{Op: "test.Fails", Name: "the culprit", Inputs: []Value{x}}, 1)
		g.SignatureInput("run", "x", x)
		g.SignatureOutput("run", "y", y[0])
	})
	call := must(session.NewCall("run"))(t)
	check(t, BindSlice(call, "x", []float32{1}))
	err := call.Run(background)
	expect(t, err, DataLoss, "no number", "the culprit")
	var failure *Error
	if errors.As(err, &failure); failure.Node != "the culprit" {
		t.Fatalf("the node is '%s'", failure.Node)
	}
}

func TestTextsWithNULAreRefused(t *testing.T) {
	env := newEnv(t)
	_, err := env.LoadModel("a\x00b", nil)
	expect(t, err, InvalidArgument, "NUL at byte 1")
	_, err = env.OpenDataset("\x00")
	expect(t, err, InvalidArgument, "NUL")
	g := must(env.NewGraph())(t)
	g.Input("x\x00y", Float32, 1)
	expect(t, g.Err(), InvalidArgument, "NUL")
	g.ClearErr()
	g.NamedInput("x", Float32, []int64{-1}, []string{"a\x00"})
	expect(t, g.ClearErr(), InvalidArgument, "NUL")
	g.Input("grüße 𝄞", Float32, 1) // beyond the BMP
	check(t, g.Err())
	must(g.FindValue("grüße 𝄞"))(t)
}

func TestPanicsBecomeErrors(t *testing.T) {
	err := caught("the test", func() error { panic("oops") })
	expect(t, err, Internal, "the test panicked at error_test.go:", "oops")
	why := errors.New("why")
	if err := caught("the test", func() error { panic(why) }); !errors.Is(err, why) {
		t.Fatal(err)
	}
	if err := caught("the test", func() error { var p *Error; _ = p.Code; return nil }); !strings.Contains(err.Error(), "nil pointer") {
		t.Fatal(err)
	}
}

func TestEndedContextsFailAtOnce(t *testing.T) {
	session := newSession(t, newEnv(t), doubling)
	why := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(background)
	cancel(why)
	_, err := session.Variable(ctx, "x")
	expect(t, err, Cancelled)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Fatal(err)
	}
	late, cancelLate := context.WithDeadline(background, time.Now().Add(-time.Second))
	defer cancelLate()
	_, err = session.Variable(late, "x")
	expect(t, err, DeadlineExceeded)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestVersionsAreCompared(t *testing.T) {
	check(t, checkVersion(100, 100))
	check(t, checkVersion(200, 100))
	expect(t, checkVersion(100, 200), FailedPrecondition, "0.1", "0.2")
	expect(t, checkVersion(10100, 100), FailedPrecondition, "1.1", "0.1")
	if LibraryAPIVersion() < APIVersion || Version() == "" {
		t.Fatal(LibraryAPIVersion(), Version())
	}
}
