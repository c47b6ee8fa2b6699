"""What the measurements of a sweep say. A run of a cell is {"times": {side: [ms of each
alternation]}, "peaks": {side: bytes}, "errors": {side: sentence}, "accuracy": {side: error},
"others": the part of the machine that other programs used}."""
import math
import statistics

OURS = "headrace"
T_90 = [6.314, 2.920, 2.353, 2.132, 2.015, 1.943]  # Student's t, 90 % on both sides, by freedom - 1
CLIFF = 1.3
ERRORS_PART = 1e-4  # which the error of a float32 kernel may be of its result
SCORES_PART, CHANGES_PART = 1e-3, 0.1  # which numbers of two sides may differ by
LAST_BITS = 2 ** -22  # of a loss of float32: two steps of its last bit at most


def interval(ours, theirs):
    """The 90 % interval of the ratio their time / our time, from pairs measured beside each other;
    None if there is but one."""
    logs = [math.log(b / a) for a, b in zip(ours, theirs)]
    if len(logs) < 2:
        return None
    middle = statistics.mean(logs)
    half = T_90[min(len(logs) - 1, len(T_90)) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(middle - half), math.exp(middle + half)


def best_peer(run, peers):
    """The fastest of those that were measured, or None."""
    measured = [peer for peer in peers if run["times"].get(peer)]
    return min(measured, key=lambda peer: statistics.median(run["times"][peer]), default=None)


def judge(run, peers):
    """{ours, peer_name, peer, ratio, low, high} of one run of a cell; None where it is not known."""
    times = run["times"]
    best = best_peer(run, peers)
    ours = statistics.median(times[OURS]) if times.get(OURS) else None
    theirs = statistics.median(times[best]) if best else None
    bounds = interval(times[OURS], times[best]) if ours and best else None
    low, high = bounds or (None, None)
    return {"ours": ours, "peer_name": best, "peer": theirs,
            "ratio": theirs / ours if ours and best else None, "low": low, "high": high}


def is_behind(run, peers):
    """The whole interval is below 1."""
    high = judge(run, peers)["high"]
    return high is not None and high < 1


def is_short(runs, peers):
    return len(runs) > 1 and all(is_behind(run, peers) for run in runs[-2:])


def latest(runs, peers):
    """The run that counts: the last; of one that was not behind twice, the better."""
    if len(runs) > 1 and not is_short(runs, peers):
        return max(runs[-2:], key=lambda run: judge(run, peers)["ratio"] or 0)
    return runs[-1]


def cliffs(ours, theirs):
    """The larger columns of pairs of neighbours whose time per column (an image) rises by more than
    CLIFF where that of the peer does not. Both are {column: time}."""
    columns = sorted(column for column in ours if ours[column] and theirs.get(column))
    found = []
    for before, after in zip(columns, columns[1:]):
        rise, rise_of_peer = (times[after] / after / (times[before] / before)
                              for times in (ours, theirs))
        if rise > CLIFF >= rise_of_peer:
            found.append(after)
    return found


def scores_differ(values, expected, peers):
    """By how much, of the largest, if that is more than rounding explains; else None."""
    return beyond(SCORES_PART, difference(values, expected))


def losses_differ(values, expected, peers):
    """The same of the losses of a training's first steps: of the first loss, and of what the steps
    change of it, where rounding counts for more. If the peers (their losses) are not of one mind
    in this, it is chance, and says nothing of ours: normalizing one small image, a channel has four
    values. Nor do the last bits of losses say anything, where the steps change no more of them."""
    first = beyond(SCORES_PART, difference(values[:1], expected[:1]))
    between_peers = max((difference(changes(peer), changes(expected)) for peer in peers), default=0)
    if first or between_peers > CHANGES_PART / 3:
        return first
    if difference(values, expected) <= LAST_BITS:
        return None
    return beyond(CHANGES_PART, difference(changes(values), changes(expected)))


def losses_as_near(values, expected, exact):
    """Whether losses that differ from the expected ones are not much farther from the exact ones
    (of float64) than these are: then rounding has been multiplied, for all."""
    exact_changes = changes(exact)
    return (not beyond(SCORES_PART, difference(values[:1], exact[:1])) and
            difference(changes(values), exact_changes)
            <= 1.5 * difference(changes(expected), exact_changes))


def changes(losses):
    return [loss - losses[0] for loss in losses]


def difference(values, expected):
    """The largest, as a part of the largest number that is expected."""
    if len(values) != len(expected) or not all(map(math.isfinite, values)):
        return math.inf
    return max(abs(a - b) for a, b in zip(values, expected)) / (max(map(abs, expected)) or 1)


def beyond(allowed, differs):
    return differs if differs > allowed else None


def rms_error(tensors):
    """A function (values, expected) that gives the largest error of so many tensors, each of which
    has as many of the values: rms(value - expected) / rms(expected)."""
    def error(values, expected):
        each = len(expected) // tensors
        parts = [slice(number * each, (number + 1) * each) for number in range(tensors)]
        return max(rms(a - b for a, b in zip(values[part], expected[part]))
                   / (rms(expected[part]) or 1) for part in parts)
    return error


def rms(values):
    return math.sqrt(statistics.fmean(value * value for value in values))


def errs(error):
    """A function for Check.differ: the error if it is more than that of a float32 kernel."""
    def differ(values, expected, peers):
        if len(values) != len(expected) or not all(map(math.isfinite, values)):
            return math.inf
        return beyond(ERRORS_PART, error(values, expected))
    return differ
