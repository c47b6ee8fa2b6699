"""Communication between processes: groups of ranks that send, receive and reduce arrays."""
import atexit
import contextlib
import json
import os
import weakref

from . import _native as native
from ._constants import OperationKind, ReduceOp
from ._objects import Closeable, handle_of, settings
from .completion import Awaitable
from .dtypes import dtype_of
from .env import env_handle
from .errors import FailedPrecondition, InvalidArgument
from .tensor import Tensor

DEFAULT_TIMEOUT = 600.0  # seconds, of calls that are given none
_open: weakref.WeakSet[Closeable] = weakref.WeakSet()


@atexit.register
def _close_all():
    for one in list(_open):
        with contextlib.suppress(Exception):  # in a process that was forked it is the parent's
            one.close()


class Launch(Closeable):
    """The rank and size with which a launcher (headrace, torchrun, mpirun, srun) has started this
    process; without one the process is alone."""

    __slots__ = ()

    def __init__(self):
        self._handle = native.hr_launch_from_environment()

    @property
    def rank(self):
        """The rank, from 0."""
        return native.hr_launch_rank(self._handle)

    @property
    def size(self):
        """The number of ranks."""
        return native.hr_launch_size(self._handle)

    @property
    def local_rank(self):
        """The rank among the processes of this host; -1 if it is unknown."""
        return native.hr_launch_local_rank(self._handle)

    @property
    def local_size(self):
        """The number of processes of this host; 0 if it is unknown."""
        return native.hr_launch_local_size(self._handle)

    @property
    def epoch(self):
        """How often the job has been restarted."""
        return native.hr_launch_epoch(self._handle)

    @property
    def min_ranks(self):
        """With how many ranks an elastic job goes on at least; 0 if the job is not elastic."""
        return native.hr_launch_min_ranks(self._handle)

    @property
    def max_ranks(self):
        """Up to how many ranks an elastic job takes new ones in; 0 if the job is not elastic."""
        return native.hr_launch_max_ranks(self._handle)

    @property
    def store(self):
        """The URL of the store where the ranks meet; "" if it is unknown."""
        return native.hr_launch_store(self._handle)

    def describe(self):
        """Return all of this, and where each value came from, as a dict."""
        return json.loads(native.hr_launch_describe(self._handle))


class Store(Closeable):
    """A small key-value store, where the ranks of a group find each other.

    Parameters
    ----------
    url : str
        "tcp:HOST:PORT", "file:FOLDER" or "memory:".
    serve : bool
        Whether this process keeps the store, for as long as it or a group that uses it lives.
    trusted_fabric, secret
        See `Group`.
    env : Env, optional
    """

    __slots__ = ()

    def __init__(self, url, *, serve=None, trusted_fabric=None, secret=None, env=None):
        options = settings(serve=serve, trusted_fabric=trusted_fabric, secret=secret)
        self._handle = (native.hr_store_open_with(env_handle(env), url, options) if options
                        else native.hr_store_open(env_handle(env), url))

    @classmethod
    def from_functions(cls, get, compare_and_swap, remove):
        """Make a store of functions.

        Parameters
        ----------
        get : callable
            ``get(key)`` returns the value as bytes, or None if there is no such key.
        compare_and_swap : callable
            ``compare_and_swap(key, expected, desired)`` sets the key if its value is `expected`
            (None: if it does not exist), in one step for all ranks, and returns whether it did.
        remove : callable
            ``remove(key)`` removes the key if it exists.
        """
        self = cls.__new__(cls)
        self._handle = native.hr_store_from_callbacks(get, compare_and_swap, remove)
        return self

    @property
    def url(self):
        """The URL with which other processes open the store."""
        return native.hr_store_url(self._handle)


