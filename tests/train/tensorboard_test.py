"""Reads event files that the C API wrote with TensorBoard's own code.

usage: tensorboard_test.py WRITE_EVENTS    (the program that writes them)
"""
import io
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import numpy as np
from tensorboard.backend.event_processing import event_file_loader, plugin_event_accumulator
from tensorboard.compat.proto import graph_pb2
from tensorboard.plugins.histogram import summary_v2 as histogram_summary
from tensorboard.util import tensor_util


def wave(count, dtype=np.float32):
    return np.sin(0.37 * np.arange(count)).astype(dtype)


def decode_png(data):
    """(height, width, channels) bytes of a PNG without filters, checked chunk by chunk."""
    stream = io.BytesIO(data)
    assert stream.read(8) == b"\x89PNG\r\n\x1a\n"
    chunks = {}
    while header := stream.read(8):
        size, kind = struct.unpack(">I4s", header)
        body = stream.read(size)
        assert struct.unpack(">I", stream.read(4))[0] == zlib.crc32(kind + body)
        chunks[kind] = body
    width, height, depth, color = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    channels = {0: 1, 4: 2, 2: 3, 6: 4}[color]
    assert depth == 8
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8)
    rows = rows.reshape(height, 1 + width * channels)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


class TensorBoardTest(unittest.TestCase):
    program = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([cls.program, cls.folder.name], check=True)
        cls.events = cls.folder.name
        cls.board = plugin_event_accumulator.EventAccumulator(
            cls.events, size_guidance={plugin_event_accumulator.TENSORS: 0})
        cls.board.Reload()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def values(self, tag):
        return [(event.step, tensor_util.make_ndarray(event.tensor_proto))
                for event in self.board.Tensors(tag)]

    def plugin(self, tag):
        return self.board.SummaryMetadata(tag).plugin_data.plugin_name

    def test_file_version_comes_first(self):
        (path,) = pathlib.Path(self.events).iterdir()
        self.assertRegex(path.name, r"^events\.out\.tfevents\.\d{10}\..+")
        first = next(event_file_loader.EventFileLoader(str(path)).Load())
        self.assertEqual(first.file_version, "brain.Event:2")
        self.assertGreater(first.wall_time, 1.5e9)

    def test_scalars(self):
        self.assertEqual(self.plugin("train/loss"), "scalars")
        values = self.values("train/loss")
        self.assertEqual([step for step, _ in values], list(range(100)))
        for step, value in values:
            self.assertTrue(math.isclose(value, 1 / (step + 1), rel_tol=1e-6))
        (first, nan), (last, infinity) = self.values("odd")
        self.assertEqual((first, last), (-3, 2**63 - 1))
        self.assertTrue(math.isnan(nan) and infinity == -math.inf)

    def test_histograms_are_the_ones_tensorboard_makes(self):
        for tag, data in (("weights", wave(1000)), ("weights64", wave(1000, np.float64)),
                          ("single", wave(1)), ("empty", wave(0)), ("counts", np.arange(6)),
                          ("odd values", np.float32([1, 2, 4]))):  # those that are finite
            self.assertEqual(self.plugin(tag), "histograms")
            ((step, ours),) = self.values(tag)
            self.assertEqual(step, 7)
            expected = tensor_util.make_ndarray(
                histogram_summary.histogram_pb(tag, data).value[0].tensor)
            np.testing.assert_allclose(ours[:, :2], expected[:, :2], rtol=1e-12, atol=1e-15)
            np.testing.assert_array_equal(ours[:, 2], expected[:, 2])

    def test_images(self):
        self.assertEqual(self.plugin("inputs"), "images")
        ((step, strings),) = self.values("inputs")
        self.assertEqual(step, 8)
        self.assertEqual(list(strings[:2]), [b"5", b"4"])
        expected = np.arange(120, dtype=np.uint8).reshape(2, 3, 4, 5).transpose(0, 2, 3, 1)
        self.assertEqual(len(strings), 4)
        for png, pixels in zip(strings[2:], expected):
            np.testing.assert_array_equal(decode_png(png), pixels)
        ((_, strings),) = self.values("grey")
        np.testing.assert_array_equal(decode_png(strings[2])[:, :, 0],
                                      np.arange(42, dtype=np.uint8).reshape(6, 7))
        ((_, strings),) = self.values("floats")
        self.assertEqual(list(strings[:2]), [b"16", b"16"])
        clipped = np.minimum(np.arange(2048), 255).astype(np.uint8).reshape(2, 4, 16, 16)
        self.assertEqual(len(strings), 4)  # the first two of five
        for png, pixels in zip(strings[2:], clipped.transpose(0, 2, 3, 1)):
            np.testing.assert_array_equal(decode_png(png), pixels)

    def test_text(self):
        self.assertEqual(self.plugin("notes"), "text")
        ((_, text),) = self.values("notes")
        self.assertEqual(text.item().decode(), "batch **64**, ä")
        ((_, text),) = self.values("nothing")
        self.assertEqual(text.item(), b"")

    def test_graph(self):
        graph = self.board.Graph()
        self.assertIsInstance(graph, graph_pb2.GraphDef)
        self.assertEqual([(node.name, node.op) for node in graph.node],
                         [("images", "Placeholder"), ("layer1/filter", "Const"),
                          ("layer1/conv", "Conv"), ("layer1/relu", "Relu")])
        images, weights, conv, relu = graph.node
        self.assertEqual(list(conv.input), ["images", "layer1/filter"])
        self.assertEqual(list(relu.input), ["layer1/conv"])
        self.assertEqual((conv.device, relu.device), ("CPU:0", ""))
        self.assertEqual(conv.attr["strides"].s, b"[2,1]")
        for node, sizes in ((images, [-1, 1, 28, 28]), (weights, [20, 1, 5, 5]),
                            (conv, [-1, 20, 12, 24]), (relu, [-1, 20, 12, 24])):
            (shape,) = node.attr["_output_shapes"].list.shape
            self.assertEqual([dim.size for dim in shape.dim], sizes)


if __name__ == "__main__":
    TensorBoardTest.program = sys.argv.pop(1)
    unittest.main()
