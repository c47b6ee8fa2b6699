"""What people look at: event files of TensorBoard, and progress bars."""
import atexit
import contextlib
import os
import weakref

from . import _native as native
from ._objects import Closeable
from .tensor import as_tensor

_open: weakref.WeakSet[Closeable] = weakref.WeakSet()


@atexit.register
def _close_all():
    for one in list(_open):
        with contextlib.suppress(Exception):  # in a process that was forked it is the parent's
            one.close()


class Summary(Closeable):
    """An event file that ``tensorboard --logdir FOLDER`` shows. Thread-safe.

    Parameters
    ----------
    folder : path
        Gets a new file; is created if it is missing.
    """

    __slots__ = ()

    def __init__(self, folder):
        self._handle = native.hr_summary_open(os.fspath(folder))
        _open.add(self)

    def scalar(self, tag, step, value):
        """Add a number."""
        native.hr_summary_scalar(self._handle, tag, step, value)

    def histogram(self, tag, step, values):
        """Add a histogram of the elements of an array."""
        native.hr_summary_histogram(self._handle, tag, step, as_tensor(values)._handle)

    def images(self, tag, step, images, most=8):
        """Add the first `most` of the images [N, C, H, W], of uint8 or in [0, 1]."""
        native.hr_summary_images(self._handle, tag, step, as_tensor(images)._handle, most)

    def text(self, tag, step, text):
        """Add a text in Markdown."""
        native.hr_summary_text(self._handle, tag, step, text)

    def graph(self, model):
        """Add the main graph of a model."""
        native.hr_summary_graph(self._handle, model._handle)

    def flush(self):
        """Write what has been added to the file."""
        native.hr_summary_flush(self._handle)


class Progress(Closeable):
    """A bar on standard error if that is a terminal, plain lines otherwise.

    Parameters
    ----------
    label : str, optional
    items : str
        What the steps handle.
    done, total : int
        Steps; a total of None is unknown.
    """

    __slots__ = ()

    def __init__(self, label=None, items="examples", done=0, total=None):
        self._handle = native.hr_progress_create(label, items, done, -1 if total is None else total)

    def update(self, done, items=0, metric_name=None, metric=0.0):
        """Show that `done` steps are done, of which the last handled `items` items."""
        native.hr_progress_update(self._handle, done, items, metric_name, metric)

    def message(self, text):
        """Write a line of its own above the bar."""
        native.hr_progress_message(self._handle, text)
