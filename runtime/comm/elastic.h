// Groups that go on in a new epoch: without ranks that failed, and with new ones.
//
// The ranks of an epoch say in the store that they go on. Once all have, but for the one that the
// verdict blames, or once the others have had their time, whoever is first swaps the membership
// (membership.h) for the next epoch's. Ranks that then fail to meet do the same again, from the
// epoch that failed.
#pragma once

#include "runtime/comm/group.h"

namespace hr::comm {

// The ranks of a group that has ended go on without the one that is to blame, and without those
// that do not call this within the group's silence time, in their old order. At most one side of a
// split network goes on. FAILED_PRECONDITION for a rank that the others go on without, and where
// the group has not ended; ARBITER_LOST where the store cannot be reached. The group is closed.
Result<std::shared_ptr<Group>> Shrink(Group& group, const CallLimits& limits);

// The ranks go on, and as many that join (Join) as make `size` in all, behind the others. The group
// may have ended: then without the rank that is to blame, as Shrink.
Result<std::shared_ptr<Group>> Grow(Group& group, int size, const CallLimits& limits);

// Waits until the group `options.mesh.name` grows, and becomes a rank of it. Rank, size and epoch
// of the options are ignored.
Result<std::shared_ptr<Group>> Join(GroupOptions options, const CallLimits& limits);

}  // namespace hr::comm
