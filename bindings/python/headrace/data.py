"""Data sets: batches from arrays, generators, files, Arrow tables and Parquet."""
import json
import os
from collections.abc import Mapping
from urllib.parse import quote

from . import _native as native
from ._objects import Closeable, handle_of, settings
from .dtypes import dtype_of
from .env import env_handle
from .errors import InvalidArgument
from .tensor import Tensor, as_tensor


class Dataset(Closeable):
    """A source of batches: for each, a tensor for every named field.

    Iterating gives the batches of a pass as dicts. One thread at a time uses a data set.

    Parameters
    ----------
    fields : dict of str to array
        Arrays whose first dimension counts the examples; they are shared, not copied.
    batch : int
        Examples in a batch.
    repeat : int
        Epochs in a pass; -1 for ever.
    shuffle : bool
        A new order in each epoch.
    seed : int
        Of the order.
    drop_remainder : bool
        Leave out a last batch that is smaller.
    prefetch : int
        The number of batches that a thread reads ahead.
    shard : (int, int), optional
        (index, count): the ranks of a group open the same data, each as another shard.
    env : Env, optional
    """

    __slots__ = ("env",)

    def __init__(self, fields, *, batch=32, repeat=1, shuffle=False, seed=0, drop_remainder=False,
                 prefetch=0, shard=None, env=None):
        self.env = env
        options = _options(batch, repeat, shuffle, seed, drop_remainder, prefetch, shard)
        tensors = [as_tensor(one) for one in fields.values()]
        self._handle = native.hr_dataset_from_tensors(
            env_handle(env), list(fields), [one._handle for one in tensors], options)

    @classmethod
    def open(cls, uri, env=None):
        """Open a data set of files, such as "idx:fashion-mnist/train?batch=64&shuffle=1"."""
        self = cls.__new__(cls)
        self.env = env
        self._handle = native.hr_dataset_open(env_handle(env), uri)
        return self

    @classmethod
    def from_generator(cls, make, *, batch=32, repeat=1, examples=None, fields=None,
                       drop_remainder=False, prefetch=0, shard=None, env=None):
        """Make a data set of a function that makes iterators.

        Parameters
        ----------
        make : callable or iterable
            ``make(epoch)`` returns an iterator over the batches of an epoch, each a dict of arrays.
            They may have any number of examples: the data set cuts and joins them. An iterable that
            is no function can be read once, unless ``iter`` begins it anew.
        examples : int, optional
            The number of examples in an epoch; shards need it.
        fields : dict of str to (dtype, shape), optional
            The fields without the first dimension. If it is not given, the first batch tells.
        batch, repeat, drop_remainder, prefetch, shard, env
            See `Dataset`.
        """
        source = _Stream(make, fields)
        described = [(name, int(dtype), [-1, *shape]) for name, (dtype, shape)
                     in source.fields.items()]
        self = cls.__new__(cls)
        self.env = env
        self._handle = native.hr_dataset_from_callbacks(
            env_handle(env), source.next, source.seek if source.can_restart else None,
            examples or 0, described,
            _options(batch, repeat, False, 0, drop_remainder, prefetch, shard))
        return self

    @classmethod
    def from_arrow(cls, table, columns=None, **options):
        """Make a data set of a pyarrow.Table; numbers are used in place where Arrow allows it.

        Parameters
        ----------
        table : pyarrow.Table or pyarrow.RecordBatch
        columns : list of str, optional
            Those that become fields: numbers, booleans, and lists of one length of these.
        **options
            Those of `Dataset`.
        """
        return cls({name: _column(table, name) for name in columns or table.column_names},
                   **options)

    @classmethod
    def from_parquet(cls, path, columns=None, *, shuffle=False, seed=0, **options):
        """Make a data set of a Parquet file, which is read batch by batch.

        With `shuffle` the whole file is read, since any example may come next.

        Parameters
        ----------
        path : path
        columns : list of str, optional
        **options
            Those of `Dataset`.
        """
        parquet = _pyarrow("parquet")
        path = os.fspath(path)
        if shuffle:
            return cls.from_arrow(parquet.read_table(path, columns=columns), columns, shuffle=True,
                                  seed=seed, **options)
        examples = parquet.read_metadata(path).num_rows

        def make(_):
            with parquet.ParquetFile(path) as file:
                for part in file.iter_batches(columns=columns):
                    yield {name: _column(part, name) for name in part.schema.names}
        return cls.from_generator(make, examples=examples, **options)

    # ---- Reading ----

    @property
    def fields(self):
        """The names of the fields."""
        return [native.hr_dataset_field_name(self._handle, index)
                for index in range(native.hr_dataset_field_count(self._handle))]

    @property
    def batches(self):
        """The number of batches in an epoch; None if it is unknown."""
        count = native.hr_dataset_batches(self._handle)
        return None if count < 0 else count

    def next(self, *, timeout=None, cancel=None):
        """Return the next batch, a dict of Tensors; OutOfRange at the end of the pass."""
        fields = self.fields
        tensors = native.hr_dataset_next(self._handle, timeout, handle_of(cancel))
        return {name: Tensor._of(one) for name, one in zip(fields, tensors)}

    def done(self, *, timeout=None, cancel=None):
        """Whether the pass is over."""
        return native.hr_dataset_done(self._handle, timeout, handle_of(cancel)) != 0

    def rewind(self, *, timeout=None, cancel=None):
        """Begin another pass."""
        native.hr_dataset_rewind(self._handle, timeout, handle_of(cancel))

    def rename(self, field, name):
        """Rename a field, so that it is fed to the input of that name."""
        native.hr_dataset_rename(self._handle, field, name)

    def describe(self):
        """Return fields, batches and position as a dict."""
        return json.loads(native.hr_dataset_describe(self._handle))

    @property
    def position(self):
        """Where the data set is, a text for `seek`."""
        return native.hr_dataset_position(self._handle)

    def seek(self, position, *, timeout=None, cancel=None):
        """Go to a position that `position` gave, also of a data set with other batches."""
        native.hr_dataset_seek(self._handle, position, timeout, handle_of(cancel))

    def reshard(self, index, count, *, timeout=None, cancel=None):
        """Go on, from where it is, as shard `index` of `count`."""
        native.hr_dataset_reshard(self._handle, index, count, timeout, handle_of(cancel))

    # ---- Data sets made of this one ----

    def _derived(self, handle):
        made = Dataset.__new__(Dataset)
        made._handle, made.env = handle, self.env
        return made

    def map(self, session, signature, *, timeout=None, cancel=None):
        """Return a data set of what a signature makes of the examples, batch by batch."""
        return self._derived(native.hr_dataset_map(self._handle, session._handle, signature, timeout,
                                                   handle_of(cancel)))

    def filter(self, session, signature, *, timeout=None, cancel=None):
        """Return a data set of the examples for which a signature, of one bool each, gives true."""
        return self._derived(native.hr_dataset_filter(self._handle, session._handle, signature,
                                                      timeout, handle_of(cancel)))

    def cache(self, path=None, *, key=None, timeout=None, cancel=None, **options):
        """Read all examples once, and return a data set of them, in memory or in a file.

        Parameters
        ----------
        path : path, optional
            Of a file that later processes use, too.
        key : str, optional
            What the examples depend on beside files; with another key a file is made anew.
        timeout, cancel
            See `Session.run`.
        **options
            How it is drawn (batch, repeat, shuffle, …, as in `Dataset`); as this one, without any.
        """
        given = settings(path=None if path is None else os.fspath(path), key=key,
                         options=_options(**{**_DEFAULTS, **options}) if options else None)
        return self._derived(native.hr_dataset_cache(self._handle, given, timeout,
                                                     handle_of(cancel)))

    def __iter__(self):
        while not self.done():
            yield self.next()

    def __len__(self):
        if self.batches is None:
            raise TypeError("the number of batches is unknown")
        return self.batches

    def __repr__(self):
        if self.closed:
            return "<headrace.Dataset, closed>"
        return f"<headrace.Dataset: {', '.join(self.fields)}, {self.batches or '?'} batches>"


