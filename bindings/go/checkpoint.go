package headrace

// #include "callbacks.h"
import "C"

import (
	"context"
	"encoding/json"
)

// CheckpointOptions say what belongs to a checkpoint. The zero value means defaults.
type CheckpointOptions struct {
	Keep    int      // how many of the newest are kept; 0: 5; -1: all
	Dataset *Dataset // whose position is saved or restored, too
	// Group is the one for which this process writes. The directory then belongs to the group's epoch,
	// and a rank that the group has gone on without cannot write there.
	Group *Group
}

func (l *loan) checkpoint(options *CheckpointOptions) *C.hr_checkpoint_options {
	if options == nil {
		return nil
	}
	out := C.hr_checkpoint_options{struct_size: C.sizeof_hr_checkpoint_options, keep: l.number("Keep", options.Keep)}
	if options.Dataset != nil {
		out.dataset = borrow(l, options.Dataset.object)
	}
	if options.Group != nil {
		out.group = borrow(l, options.Group.object)
	}
	return lendStruct(l, out)
}

// Save writes the checkpoint DIRECTORY/step-N. Readers see the whole checkpoint or none. The options
// may be nil. If the context ends the call, there is no new checkpoint.
func (s *Session) Save(ctx context.Context, directory string, options *CheckpointOptions) error {
	var lent loan
	defer lent.end()
	session, path, how := borrow(&lent, s.object), lent.text(directory), lent.checkpoint(options)
	if lent.failure != nil {
		return lent.failure
	}
	return limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_session_save(session, path, how, l) })
}

// Restored says what Restore has done.
type Restored struct {
	Path     string   `json:"path"`
	Step     int64    `json:"step"`
	Warnings []string `json:"warnings"`
}

// Restore restores the variables, step and seed from a checkpoint, or from the newest of a directory,
// and the position of options.Dataset. If it fails, the session is as it was; if it succeeds, a tainted
// session is usable again. The options may be nil.
func (s *Session) Restore(ctx context.Context, path string, options *CheckpointOptions) (Restored, error) {
	var lent loan
	defer lent.end()
	session, place, how := borrow(&lent, s.object), lent.text(path), lent.checkpoint(options)
	if lent.failure != nil {
		return Restored{}, lent.failure
	}
	var report *C.hr_text
	err := limited(ctx, func(l *C.hr_limits) *C.hr_status { return C.hr_session_restore(session, place, how, l, &report) })
	if err != nil {
		return Restored{}, err
	}
	var out Restored
	err = json.Unmarshal([]byte(takeText(report)), &out)
	return out, err
}

// DescribeCheckpoint verifies a checkpoint, or all checkpoints of a directory, and describes them as
// JSON.
func DescribeCheckpoint(path string) (json.RawMessage, error) {
	var lent loan
	defer lent.end()
	place := lent.text(path)
	if lent.failure != nil {
		return nil, lent.failure
	}
	var text *C.hr_text
	return described(C.hr_checkpoint_describe(place, &text), text)
}
