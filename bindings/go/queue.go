package headrace

// #include "callbacks.h"
import "C"

import "context"

// Queue tells which runs and operations have ended, in that order. Any number of goroutines may take
// from it; each completion goes to one of them.
type Queue struct{ object *object[*C.hr_queue] }

// Completion is what has ended.
type Completion struct {
	Key uint64 // the one that was given with the run or the operation
	Err error  // nil: it has succeeded
}

// NewQueue creates a queue. It keeps the env alive.
func (e *Env) NewQueue() (*Queue, error) {
	env, err := e.object.use()
	if err != nil {
		return nil, err
	}
	defer e.object.done()
	var queue *C.hr_queue
	if err := failure(C.hr_queue_create(env, &queue)); err != nil {
		return nil, err
	}
	out := new(Queue)
	return own(out, &out.object, queue, "queue", true, func(p *C.hr_queue) { C.hr_queue_release(p) }), nil
}

// Close releases the queue. Completions that nobody has taken are dropped.
func (q *Queue) Close() error {
	q.object.close()
	return nil
}

func completionOf(c *C.hr_completion) Completion {
	return Completion{Key: uint64(c.key), Err: failure(c.failure)}
}

// Poll takes the oldest completion; found is false if there is none.
func (q *Queue) Poll() (done Completion, found bool, err error) {
	queue, err := q.object.use()
	if err != nil {
		return Completion{}, false, err
	}
	defer q.object.done()
	c := C.hr_completion{struct_size: C.sizeof_hr_completion}
	var has C.int32_t
	if err := failure(C.hr_queue_poll(queue, &c, &has)); err != nil || has == 0 {
		return Completion{}, false, err
	}
	return completionOf(&c), true, nil
}

// Wait takes the oldest completion and waits for one. The error that it returns is about the wait; the
// failure of what has ended is in the completion.
func (q *Queue) Wait(ctx context.Context) (Completion, error) {
	queue, err := q.object.use()
	if err != nil {
		return Completion{}, err
	}
	defer q.object.done()
	c := C.hr_completion{struct_size: C.sizeof_hr_completion}
	if err := limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_queue_wait(queue, l, &c) }); err != nil {
		return Completion{}, err
	}
	return completionOf(&c), nil
}

// Descriptor returns a file descriptor for poll or epoll, which is readable while the queue has
// completions. It belongs to the queue: do not read or close it.
func (q *Queue) Descriptor() (int, error) {
	queue, err := q.object.use()
	if err != nil {
		return -1, err
	}
	defer q.object.done()
	var out C.int32_t
	err = failure(C.hr_queue_descriptor(queue, &out))
	return int(out), err
}