def _options(batch, repeat, shuffle, seed, drop_remainder, prefetch, shard):
    index, count = shard or (0, 1)
    return settings(batch=batch, repeat=repeat, shuffle=shuffle, seed=seed,
                    drop_remainder=drop_remainder, prefetch=prefetch, shard_index=index,
                    shard_count=count)


_DEFAULTS = {"batch": 32, "repeat": 1, "shuffle": False, "seed": 0, "drop_remainder": False,
             "prefetch": 0, "shard": None}


class _Stream:
    """The functions of a data set over an iterator of batches of any size."""

    def __init__(self, make, fields):
        self._make = make if callable(make) else lambda epoch: iter(make)
        self.can_restart = callable(make) or iter(make) is not iter(make)
        self._batches = iter(self._make(0))
        self._rest = None  # what the next batch begins with: a dict of arrays
        self.fields = fields and {name: (dtype_of(one[0]), tuple(one[1]))
                                  for name, one in fields.items()}
        if self.fields is None:
            self._rest = self._pull()
            if self._rest is None:
                raise InvalidArgument("the generator gave no batch, from which the fields could be "
                                      "known; give `fields`")
            self.fields = {name: (dtype_of(one.dtype), one.shape[1:])
                           for name, one in self._rest.items()}

    def next(self, examples):
        parts, count = [], 0
        while count < examples:
            if self._rest is None:
                self._rest = self._pull()
            if self._rest is None:
                break
            part, count = self._cut(examples - count, count)
            parts.append(part)
        return [Tensor(self._joined(parts, name))._handle for name in self.fields] if parts else None

    def seek(self, epoch, first_example):
        self._batches = iter(self._make(epoch))
        self._rest = None
        while first_example > 0:
            self._rest = self._pull()
            if self._rest is None:
                return
            _, taken = self._cut(first_example, 0)
            first_example -= taken

    def _pull(self):
        """The next batch of the iterator that is not empty, as arrays; None at the end."""
        import numpy
        for batch in self._batches:
            if not isinstance(batch, Mapping):
                raise InvalidArgument("the generator gave a batch of type "
                                      f"{type(batch).__name__}, expected a dict of arrays")
            self._check_names(batch)
            arrays = {name: numpy.asarray(one) for name, one in batch.items()}
            self._check_lengths(arrays)
            if len(next(iter(arrays.values()))) > 0:
                return arrays
        return None

    def _check_names(self, batch):
        if self.fields is not None and set(batch) != set(self.fields):
            raise InvalidArgument(f"the generator gave a batch with the fields {', '.join(batch)}, "
                                  f"expected {', '.join(self.fields)}")

    @staticmethod
    def _check_lengths(arrays):
        lengths = {name: one.shape[0] if one.ndim else None for name, one in arrays.items()}
        if len(set(lengths.values())) != 1 or None in lengths.values():
            raise InvalidArgument("the arrays of a batch need one first dimension, the number of "
                                  f"examples; got {lengths}")

    def _cut(self, most, count):
        """Takes at most `most` examples from the rest."""
        length = len(next(iter(self._rest.values())))
        taken = min(most, length)
        part = {name: one[:taken] for name, one in self._rest.items()}
        self._rest = None if taken == length else {name: one[taken:] for name, one
                                                   in self._rest.items()}
        return part, count + taken

    def _joined(self, parts, name):
        import numpy
        array = parts[0][name] if len(parts) == 1 else numpy.concatenate([one[name] for one
                                                                          in parts])
        dtype, shape = self.fields[name]
        if array.shape[1:] != tuple(shape) or dtype_of(array.dtype) != dtype:
            raise InvalidArgument(f"field '{name}': the generator gave {array.dtype}"
                                  f"{list(array.shape)}, expected {dtype.name.lower()}"
                                  f"[examples, {', '.join(map(str, shape))}]")
        return numpy.ascontiguousarray(array)


