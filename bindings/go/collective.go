package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"unsafe"
)

// The functions here wait for the end of the operation. If the context ends the wait, a receive has no
// effect, and any other operation ends the group, because the other ranks cannot complete it without
// this one. A context that can never end means the group's timeout.
//
// Functions named Start return at once; their slices are pinned and in use until the work has ended.
// Input and output may be the same slice if they have the same length. On ranks whose input or output
// is not used, it may be nil.

// buffers is the memory of one operation.
type buffers struct {
	input, output unsafe.Pointer
	count         C.uint64_t
	dtype         C.hr_dtype
	failure       error
}

// How long a slice must be: for count elements, for those of every rank, or not used on this rank.
type length int

const (
	unused length = iota
	single
	perRank
)

// Returns the buffers of an operation. The slice that counts is used on every rank.
func buffersOf[T Element](g *Group, input, output []T, in, out length) buffers {
	b := buffers{dtype: C.hr_dtype(DTypeOf[T]())}
	blocks := map[length]int{unused: 0, single: 1, perRank: max(g.size, 1)}
	count := len(output) / max(blocks[out], 1)
	if in != unused && (out == unused || blocks[in] <= blocks[out]) {
		count = len(input) / blocks[in]
	}
	if len(input) != count*blocks[in] && in != unused || len(output) != count*blocks[out] && out != unused {
		b.failure = invalid("the input has %d elements and the output %d; for a group of %d ranks %d and %d are needed (0: not used)",
			len(input), len(output), g.size, count*blocks[in], count*blocks[out])
	}
	b.count = C.uint64_t(count)
	if in != unused {
		b.input = address(input)
	}
	if out != unused {
		b.output = address(output)
	}
	return b
}

// Returns how long a slice must be that only the root uses.
func (g *Group) atRoot(root int, there length) length {
	if g.rank == root {
		return there
	}
	return unused
}

func (g *Group) wait(ctx context.Context, b buffers, function func(*C.hr_group, *C.hr_limits) *C.hr_status) error {
	if b.failure != nil {
		return b.failure
	}
	group, err := g.object.use()
	if err != nil {
		return err
	}
	defer g.object.done()
	return limited(ctx, func(l *C.hr_limits) *C.hr_status { return function(group, l) })
}

func (g *Group) begin(b buffers, function func(*C.hr_group, **C.hr_work) *C.hr_status) (*Work, error) {
	if b.failure != nil {
		return nil, b.failure
	}
	return g.start(function, b.input, b.output)
}

// Barrier waits until all ranks have called it.
func (g *Group) Barrier(ctx context.Context) error {
	return g.wait(ctx, buffers{}, func(group *C.hr_group, l *C.hr_limits) *C.hr_status { return C.hr_barrier(group, l) })
}

// BarrierStart starts a Barrier.
func (g *Group) BarrierStart() (*Work, error) {
	return g.begin(buffers{}, func(group *C.hr_group, out **C.hr_work) *C.hr_status { return C.hr_barrier_start(group, out) })
}

// Send sends a message to a rank.
func Send[T Element](ctx context.Context, g *Group, data []T, to int, tag uint32) error {
	b := buffersOf(g, data, nil, single, unused)
	return g.wait(ctx, b, func(group *C.hr_group, l *C.hr_limits) *C.hr_status {
		return C.hr_send(group, b.input, b.count, b.dtype, rankOf(to), C.uint32_t(tag), l)
	})
}

// SendStart starts a Send.
func SendStart[T Element](g *Group, data []T, to int, tag uint32) (*Work, error) {
	b := buffersOf(g, data, nil, single, unused)
	return g.begin(b, func(group *C.hr_group, out **C.hr_work) *C.hr_status {
		return C.hr_send_start(group, b.input, b.count, b.dtype, rankOf(to), C.uint32_t(tag), out)
	})
}

