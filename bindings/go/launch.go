package headrace

// #include "callbacks.h"
import "C"

import "encoding/json"

// Launch is the rank and size with which a launcher has started this process: `headrace launch`,
// torchrun, Open MPI, MPICH or Slurm.
type Launch struct {
	Rank, Size           int
	LocalRank, LocalSize int    // among the processes of this host; -1 and 0 if they are unknown
	Epoch                uint64 // how often the job has been restarted
	// MinRanks and MaxRanks are the bounds of an elastic job: with how many ranks at least it goes on,
	// and up to how many it takes new ones in; 0 if it is not elastic.
	MinRanks, MaxRanks int
	Store              string // the URL of the store where the ranks meet; "" if it is unknown
	// Description is the launch as JSON, with the variable that each value came from.
	Description json.RawMessage
}

// LaunchFromEnvironment reads the launcher's environment variables. If none is set, the process is
// alone: rank 0 of 1. If two contradict each other, it fails with FailedPrecondition and names both.
func LaunchFromEnvironment() (*Launch, error) {
	var launch *C.hr_launch
	if err := failure(C.hr_launch_from_environment(&launch)); err != nil {
		return nil, err
	}
	defer C.hr_launch_release(launch)
	out := &Launch{Rank: int(C.hr_launch_rank(launch)), Size: int(C.hr_launch_size(launch)),
		LocalRank: int(C.hr_launch_local_rank(launch)), LocalSize: int(C.hr_launch_local_size(launch)),
		MinRanks: int(C.hr_launch_min_ranks(launch)), MaxRanks: int(C.hr_launch_max_ranks(launch)),
		Epoch: uint64(C.hr_launch_epoch(launch)), Store: C.GoString(C.hr_launch_store(launch))}
	var text *C.hr_text
	var err error
	out.Description, err = described(C.hr_launch_describe(launch, &text), text)
	return out, err
}