def _pyarrow(module):
    import importlib
    try:
        return importlib.import_module(f"pyarrow.{module}")
    except ImportError:
        raise ImportError("this needs the package pyarrow: pip install headrace[arrow]") from None


def _column(table, name):
    """A column of Arrow as a NumPy array."""
    pyarrow = _pyarrow("compute") and __import__("pyarrow")
    column = table.column(name) if name in table.schema.names else None
    if column is None:
        raise InvalidArgument(f"there is no column '{name}'; the columns are "
                              f"{', '.join(table.schema.names)}")
    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pyarrow.ChunkedArray):
            column = pyarrow.concat_arrays(column.chunks)
    if column.null_count:
        raise InvalidArgument(f"column '{name}' has {column.null_count} values that are null; fill "
                              "them, for example with pyarrow.compute.fill_null")
    return _array(column, name, pyarrow)


def _array(column, name, pyarrow):
    kind = column.type
    if pyarrow.types.is_fixed_size_list(kind):
        inner = _array(column.flatten(), name, pyarrow)
        return inner.reshape(len(column), kind.list_size, *inner.shape[1:])
    if isinstance(kind, pyarrow.FixedShapeTensorType):
        return column.to_numpy_ndarray()
    if pyarrow.types.is_boolean(kind):
        return column.to_numpy(zero_copy_only=False)
    if pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind):
        return column.to_numpy(zero_copy_only=True)
    raise InvalidArgument(f"column '{name}' has the type {kind}; a field needs numbers, booleans or "
                          "lists of one length of these")