// Recv receives the first message of a rank with that tag. It must have as many elements, of the same type.
func Recv[T Element](ctx context.Context, g *Group, data []T, from int, tag uint32) error {
	b := buffersOf(g, nil, data, unused, single)
	return g.wait(ctx, b, func(group *C.hr_group, l *C.hr_limits) *C.hr_status {
		return C.hr_recv(group, b.output, b.count, b.dtype, rankOf(from), C.uint32_t(tag), l)
	})
}

// RecvStart starts a Recv.
func RecvStart[T Element](g *Group, data []T, from int, tag uint32) (*Work, error) {
	b := buffersOf(g, nil, data, unused, single)
	return g.begin(b, func(group *C.hr_group, out **C.hr_work) *C.hr_status {
		return C.hr_recv_start(group, b.output, b.count, b.dtype, rankOf(from), C.uint32_t(tag), out)
	})
}

// Broadcast makes output on every rank a copy of the root's input.
func Broadcast[T Element](ctx context.Context, g *Group, input, output []T, root int) error {
	b := buffersOf(g, input, output, g.atRoot(root, single), single)
	return g.wait(ctx, b, func(group *C.hr_group, l *C.hr_limits) *C.hr_status {
		return C.hr_broadcast(group, b.input, b.output, b.count, b.dtype, rankOf(root), l)
	})
}

// BroadcastStart starts a Broadcast.
func BroadcastStart[T Element](g *Group, input, output []T, root int) (*Work, error) {
	b := buffersOf(g, input, output, g.atRoot(root, single), single)
	return g.begin(b, func(group *C.hr_group, out **C.hr_work) *C.hr_status {
		return C.hr_broadcast_start(group, b.input, b.output, b.count, b.dtype, rankOf(root), out)
	})
}

// Reduce makes output on the root the reduction of all inputs.
func Reduce[T Element](ctx context.Context, g *Group, input, output []T, op ReduceOp, root int) error {
	b := buffersOf(g, input, output, single, g.atRoot(root, single))
	return g.wait(ctx, b, func(group *C.hr_group, l *C.hr_limits) *C.hr_status {
		return C.hr_reduce(group, b.input, b.output, b.count, b.dtype, C.hr_reduce_op(op), rankOf(root), l)
	})
}

// ReduceStart starts a Reduce.
func ReduceStart[T Element](g *Group, input, output []T, op ReduceOp, root int) (*Work, error) {
	b := buffersOf(g, input, output, single, g.atRoot(root, single))
	return g.begin(b, func(group *C.hr_group, out **C.hr_work) *C.hr_status {
		return C.hr_reduce_start(group, b.input, b.output, b.count, b.dtype, C.hr_reduce_op(op), rankOf(root), out)
	})
}

// AllReduce makes output on every rank the reduction of all inputs, with the same bits.
func AllReduce[T Element](ctx context.Context, g *Group, input, output []T, op ReduceOp) error {
	b := buffersOf(g, input, output, single, single)
	return g.wait(ctx, b, func(group *C.hr_group, l *C.hr_limits) *C.hr_status {
		return C.hr_all_reduce(group, b.input, b.output, b.count, b.dtype, C.hr_reduce_op(op), l)
	})
}

// AllReduceStart starts an AllReduce.
func AllReduceStart[T Element](g *Group, input, output []T, op ReduceOp) (*Work, error) {
	b := buffersOf(g, input, output, single, single)
	return g.begin(b, func(group *C.hr_group, out **C.hr_work) *C.hr_status {
		return C.hr_all_reduce_start(group, b.input, b.output, b.count, b.dtype, C.hr_reduce_op(op), out)
	})
}

// Gather makes output on the root the inputs of all ranks, one after the other.
func Gather[T Element](ctx context.Context, g *Group, input, output []T, root int) error {
	b := buffersOf(g, input, output, single, g.atRoot(root, perRank))
	return g.wait(ctx, b, func(group *C.hr_group, l *C.hr_limits) *C.hr_status {
		return C.hr_gather(group, b.input, b.output, b.count, b.dtype, rankOf(root), l)
	})
}

