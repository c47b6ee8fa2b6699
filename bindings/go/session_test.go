package headrace

import (
	"slices"
	"strings"
	"testing"
)

func TestSessionRuns(t *testing.T) {
	env := newEnv(t)
	session := newSession(t, env, doubling)
	x := must(TensorOf(env, []float32{1, 2, 3}))(t)
	out := must(session.Run(background, map[string]*Tensor{"x": x}, []string{"y"}))(t)
	_ = out
}

func TestCallRuns(t *testing.T) {
	env := newEnv(t)
	session := newSession(t, env, doubling)
	call := must(session.NewCall("double"))(t)
	x, y := []float32{1, 2, 3}, make([]float32, 3)
	check(t, BindSlice(call, "x", x))
	check(t, OutputTo(call, "y", y))
	for range 3 {
		check(t, call.Run(background))
		if !slices.Equal(y, []float32{2 * x[0], 4, 6}) {
			t.Fatal(y)
		}
		x[0]++
	}
	if !strings.Contains(string(must(call.Profile(background))(t)), `"steps"`) || y[0] != 2*x[0] {
		t.Fatal(y)
	}
}
