// Groups that continue in a new epoch, without ranks that failed and with new ones.
//
// The ranks of an epoch announce in the store that they go on. When all have announced this except
// the one that the verdict blames, or when the time of the others is over, the first rank to notice
// replaces the membership (membership.h) by that of the next epoch. If the ranks then fail to meet,
// they repeat this from the epoch that failed.
#pragma once

#include "runtime/comm/group.h"

namespace hr::comm {

// Continues a group that has ended, without the rank that is to blame and without those that do not
// call this within the group's silence time. The others keep their order. At most one side of a
// split network goes on. FAILED_PRECONDITION for a rank that is left out, and if the group has not
// ended; ARBITER_LOST if the store cannot be reached. The old group is closed.
Result<std::shared_ptr<Group>> Shrink(Group& group, const CallLimits& limits);

// Adds processes that call Join until there are `size` ranks; they follow the old ranks. If the
// group has ended, the rank that is to blame is left out, as by Shrink.
Result<std::shared_ptr<Group>> Grow(Group& group, int size, const CallLimits& limits);

// Returns how many processes wait in Join. One that has died there may be counted until a Grow has
// waited for it in vain.
Result<int> Waiting(const Group& group, const CallLimits& limits);

// Says whether the group takes nobody in any more: Join fails then with OUT_OF_RANGE, also for
// those who wait.
Status SetClosed(const Group& group, bool closed, const CallLimits& limits);

// Creates the group of a job whose launcher notes in options.mesh.losses_file which processes it
// has lost, or becomes a rank of it. As long as the ranks have not met, they begin anew when one is
// lost, with its successor (`replaces`: this process is one) or without it. A successor that comes
// later joins the group.
Result<std::shared_ptr<Group>> CreateOrJoin(GroupOptions options, bool replaces,
                                            const CallLimits& limits);

// Waits until the group `options.mesh.name` grows, and becomes a rank of it. Rank, size and epoch
// of the options are ignored.
Result<std::shared_ptr<Group>> Join(GroupOptions options, const CallLimits& limits);

}  // namespace hr::comm