// GatherStart starts a Gather.
func GatherStart[T Element](g *Group, input, output []T, root int) (*Work, error) {
	b := buffersOf(g, input, output, single, g.atRoot(root, perRank))
	return g.begin(b, func(group *C.hr_group, out **C.hr_work) *C.hr_status {
		return C.hr_gather_start(group, b.input, b.output, b.count, b.dtype, rankOf(root), out)
	})
}

// AllGather makes output on every rank the inputs of all ranks, one after the other.
func AllGather[T Element](ctx context.Context, g *Group, input, output []T) error {
	b := buffersOf(g, input, output, single, perRank)
	return g.wait(ctx, b, func(group *C.hr_group, l *C.hr_limits) *C.hr_status {
		return C.hr_all_gather(group, b.input, b.output, b.count, b.dtype, l)
	})
}

// AllGatherStart starts an AllGather.
func AllGatherStart[T Element](g *Group, input, output []T) (*Work, error) {
	b := buffersOf(g, input, output, single, perRank)
	return g.begin(b, func(group *C.hr_group, out **C.hr_work) *C.hr_status {
		return C.hr_all_gather_start(group, b.input, b.output, b.count, b.dtype, out)
	})
}

// Scatter makes output on every rank its block of the root's input.
func Scatter[T Element](ctx context.Context, g *Group, input, output []T, root int) error {
	b := buffersOf(g, input, output, g.atRoot(root, perRank), single)
	return g.wait(ctx, b, func(group *C.hr_group, l *C.hr_limits) *C.hr_status {
		return C.hr_scatter(group, b.input, b.output, b.count, b.dtype, rankOf(root), l)
	})
}

// ScatterStart starts a Scatter.
func ScatterStart[T Element](g *Group, input, output []T, root int) (*Work, error) {
	b := buffersOf(g, input, output, g.atRoot(root, perRank), single)
	return g.begin(b, func(group *C.hr_group, out **C.hr_work) *C.hr_status {
		return C.hr_scatter_start(group, b.input, b.output, b.count, b.dtype, rankOf(root), out)
	})
}

// ReduceScatter makes output on every rank its block of the reduction of all inputs.
func ReduceScatter[T Element](ctx context.Context, g *Group, input, output []T, op ReduceOp) error {
	b := buffersOf(g, input, output, perRank, single)
	return g.wait(ctx, b, func(group *C.hr_group, l *C.hr_limits) *C.hr_status {
		return C.hr_reduce_scatter(group, b.input, b.output, b.count, b.dtype, C.hr_reduce_op(op), l)
	})
}

// ReduceScatterStart starts a ReduceScatter.
func ReduceScatterStart[T Element](g *Group, input, output []T, op ReduceOp) (*Work, error) {
	b := buffersOf(g, input, output, perRank, single)
	return g.begin(b, func(group *C.hr_group, out **C.hr_work) *C.hr_status {
		return C.hr_reduce_scatter_start(group, b.input, b.output, b.count, b.dtype, C.hr_reduce_op(op), out)
	})
}

// AllToAll makes block r of output on every rank this rank's block of rank r's input.
func AllToAll[T Element](ctx context.Context, g *Group, input, output []T) error {
	b := buffersOf(g, input, output, perRank, perRank)
	return g.wait(ctx, b, func(group *C.hr_group, l *C.hr_limits) *C.hr_status {
		return C.hr_all_to_all(group, b.input, b.output, b.count, b.dtype, l)
	})
}

// AllToAllStart starts an AllToAll.
func AllToAllStart[T Element](g *Group, input, output []T) (*Work, error) {
	b := buffersOf(g, input, output, perRank, perRank)
	return g.begin(b, func(group *C.hr_group, out **C.hr_work) *C.hr_status {
		return C.hr_all_to_all_start(group, b.input, b.output, b.count, b.dtype, out)
	})
}
