"""Reads our checkpoints with Python's safetensors.

usage: safetensors_test.py WRITE_CHECKPOINT    (the program that writes one)
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from safetensors.numpy import load_file


class SafetensorsTest(unittest.TestCase):
    program = None

    def test_shards_are_safetensors_and_the_manifest_is_json(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([self.program, folder], check=True)
            directory = pathlib.Path(folder) / "checkpoints"
            latest = directory / (directory / "latest").read_text().strip()
            manifest = json.loads((latest / "manifest.json").read_text())
            self.assertEqual(manifest["step"], 123)
            self.assertEqual(manifest["metadata"], {"seed": "7"})
            self.assertEqual(len(manifest["shards"]), 2)
            tensors = {}
            for shard in manifest["shards"]:
                path = latest / shard["file"]
                self.assertEqual(path.stat().st_size, shard["bytes"])
                tensors.update(load_file(path))
        self.assertEqual(sorted(tensors), ["conv1.weight", "empty", "rämp"])
        wave = np.sin(0.37 * np.arange(12)).astype(np.float32).reshape(3, 4)
        np.testing.assert_allclose(tensors["conv1.weight"], wave, rtol=1e-6)
        np.testing.assert_array_equal(tensors["rämp"], np.arange(5, dtype=np.uint8))
        self.assertEqual(tensors["empty"].shape, (0, 2))


if __name__ == "__main__":
    SafetensorsTest.program = sys.argv.pop(1)
    unittest.main()