class Work(Closeable, Awaitable):
    """An operation in flight, which keeps its arrays. Can be awaited in asyncio.

    Releasing it does not end the operation.
    """

    __slots__ = ("env", "_timeout")

    def __init__(self, handle, group):
        self._handle = handle
        self.env = group.env
        self._timeout = group.timeout

    def done(self):
        """Whether the operation has ended. Does not wait, but moves what can be moved."""
        return native.hr_work_test(self._handle) != 0

    def wait(self, *, timeout=None, cancel=None):
        """Wait for the end, and raise its failure. A timeout ends the waiting alone."""
        native.hr_work_wait(self._handle, self._timeout if timeout is None else timeout,
                            handle_of(cancel))

    def cancel(self):
        """End the operation with Cancelled; of a receive nothing else, otherwise the group."""
        native.hr_work_cancel(self._handle)

    def on_done(self, function):
        """Call `function(exception or None)` once, on a thread of the library, when it has ended."""
        native.hr_work_on_done(self._handle, function)

    def enqueue(self, queue, key):
        """Put the operation into a Queue when it has ended."""
        native.hr_work_enqueue(self._handle, queue._handle, key)


class _Buffer:
    """An array that an operation reads or writes: contiguous memory, used in place."""

    __slots__ = ("memory", "count", "dtype", "shape", "array")

    def __init__(self, array, dtype=None):
        tensor = array if isinstance(array, Tensor) else Tensor(array)
        is_shared = tensor is array or not isinstance(array, (list, tuple, int, float))
        if not is_shared:
            raise InvalidArgument("expected an array whose memory the operation can use, got "
                                  f"{type(array).__name__}; make one with numpy.array")
        if tensor.strides is not None:
            raise InvalidArgument("expected an array whose elements follow each other, got strides "
                                  f"{tensor.strides}; copy it with numpy.ascontiguousarray")
        self.array = array
        self.memory = native.block_of(tensor._handle)
        self.count, self.dtype, self.shape = tensor.size, tensor.dtype, tensor.shape


def _options(*, name=None, epoch=None, transport=None, address=None, trusted_fabric=None,
             algorithms=None, dump_folder=None, secret=None, calibration=None):
    return settings(name=name, epoch=epoch, transport=transport, address=address,
                    trusted_fabric=trusted_fabric, algorithms=algorithms,
                    dump_folder=None if dump_folder is None else os.fspath(dump_folder),
                    secret=secret, calibration=calibration)


