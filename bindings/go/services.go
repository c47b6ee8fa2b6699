package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Clock is a monotonic clock for deadlines. Any thread may call it.
type Clock interface {
	Now() int64 // nanoseconds since a moment of the clock's choice
}

// Executor lends threads of the program to the library. Any thread may call it.
type Executor interface {
	// Concurrency returns the most tasks that run at one time.
	Concurrency() int
	// ParallelFor calls task(i) once for each i in [0, tasks), on at most threads goroutines
	// including the calling one, and returns when all calls have returned.
	ParallelFor(tasks, threads int, task func(i int))
}

// Allocator gives memory that Go does not manage, such as C's. Any thread may call it, also the
// one that keeps groups alive, so it must neither wait nor call the library.
type Allocator interface {
	// Allocate returns memory that is aligned to alignment, a power of two; nil if there is none.
	Allocate(bytes, alignment uintptr) unsafe.Pointer
	Deallocate(data unsafe.Pointer, bytes, alignment uintptr)
}

// Contexts of the services of an env that is being created.
type services []unsafe.Pointer

func (s services) drop() {
	for _, context := range s {
		hrgo_release(context)
	}
}

// Adds the services of the program to the options of an env.
func lendServices(l *loan, c *C.hr_env_options, options *EnvOptions) services {
	var made services
	add := func(value any) unsafe.Pointer {
		context := newContext(value)
		made = append(made, context)
		return context
	}
	if options.Log != nil {
		c.log = lendStruct(l, C.hr_log_sink{struct_size: C.sizeof_hr_log_sink, context: add(options.Log),
			write: (*[0]byte)(C.hrgo_log), release: releaser()})
	}
	if options.Clock != nil {
		c.clock = lendStruct(l, C.hr_clock{struct_size: C.sizeof_hr_clock, context: add(options.Clock),
			now_nanos: (*[0]byte)(C.hrgo_now), release: releaser()})
	}
	if options.Executor != nil {
		concurrency := guardedValue("the executor", options.Executor.Concurrency, 1)
		c.executor = lendStruct(l, C.hr_executor{struct_size: C.sizeof_hr_executor, context: add(options.Executor),
			concurrency: C.int32_t(min(concurrency, math.MaxInt32)), parallel_for: (*[0]byte)(C.hrgo_parallel_for), release: releaser()})
	}
	if options.Allocator != nil {
		c.allocator = lendStruct(l, C.hr_allocator{struct_size: C.sizeof_hr_allocator,
			context: add(options.Allocator), allocate: (*[0]byte)(C.hrgo_allocate),
			deallocate: (*[0]byte)(C.hrgo_deallocate), release: releaser()})
	}
	return made
}

// Returns what a function returns, or fallback if it panics.
func guardedValue[T any](what string, function func() T, fallback T) T {
	out := fallback
	lost(caught(what, func() error {
		out = function()
		return nil
	}))
	return out
}

//export hrgo_log
func hrgo_log(cell unsafe.Pointer, level C.hr_log_level, message *C.hrgo_text) {
	lost(caught("the log", func() error {
		contextValue[*slog.Logger](cell).Log(context.Background(), slogLevel(LogLevel(level)), C.GoString(message))
		return nil
	}))
}

func slogLevel(level LogLevel) slog.Level {
	switch level {
	case LogDebug:
		return slog.LevelDebug
	case LogInfo:
		return slog.LevelInfo
	case LogWarning:
		return slog.LevelWarn
	}
	return slog.LevelError
}

//export hrgo_now
func hrgo_now(cell unsafe.Pointer) C.int64_t {
	now := guardedValue("the clock", contextValue[Clock](cell).Now, 0)
	return C.int64_t(now)
}

// Runs every task once and waits for it, also if the executor panics, forgets tasks or returns early.
//
//export hrgo_parallel_for
func hrgo_parallel_for(cell unsafe.Pointer, tasks, threads C.int32_t, fn C.hrgo_task, context unsafe.Pointer) {
	begun := make([]atomic.Bool, tasks)
	var running sync.WaitGroup
	running.Add(int(tasks))
	run := func(i int) {
		if i >= 0 && i < len(begun) && !begun[i].Swap(true) {
			C.hrgo_call_task(fn, context, C.int(i))
			running.Done()
		}
	}
	lost(caught("the executor", func() error {
		contextValue[Executor](cell).ParallelFor(int(tasks), int(threads), run)
		return nil
	}))
	for i := range begun {
		run(i)
	}
	running.Wait()
}

//export hrgo_allocate
func hrgo_allocate(cell unsafe.Pointer, bytes, alignment C.size_t) unsafe.Pointer {
	return guardedValue("the allocator", func() unsafe.Pointer {
		return contextValue[Allocator](cell).Allocate(uintptr(bytes), uintptr(alignment))
	}, nil)
}

//export hrgo_deallocate
func hrgo_deallocate(cell, data unsafe.Pointer, bytes, alignment C.size_t) {
	lost(caught("the allocator", func() error {
		contextValue[Allocator](cell).Deallocate(data, uintptr(bytes), uintptr(alignment))
		return nil
	}))
}