def open_data(data, *, batch, epochs, shuffle, seed, shard, prefetch, inputs, env):
    """Return (data set, whether it was made here) of whatever `fit` takes.

    A pair of arrays (x, y) goes to the two first of the `inputs`.
    """
    if isinstance(data, Dataset):
        return data, False
    options = {"batch": batch, "repeat": epochs, "shard": shard, "prefetch": prefetch, "env": env}
    if isinstance(data, (str, os.PathLike)):
        return _open_path(os.fspath(data), shuffle, seed, options), True
    if hasattr(data, "column_names"):
        return Dataset.from_arrow(data, shuffle=shuffle, seed=seed, **options), True
    if isinstance(data, Mapping):
        return Dataset(data, shuffle=shuffle, seed=seed, **options), True
    if isinstance(data, (tuple, list)) and len(data) <= len(inputs):
        return Dataset(dict(zip(inputs, data)), shuffle=shuffle, seed=seed, **options), True
    if hasattr(data, "shape") or hasattr(data, "__dlpack__"):
        return Dataset({inputs[0]: data}, shuffle=shuffle, seed=seed, **options), True
    if callable(data) or hasattr(data, "__iter__"):
        return Dataset.from_generator(data, **options), True
    raise InvalidArgument("expected arrays, a dict of arrays, a Dataset, a path, an Arrow table or a "
                          f"generator, got {type(data).__name__}")


def _open_path(path, shuffle, seed, options):
    if path.endswith(".parquet"):
        return Dataset.from_parquet(path, shuffle=shuffle, seed=seed, **options)
    index, count = options["shard"] or (0, 1)
    more = {"batch": options["batch"], "repeat": "forever" if options["repeat"] < 0
            else options["repeat"], "shuffle": int(shuffle), "seed": seed,
            "prefetch": options["prefetch"], "shard": f"{index}/{count}"}
    given = path.partition("?")[2]
    named = {one.partition("=")[0] for one in given.split("&")}
    added = "&".join(f"{key}={quote(str(value), safe='/')}" for key, value in more.items()
                     if key not in named)
    return Dataset.open(f"{path}{'&' if given else '?'}{added}", options["env"])