class Group(Closeable):
    """A set of processes that communicate. Each has a rank from 0 to size - 1.

    All ranks create it, and start the same collective operations in the same order. Operations
    work on arrays in place: NumPy's, Tensors, or what has ``__dlpack__``. One thread at a time may
    start operations of a group; `split` gives others a group of their own.

    Parameters
    ----------
    rank, size : int, optional
        Without a size everything comes from the launcher's environment variables.
    store : Store or str
        Where the ranks meet: a store, or its URL.
    name, epoch, transport, address, trusted_fabric, silence, algorithms, dump_folder, secret,
    calibration
        The fields of hr_group_options; `silence` is in seconds.
    timeout : float, optional
        Seconds that calls may take that are given no timeout of their own: 600; infinity for none.
    cancel : Cancel, optional
        Ends the creation.
    env : Env, optional
    """

    __slots__ = ("env", "timeout")

    def __init__(self, rank=None, size=None, store=None, *, timeout=None, silence=None, cancel=None,
                 env=None, **options):
        self._start(native.hr_group_create, rank, size, store, timeout, silence, cancel, env,
                    options)

    @classmethod
    def join(cls, store=None, *, timeout=None, silence=None, cancel=None, env=None, **options):
        """Wait until a group grows, and become one of its ranks."""
        self = cls.__new__(cls)
        self._start(native.hr_group_join, None, None, store, timeout, silence, cancel, env, options)
        return self

    def _start(self, make, rank, size, store, timeout, silence, cancel, env, options):
        self.env = env
        self.timeout = DEFAULT_TIMEOUT if timeout is None else timeout
        is_store = isinstance(store, Store)
        given = settings(rank=rank, size=size, store=store._handle if is_store else None,
                         store_url=None if is_store else store,
                         timeout_nanos=_nanos(self.timeout),
                         silence_nanos=None if silence is None else _nanos(silence),
                         **_options(**options))
        self._handle = make(env_handle(env), given, self.timeout, handle_of(cancel))
        self._adopt()

    def _adopt(self):
        from .env import default_env
        self.env = self.env or default_env()
        _open.add(self)

    @classmethod
    def _of(cls, handle, parent):
        self = cls.__new__(cls)
        self._handle, self.env, self.timeout = handle, parent.env, parent.timeout
        _open.add(self)
        return self

    def _limit(self, timeout):
        return self.timeout if timeout is None else timeout

    # ---- Description ----

    @property
    def rank(self):
        """The rank of this process."""
        return native.hr_group_rank(self._handle)

    @property
    def size(self):
        """The number of ranks."""
        return native.hr_group_size(self._handle)

    @property
    def epoch(self):
        """The epoch of the group."""
        return native.hr_group_epoch(self._handle)

    @property
    def failure(self):
        """Why the group has ended, an Error, the same on all ranks; None while it has not."""
        return native.hr_group_status(self._handle)

    def describe(self):
        """Return members, transports, algorithms and costs as a dict."""
        return json.loads(native.hr_group_describe(self._handle))

    def dump(self):
        """Return the last operations as a dict."""
        return json.loads(native.hr_group_dump(self._handle))

    # ---- Ending and changing ----

    def abort(self, cause):
        """End the group on all ranks with Aborted and a cause."""
        native.hr_group_abort(self._handle, cause)

    def close(self):
        """Leave the group, and its sub-groups. Waits two seconds at most."""
        if not self.closed:
            with contextlib.suppress(FailedPrecondition):  # of a process that was forked from
                native.hr_group_close(self._handle)
            super().close()

    def split(self, color, key=0, *, timeout=None, cancel=None):
        """Return the sub-group of the ranks with the same color; None if it is negative."""
        handle = native.hr_group_split(self._handle, color, key, self._limit(timeout),
                                       handle_of(cancel))
        return None if handle is None else Group._of(handle, self)

    def shrink(self, *, timeout=None, cancel=None):
        """Return the group of those who are left, after this one has ended."""
        return Group._of(native.hr_group_shrink(self._handle, self._limit(timeout),
                                                handle_of(cancel)), self)

    def waiting(self, *, timeout=None, cancel=None):
        """Return how many processes wait in `Group.join`."""
        return native.hr_group_waiting(self._handle, self._limit(timeout), handle_of(cancel))

    def grow(self, size, *, timeout=None, cancel=None):
        """Return a group with new ranks, which call `Group.join`."""
        return Group._of(native.hr_group_grow(self._handle, size, self._limit(timeout),
                                              handle_of(cancel)), self)

    # ---- Operations ----

    def send(self, array, to, tag=0, *, timeout=None, cancel=None):
        """Send an array to a rank."""
        one = _Buffer(array)
        native.hr_send(self._handle, one.memory, one.count, one.dtype, to, tag,
                       self._limit(timeout), handle_of(cancel))

    def recv(self, array, source, tag=0, *, timeout=None, cancel=None):
        """Receive into an array, of the type and size that a rank sends; returns the array."""
        one = _Buffer(array)
        native.hr_recv(self._handle, one.memory, one.count, one.dtype, source, tag,
                       self._limit(timeout), handle_of(cancel))
        return array

    def barrier(self, *, timeout=None, cancel=None):
        """Wait until all ranks have called it."""
        native.hr_barrier(self._handle, self._limit(timeout), handle_of(cancel))

    def broadcast(self, array, root=0, *, timeout=None, cancel=None):
        """Copy the root's array into those of all ranks; returns the array."""
        one = _Buffer(array)
        native.hr_broadcast(self._handle, one.memory if self.rank == root else None, one.memory,
                            one.count, one.dtype, root, self._limit(timeout), handle_of(cancel))
        return array

    def reduce(self, array, op="sum", root=0, out=None, *, timeout=None, cancel=None):
        """Reduce the arrays of all ranks on the root; returns its result, None elsewhere."""
        one = _Buffer(array)
        made = self._made(out, one, one.shape) if self.rank == root else None
        native.hr_reduce(self._handle, one.memory, made and made.memory, one.count, one.dtype,
                         _reduce_op(op), root, self._limit(timeout), handle_of(cancel))
        return made and made.array

    def all_reduce(self, array, op="sum", out=None, *, timeout=None, cancel=None):
        """Reduce the arrays of all ranks, with the same bits on all.

        Parameters
        ----------
        array : array
        op : {"sum", "product", "min", "max", "average"}
        out : array, optional
            Where the result goes; `array` itself if it is not given.
        timeout, cancel
            See `Session.run`. If they end an operation, they end the group, too.

        Returns
        -------
        array
            The result.
        """
        one = _Buffer(array)
        made = one if out is None else _Buffer(out)
        _check_same(made, one.count, one.dtype)
        native.hr_all_reduce(self._handle, one.memory, made.memory, one.count, one.dtype,
                             _reduce_op(op), self._limit(timeout), handle_of(cancel))
        return made.array

    def gather(self, array, root=0, out=None, *, timeout=None, cancel=None):
        """Return all ranks' arrays as one [size, …] on the root, None elsewhere."""
        one = _Buffer(array)
        made = self._made(out, one, (self.size, *one.shape)) if self.rank == root else None
        native.hr_gather(self._handle, one.memory, made and made.memory, one.count, one.dtype, root,
                         self._limit(timeout), handle_of(cancel))
        return made and made.array

    def all_gather(self, array, out=None, *, timeout=None, cancel=None):
        """Return all ranks' arrays as one [size, …] on every rank."""
        one = _Buffer(array)
        made = self._made(out, one, (self.size, *one.shape))
        native.hr_all_gather(self._handle, one.memory, made.memory, one.count, one.dtype,
                             self._limit(timeout), handle_of(cancel))
        return made.array

    def scatter(self, array, out, root=0, *, timeout=None, cancel=None):
        """Copy block `rank` of the root's array [size, …] into `out`; other ranks give None."""
        made = _Buffer(out)
        one = _Buffer(array) if self.rank == root else None
        native.hr_scatter(self._handle, one and one.memory, made.memory, made.count, made.dtype,
                          root, self._limit(timeout), handle_of(cancel))
        return made.array

    def reduce_scatter(self, array, op="sum", out=None, *, timeout=None, cancel=None):
        """Return block `rank` of the reduction of all ranks' arrays [size, …]."""
        one = _Buffer(array)
        made = self._made(out, one, self._block(one))
        native.hr_reduce_scatter(self._handle, one.memory, made.memory, made.count, one.dtype,
                                 _reduce_op(op), self._limit(timeout), handle_of(cancel))
        return made.array

    def all_to_all(self, array, out=None, *, timeout=None, cancel=None):
        """Return [size, …] with block r from rank r, which is its block `rank`."""
        one = _Buffer(array)
        made = self._made(out, one, one.shape)
        native.hr_all_to_all(self._handle, one.memory, made.memory, one.count // self.size,
                             one.dtype, self._limit(timeout), handle_of(cancel))
        return made.array

    def _block(self, one):
        if not one.shape or one.shape[0] != self.size:
            raise InvalidArgument(f"expected an array of {self.size} blocks, one for each rank, "
                                  f"got the shape {one.shape}")
        return one.shape[1:]

    def _made(self, out, like, shape):
        import math
        if out is None:
            return _Buffer(Tensor.empty(shape, like.dtype, self.env).numpy())
        made = _Buffer(out)
        _check_same(made, math.prod(shape), like.dtype)
        return made

    # ---- Operations in flight ----

    def start_send(self, array, to, tag=0):
        """Start a send; return a Work."""
        one = _Buffer(array)
        return Work(native.hr_send_start(self._handle, one.memory, one.count, one.dtype, to, tag),
                    self)

    def start_recv(self, array, source, tag=0):
        """Start a receive into an array; return a Work."""
        one = _Buffer(array)
        return Work(native.hr_recv_start(self._handle, one.memory, one.count, one.dtype, source,
                                         tag), self)

    def start_barrier(self):
        """Start a barrier; return a Work."""
        return Work(native.hr_barrier_start(self._handle), self)

    def start_broadcast(self, array, root=0):
        """Start a broadcast; return a Work."""
        one = _Buffer(array)
        source = one.memory if self.rank == root else None
        return Work(native.hr_broadcast_start(self._handle, source, one.memory, one.count,
                                              one.dtype, root), self)

    def start_reduce(self, array, out=None, op="sum", root=0):
        """Start a reduction into the root's `out`; return a Work."""
        one = _Buffer(array)
        made = None if out is None else _Buffer(out)
        return Work(native.hr_reduce_start(self._handle, one.memory, made and made.memory,
                                           one.count, one.dtype, _reduce_op(op), root), self)

    def start_all_reduce(self, array, op="sum", out=None):
        """Start a reduction into `out`, or into the array itself; return a Work."""
        one = _Buffer(array)
        made = one if out is None else _Buffer(out)
        _check_same(made, one.count, one.dtype)
        return Work(native.hr_all_reduce_start(self._handle, one.memory, made.memory, one.count,
                                               one.dtype, _reduce_op(op)), self)

    def start_gather(self, array, out=None, root=0):
        """Start a gathering into the root's `out` [size, …]; return a Work."""
        one = _Buffer(array)
        made = None if out is None else _Buffer(out)
        return Work(native.hr_gather_start(self._handle, one.memory, made and made.memory,
                                           one.count, one.dtype, root), self)

    def start_all_gather(self, array, out):
        """Start a gathering into `out` [size, …]; return a Work."""
        one, made = _Buffer(array), _Buffer(out)
        return Work(native.hr_all_gather_start(self._handle, one.memory, made.memory, one.count,
                                               one.dtype), self)

    def start_scatter(self, array, out, root=0):
        """Start a scattering of the root's array [size, …] into `out`; return a Work."""
        made = _Buffer(out)
        one = None if array is None else _Buffer(array)
        return Work(native.hr_scatter_start(self._handle, one and one.memory, made.memory,
                                            made.count, made.dtype, root), self)

    def start_reduce_scatter(self, array, out, op="sum"):
        """Start a reduction whose block `rank` goes to `out`; return a Work."""
        one, made = _Buffer(array), _Buffer(out)
        return Work(native.hr_reduce_scatter_start(self._handle, one.memory, made.memory,
                                                   made.count, one.dtype, _reduce_op(op)), self)

    def start_all_to_all(self, array, out):
        """Start an exchange of blocks; return a Work."""
        one, made = _Buffer(array), _Buffer(out)
        return Work(native.hr_all_to_all_start(self._handle, one.memory, made.memory,
                                               one.count // self.size, one.dtype), self)

    # ---- The general form ----

    def run(self, operation, *, timeout=None, cancel=None):
        """Perform an operation that a dict describes, with the fields of hr_operation.

        `input` and `output` are arrays; `kind` and `op` are names or constants.
        """
        native.hr_group_run(self._handle, _operation(operation), self._limit(timeout),
                            handle_of(cancel))

    def start(self, operation):
        """Start an operation that a dict describes, as `run`; return a Work."""
        return Work(native.hr_group_start(self._handle, _operation(operation)), self)

    def explain(self, operation):
        """Return how the group would perform an operation, and what it costs, as a dict."""
        return json.loads(native.hr_group_explain(self._handle, _operation(operation)))

    def __repr__(self):
        if self.closed:
            return "<headrace.Group, closed>"
        return f"<headrace.Group: rank {self.rank} of {self.size}>"


def _nanos(seconds):
    return -1 if seconds == float("inf") else int(seconds * 1e9)


def _reduce_op(op):
    if isinstance(op, int):
        return op
    try:
        return ReduceOp[op.upper()]
    except KeyError:
        raise InvalidArgument(f"there is no reduction '{op}'; there are "
                              f"{', '.join(one.name.lower() for one in ReduceOp)}") from None


def _check_same(made, count, dtype):
    if made.count != count or made.dtype != dtype:
        raise InvalidArgument(f"the result needs {count} elements of {dtype.name.lower()}, got an "
                              f"array of {made.count} elements of {made.dtype.name.lower()}")


def _operation(operation):
    fields = dict(operation)
    kind = fields.get("kind")
    if isinstance(kind, str):
        fields["kind"] = OperationKind[kind.upper()]
    for side in ("input", "output"):
        if fields.get(side) is not None:
            one = _Buffer(fields[side])
            fields[side] = one.memory
            fields.setdefault("count", one.count)
            fields.setdefault("dtype", one.dtype)
    if "op" in fields:
        fields["op"] = _reduce_op(fields["op"])
    if "dtype" in fields:
        fields["dtype"] = dtype_of(fields["dtype"])
    return fields


def read_dump(path):
    """Return the last operations of a group of another process, from its .flight file."""
    return json.loads(native.hr_dump_read(os.fspath(path)))
