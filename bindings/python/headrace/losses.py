"""Losses: scalars that training makes small. Each takes a prediction and what it should be."""
from . import ops


def cross_entropy(scores, labels, weights=None, *, ignore=None, reduction="mean"):
    """Return the cross entropy of softmax(scores) and labels.

    Parameters
    ----------
    scores : Value
        [N, classes, …], before softmax.
    labels : Value
        The right classes, integers [N, …].
    weights : Value or array, optional
        Of the classes.
    ignore : int, optional
        A label that does not count.
    reduction : {"mean", "sum", "none"}
    """
    attributes = {} if ignore is None else {"ignore_index": ignore}
    return ops.op("SoftmaxCrossEntropyLoss", scores, labels, weights, reduction=reduction,
                  **attributes)


def nll(log_probabilities, labels, weights=None, *, reduction="mean"):
    """Return the negative log-likelihood of labels, of log_softmax's output."""
    return ops.op("NegativeLogLikelihoodLoss", log_probabilities, labels, weights,
                  reduction=reduction)


def mse(prediction, target):
    """Return the mean of the squared errors."""
    error = prediction - target
    return ops.mean(error * error)


def mae(prediction, target):
    """Return the mean of the absolute errors."""
    return ops.mean(abs(prediction - target))


def huber(prediction, target, delta=1.0):
    """Return the mean of errors that are squared up to `delta`, and absolute beyond."""
    error = abs(prediction - target)
    near = ops.minimum(error, ops.graph_of(error).lift(float(delta), error.dtype))
    return ops.mean(near * (error - 0.5 * near))


def binary_cross_entropy(scores, target):
    """Return the mean cross entropy of sigmoid(scores) and targets from 0 to 1."""
    return ops.mean(ops.relu(scores) - scores * target + ops.softplus(-abs(scores)))


def hinge(scores, target):
    """Return the mean of max(0, 1 - target * scores), for targets of -1 and 1."""
    return ops.mean(ops.relu(1 - target * scores))


def kl_divergence(log_probabilities, target):
    """Return the divergence of a predicted distribution from a target's, the mean of the batch."""
    each = target * (ops.log(target) - log_probabilities)
    return ops.mean(ops.sum(each, axis=-1))


def correct(scores, labels):
    """Return how many of the examples have their largest score at their label, float32.

    It is what a signature's output "correct" is, from which accuracy follows.
    """
    hit = ops.argmax(scores, axis=1) == labels
    return ops.sum(ops.cast(hit, "float32"))
