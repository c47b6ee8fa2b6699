package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"encoding/json"
	"time"
)

// Group is a set of processes that communicate. Each has a rank from 0 to Size - 1.
//
// All ranks start the same collective operations in the same order; sends and receives meet by tag.
// One goroutine at a time may start operations of a group; Split gives sub-groups for others. All
// other functions may be called by any goroutine at any time.
//
// If a rank dies, freezes or starts a different operation, the group ends for all ranks with the same
// failure, which names the rank at fault: Unavailable, FailedPrecondition, DeadlineExceeded, Cancelled,
// Aborted, Unauthenticated or ArbiterLost. It can continue in a new epoch (Shrink).
type Group struct {
	object     *object[*C.hr_group]
	rank, size int
	epoch      uint64
}

// look takes down what the group is: an elastic training has made it the latest one.
func (g *Group) look(group *C.hr_group) {
	g.rank, g.size, g.epoch = int(C.hr_group_rank(group)), int(C.hr_group_size(group)), uint64(C.hr_group_epoch(group))
}

func newGroup(group *C.hr_group) *Group {
	if group == nil {
		return nil
	}
	out := &Group{}
	out.look(group)
	return own(out, &out.object, group, "group", true, func(p *C.hr_group) { C.hr_group_release(p) })
}

// GroupOptions are the options of a group. The zero value means that all comes from the environment.
type GroupOptions struct {
	Rank, Size int    // size 0: rank, size and epoch come from the environment, and the store if none is given
	Epoch      uint64 // of the job; each restart of all ranks needs a new one
	Name       string // unique among the groups of one store and epoch; "": "world"
	Store      *Store // nil: the one that StoreURL names
	StoreURL   string // as for OpenStore; must be "" if there is a store
	// Transport names those that may be used, such as "shm,tcp"; "": $HEADRACE_TRANSPORT, or all.
	Transport string
	Address   string // the numeric address of this host where TCP listens
	// TrustedFabric lets TCP leave this host without a secret, in plain text.
	TrustedFabric bool
	// Timeout is that of calls whose context can never end, the creation included; 0: 10 minutes;
	// -1: none.
	Timeout time.Duration
	// Silence is how long a peer may send nothing before it counts as dead; 0: 10 seconds.
	Silence    time.Duration
	Algorithms string // fixes algorithms, such as "all_reduce=ring"; the same on all ranks
	// DumpFolder is the folder of the flight recorder; "": $HEADRACE_DUMP_FOLDER, or no files.
	DumpFolder string
	// Secret is that of the cluster, the same on all ranks: at least 16 bytes. With it TCP is TLS 1.3.
	// "": $HEADRACE_SECRET, or the first line of the file $HEADRACE_SECRET_FILE, or none.
	Secret string
	// NoSecret means none, whatever the environment says.
	NoSecret bool
	// Calibration is the file of 'headrace comm calibrate'; "": $HEADRACE_CALIBRATION or the machine's.
	Calibration string
	// BuiltInCosts means that no calibration is used.
	BuiltInCosts bool
}

func (l *loan) group(options *GroupOptions) *C.hr_group_options {
	if options == nil {
		return nil
	}
	out := C.hr_group_options{struct_size: C.sizeof_hr_group_options, rank: l.number("Rank", options.Rank),
		size: l.number("Size", options.Size), epoch: C.uint64_t(options.Epoch), name: l.optional(options.Name),
		store_url: l.optional(options.StoreURL), transport: l.optional(options.Transport),
		address: l.optional(options.Address), trusted_fabric: flag(options.TrustedFabric),
		timeout_nanos: C.int64_t(options.Timeout), silence_nanos: C.int64_t(options.Silence),
		algorithms: l.optional(options.Algorithms), dump_folder: l.optional(options.DumpFolder),
		secret: l.optionalOr(options.Secret, options.NoSecret), calibration: l.optionalOr(options.Calibration, options.BuiltInCosts)}
	if options.Store != nil {
		out.store = borrow(l, options.Store.object)
	}
	return lendStruct(l, out)
}

// Returns "" instead of NULL for an empty text if none is true.
func (l *loan) optionalOr(s string, none bool) *C.char {
	if none {
		return l.text("")
	}
	return l.optional(s)
}

// NewGroup creates a group and waits until all ranks are connected. All ranks call it. The options may
// be nil.
func (e *Env) NewGroup(ctx context.Context, options *GroupOptions) (*Group, error) {
	var lent loan
	defer lent.end()
	env, how := borrow(&lent, e.object), lent.group(options)
	return grouped(ctx, &lent, func(l *C.hr_limits, out **C.hr_group) *C.hr_status {
		return C.hr_group_create(env, how, l, out)
	})
}

// JoinGroup waits until a group grows, and becomes one of its ranks. Of the options, rank, size and
// epoch are ignored.
func (e *Env) JoinGroup(ctx context.Context, options *GroupOptions) (*Group, error) {
	var lent loan
	defer lent.end()
	env, how := borrow(&lent, e.object), lent.group(options)
	return grouped(ctx, &lent, func(l *C.hr_limits, out **C.hr_group) *C.hr_status {
		return C.hr_group_join(env, how, l, out)
	})
}

// Calls a function that makes a group.
func grouped(ctx context.Context, lent *loan, function func(l *C.hr_limits, out **C.hr_group) *C.hr_status) (*Group, error) {
	if lent.failure != nil {
		return nil, lent.failure
	}
	var group *C.hr_group
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status { return function(l, &group) })
	if err != nil {
		return nil, err
	}
	return newGroup(group), nil
}

