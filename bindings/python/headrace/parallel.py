"""Training by a group: each rank computes the gradients of its shard, and all apply their mean."""
import time

from .errors import FailedPrecondition, OutOfRange
from .tensor import Tensor
from .training import Report, evaluate

PREFIX = "gradient:"


def _outputs(session, signature):
    for one in session.model.describe()["signatures"]:
        if one["name"] == signature:
            return one["outputs"]
    raise FailedPrecondition(f"training by a group needs the signature '{signature}': use a "
                             "Learner, or build it as docs/python.md says")


class _Gradients:
    """The gradients of a step, in one array for each element type: outputs of one call, inputs of
    the other, and what is averaged, in place."""

    def __init__(self, session, compute, apply):
        import numpy
        from .dtypes import dtype_of, numpy_dtype
        by_type = {}
        for one in _outputs(session, "gradients"):
            if one["name"].startswith(PREFIX):
                by_type.setdefault(one["dtype"], []).append((one["name"], one["dims"]))
        self.arrays = []
        for dtype, members in by_type.items():
            sizes = [int(numpy.prod(dims)) for _, dims in members]
            array = numpy.zeros(sum(sizes), numpy_dtype(dtype_of(dtype)))
            self.arrays.append(Tensor(array))
            start = 0
            for (name, dims), size in zip(members, sizes):
                part = Tensor(array[start:start + size].reshape(dims))
                compute.bind_output(name, part)
                apply.bind(name, part)
                start += size

    def average(self, group, timeout, cancel):
        for one in self.arrays:
            group.all_reduce(one, "average", timeout=timeout, cancel=cancel)


def _share_variables(session, group):
    """Gives all ranks the variables of rank 0."""
    for name in session.variables:
        value = session.get_variable(name)
        group.broadcast(value)
        session.set_variable(name, value)


def fit_group(session, train, held, group, watch, steps, scalars, checkpoints, checkpoint_every,
              keep, validation_signature, timeout, cancel):
    """Train as `training.fit` says; every rank of the group calls it."""
    compute, apply = session.call("gradients"), session.call("apply")
    gradients = _Gradients(session, compute, apply)
    for name, value in scalars.items():
        apply.bind(name, value)
    if checkpoints is not None:
        _restore(session, train, group, checkpoints)
    _share_variables(session, group)
    compute.bind_dataset(train)
    limits = {"cancel": cancel}
    began, first = time.monotonic(), session.step
    report = Report(step=first)
    done = 0
    while steps is None or done < steps:
        try:
            compute.run(timeout=timeout, cancel=cancel)
        except OutOfRange:
            break
        gradients.average(group, timeout, cancel)
        apply.run(**limits)
        done += 1
        seconds = max(time.monotonic() - began, 1e-9)
        report = Report(step=done, epoch=0, loss=compute["loss"].item(),
                        examples_per_second=done / seconds)
        stop = watch.on_step({name: getattr(report, name) for name in Report.__slots__})
        if checkpoints is not None and checkpoint_every and done % checkpoint_every == 0:
            _save(session, train, group, checkpoints, keep)
        if stop:
            break
    if checkpoints is not None:
        _save(session, train, group, checkpoints, keep)
    compute.close()
    apply.close()
    if held is not None:
        evaluated = evaluate(session, held, signature=validation_signature)
        report.evaluated = True
        report.evaluation_loss = evaluated.evaluation_loss
        report.evaluation_accuracy = evaluated.evaluation_accuracy
    return report


def _restore(session, train, group, folder):
    import os
    if os.path.isdir(folder) and any(one.startswith("step-") for one in os.listdir(folder)):
        session.restore(folder, dataset=train, group=group if group.rank == 0 else None)


def _save(session, train, group, folder, keep):
    if group.rank == 0:
        session.save(folder, keep=keep, dataset=train, group=group)
    group.barrier()
