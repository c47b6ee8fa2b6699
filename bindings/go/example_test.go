package headrace_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	headrace "github.com/headrace/headrace/bindings/go"
)

// Builds a small graph, and runs it.
func Example() {
	ctx := context.Background()
	env, err := headrace.NewEnv(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	g, err := env.NewGraph()
	if err != nil {
		log.Fatal(err)
	}
	x := g.Input("x", headrace.Float32, -1)
	g.SignatureInput("double", "x", x)
	g.SignatureOutput("double", "y", g.Op("Add", "", x, x))
	model, err := g.Model() // fails if anything before has
	if err != nil {
		log.Fatal(err)
	}
	session, err := model.NewSession(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	call, err := session.NewCall("double")
	if err != nil {
		log.Fatal(err)
	}
	input, output := []float32{1, 2, 3}, make([]float32, 3)
	if err := errors.Join(headrace.BindSlice(call, "x", input), headrace.OutputTo(call, "y", output)); err != nil {
		log.Fatal(err)
	}
	if err := call.Run(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(output)
	// Output: [2 4 6]
}

// Failures have codes, and say what to do.
func ExampleError() {
	env, err := headrace.NewEnv(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	_, err = env.LoadModel("missing.hrg", nil)
	fmt.Println(errors.Is(err, headrace.NotFound))
	var failure *headrace.Error
	if errors.As(err, &failure) {
		fmt.Println(failure.Code)
	}
	// Output:
	// true
	// NOT_FOUND
}

// Batches are read by a loop, and closed when its body has ended.
func ExampleDataset_All() {
	ctx := context.Background()
	env, err := headrace.NewEnv(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	numbers, err := headrace.WrapTensor([]float32{1, 2, 3, 4, 5})
	if err != nil {
		log.Fatal(err)
	}
	data, err := env.NewDataset([]string{"x"}, []*headrace.Tensor{numbers}, &headrace.DatasetOptions{Batch: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer data.Close()
	for batch, err := range data.All(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		x, err := headrace.Data[float32](batch.Tensor("x"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(x)
	}
	// Output:
	// [1 2]
	// [3 4]
	// [5]
}

// A context ends whatever waits: here, for a rank that does not come.
func ExampleEnv_NewGroup() {
	env, err := headrace.NewEnv(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	store, err := env.OpenStore("memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = env.NewGroup(ctx, &headrace.GroupOptions{Rank: 0, Size: 2, Store: store})
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output: true
}

// All ranks of a group average their gradients; the result has the same bits on all of them.
func ExampleAllReduce() {
	ctx := context.Background()
	env, err := headrace.NewEnv(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	store, err := env.OpenStore("memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	results := make(chan []float32)
	for rank := range 2 {
		go func() {
			group, err := env.NewGroup(ctx, &headrace.GroupOptions{Rank: rank, Size: 2, Store: store})
			if err != nil {
				log.Fatal(err)
			}
			gradients := []float32{float32(rank), 10}
			if err := headrace.AllReduce(ctx, group, gradients, gradients, headrace.Average); err != nil {
				log.Fatal(err)
			}
			results <- gradients
		}()
	}
	fmt.Println(<-results, <-results)
	// Output: [0.5 10] [0.5 10]
}

// An operator in Go, with its gradient.
func ExampleEnv_AddOperator() {
	env, err := headrace.NewEnv(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer env.Close()
	err = env.AddOperator(&headrace.Operator{
		Name: "com.example.Cube", MinInputs: 1, MaxInputs: 1, MinOutputs: 1, MaxOutputs: 1,
		Infer: func(o *headrace.InferOp) error { return o.SetOutputLike(0, 0) },
		Compute: func(o *headrace.ComputeOp) error {
			x, err := headrace.Elements[float32](o.Input(0))
			if err != nil {
				return err
			}
			y, err := headrace.Elements[float32](o.Output(0))
			for i := range y {
				y[i] = x[i] * x[i] * x[i]
			}
			return err
		},
		Gradient: func(o *headrace.GradientOp) error {
			x := o.Input(0)
			slope := o.Op("Mul", "", o.Scalar(3, x), o.Op("Mul", "", x, x))
			o.SetGradient(0, o.Op("Mul", "", slope, o.OutputGradient(0)))
			return nil
		},
	})
	fmt.Println(err)
	// Output: <nil>
}