// Close leaves this group and all that share its connections. Operations in flight end with Cancelled.
// It may be called any number of times, also while other goroutines use the group.
func (g *Group) Close() error {
	if group, err := g.object.use(); err == nil {
		C.hr_group_close(group)
		g.object.close()
		g.object.done()
	}
	return nil
}

// Release releases the group without leaving those that share its connections: what Split gave goes on.
func (g *Group) Release() { g.object.close() }

// Returns a rank for the library, which refuses those that do not exist.
func rankOf(rank int) C.int32_t {
	if rank != int(int32(rank)) {
		return -1
	}
	return C.int32_t(rank)
}

// Abort ends the group on all ranks with Aborted and the cause. It does not wait.
func (g *Group) Abort(cause string) error {
	var lent loan
	defer lent.end()
	group, text := borrow(&lent, g.object), lent.text(cause)
	if lent.failure != nil {
		return lent.failure
	}
	return failure(C.hr_group_abort(group, text))
}

// Rank returns the place of this process.
func (g *Group) Rank() int { return g.rank }

// Size returns the number of ranks.
func (g *Group) Size() int { return g.size }

// Epoch returns the incarnation of the group.
func (g *Group) Epoch() uint64 { return g.epoch }

// Err returns why the group has ended, the same on all ranks; nil while it has not.
func (g *Group) Err() error {
	group, err := g.object.use()
	if err != nil {
		return err
	}
	defer g.object.done()
	return failure(C.hr_group_status(group))
}

// Describe returns name, rank, members with their transports, algorithms and the cost model as JSON.
func (g *Group) Describe() (json.RawMessage, error) {
	group, err := g.object.use()
	if err != nil {
		return nil, err
	}
	defer g.object.done()
	var text *C.hr_text
	return described(C.hr_group_describe(group, &text), text)
}

// Dump returns the last 2,000 operations with sizes, states and times as JSON, the oldest first.
func (g *Group) Dump() (json.RawMessage, error) {
	group, err := g.object.use()
	if err != nil {
		return nil, err
	}
	defer g.object.done()
	var text *C.hr_text
	return described(C.hr_group_dump(group, &text), text)
}

// ReadDump returns what Dump does for a group of another process, from its .flight file.
func ReadDump(path string) (json.RawMessage, error) {
	var lent loan
	defer lent.end()
	file := lent.text(path)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var text *C.hr_text
	return described(C.hr_dump_read(file, &text), text)
}

// Split splits the group: ranks with the same color form a sub-group, ordered by key and then by rank.
// All ranks call it. If the color is negative, the rank gets nil. A sub-group ends together with its
// group, and may be used by another goroutine.
func (g *Group) Split(ctx context.Context, color, key int) (*Group, error) {
	var lent loan
	defer lent.end()
	group, ours, place := borrow(&lent, g.object), lent.number("color", color), lent.number("key", key)
	return grouped(ctx, &lent, func(l *C.hr_limits, out **C.hr_group) *C.hr_status {
		return C.hr_group_split(group, ours, place, l, out)
	})
}

// Shrink continues a group that has ended, as a new group in a new epoch, without the rank that the
// cause names and those that do not call it. The old group is closed then.
func (g *Group) Shrink(ctx context.Context) (*Group, error) {
	var lent loan
	defer lent.end()
	group := borrow(&lent, g.object)
	return grouped(ctx, &lent, func(l *C.hr_limits, out **C.hr_group) *C.hr_status { return C.hr_group_shrink(group, l, out) })
}

// Waiting returns how many processes wait in JoinGroup.
func (g *Group) Waiting(ctx context.Context) (int, error) {
	var lent loan
	defer lent.end()
	group := borrow(&lent, g.object)
	if lent.failure != nil {
		return 0, lent.failure
	}
	var out C.int32_t
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_group_waiting(group, l, &out) })
	return int(out), err
}

// Grow adds ranks until there are size, as a new group in a new epoch. All ranks call it, and each new
// process calls JoinGroup. A new rank that fails meanwhile is left out, so check the size.
func (g *Group) Grow(ctx context.Context, size int) (*Group, error) {
	var lent loan
	defer lent.end()
	group, wanted := borrow(&lent, g.object), lent.number("size", size)
	return grouped(ctx, &lent, func(l *C.hr_limits, out **C.hr_group) *C.hr_status {
		return C.hr_group_grow(group, wanted, l, out)
	})
}

// BindGroup lets the nodes of the session's graphs that name the group communicate in a sub-group of it;
// nil takes the group away. All ranks of the group call it. FailedPrecondition, on all ranks, if one has
// another graph, another seed or another version of the library.
func (s *Session) BindGroup(ctx context.Context, name string, group *Group) error {
	var lent loan
	defer lent.end()
	session, text := borrow(&lent, s.object), lent.text(name)
	var raw *C.hr_group
	if group != nil {
		raw = borrow(&lent, group.object)
	}
	if lent.failure != nil {
		return lent.failure
	}
	return limited(ctx, func(l *C.hr_limits) *C.hr_status {
		return C.hr_session_bind_group(session, text, raw, l)
	})
}

// Broadcast gives all variables of the session, its step and its seed the values of the rank root of a
// bound group. All ranks call it.
func (s *Session) Broadcast(ctx context.Context, name string, root int) error {
	var lent loan
	defer lent.end()
	session, text, from := borrow(&lent, s.object), lent.text(name), lent.number("root", root)
	if lent.failure != nil {
		return lent.failure
	}
	return limited(ctx, func(l *C.hr_limits) *C.hr_status {
		return C.hr_session_broadcast(session, text, from, l)
	})
}
