// The Go side of the benchmark: answers lines "CASE REPEATS" with nanoseconds of a run.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	headrace "github.com/headrace/headrace/bindings/go"
)

var ctx = context.Background()

// try ends the program if something has failed, else returns the value.
func try[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// number returns an environment variable; 0 if it is not there.
func number(variable string) int {
	n, _ := strconv.Atoi(os.Getenv(variable))
	return n
}

// add returns y = x + x on four floats, bound. Fusion is off, as in C.
func add() *headrace.Call {
	threads := number("HEADRACE_BENCH_THREADS")
	if threads == 0 {
		threads = 2
	}
	env := try(headrace.NewEnv(&headrace.EnvOptions{Threads: threads}))
	g := try(env.NewGraph())
	x := g.Input("x", headrace.Float32, 4)
	g.SignatureInput("infer", "x", x)
	g.SignatureOutput("infer", "y", g.Op("Add", "", x, x))
	session := try(try(g.Model()).NewSession(ctx, &headrace.SessionOptions{DisableFusion: true}))
	call := try(session.NewCall("infer"))
	y := make([]float32, 4)
	check(headrace.BindSlice(call, "x", []float32{1, 2, 3, 4}))
	check(headrace.OutputTo(call, "y", y))
	check(call.Run(ctx))
	if !slices.Equal(y, []float32{2, 4, 6, 8}) {
		log.Fatal("x + x is ", y)
	}
	return call
}

// measure returns how long count runs take.
func measure(call *headrace.Call, count int) time.Duration {
	begin := time.Now()
	for range count {
		if err := call.Run(ctx); err != nil {
			log.Fatal(err)
		}
	}
	return time.Since(begin)
}

// runs returns how many runs take about 0.01 s; warms up on the way. HEADRACE_BENCH_CALLS decides if it
// is set.
func runs(call *headrace.Call) int {
	if count := number("HEADRACE_BENCH_CALLS"); count > 0 {
		return count
	}
	for count := 1; ; count *= 2 {
		if taken := measure(call, count); taken > time.Millisecond {
			return int(float64(count) * 0.01 / taken.Seconds())
		}
	}
}

func main() {
	call := add()
	count := runs(call)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		repeats := 1
		if words := strings.Fields(lines.Text()); len(words) > 1 {
			repeats = try(strconv.Atoi(words[1]))
		}
		values := make([]float64, repeats)
		for i := range values {
			values[i] = measure(call, count).Seconds() * 1e9 / float64(count)
		}
		fmt.Println(string(try(json.Marshal(map[string]any{"values": values, "calls": count}))))
	}
}
