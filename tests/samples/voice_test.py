"""samples/voice gives what ONNX Runtime gives for the same detector, step after step.

usage: voice_test.py VOICE HEADRACE
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import wave

import real_model

import numpy

PROGRAM, TOOL = sys.argv[1:3]
NETWORK = real_model.package("silero-vad", "6.2.3") / "silero_vad/data/silero_vad.onnx"
RATE, CHUNK, CONTEXT = 16000, 512, 64


def sound(seconds):
    """A voice-like sound between pauses: harmonics of a pitch that moves, and some noise."""
    rng = numpy.random.default_rng(11)
    t = numpy.arange(int(seconds * RATE)) / RATE
    pitch = 120 + 30 * numpy.sin(2 * numpy.pi * 0.8 * t)
    phase = 2 * numpy.pi * numpy.cumsum(pitch) / RATE
    voice = sum(numpy.sin(k * phase) / k for k in range(1, 20)) * (numpy.sin(7 * t) > 0)
    return numpy.clip(0.15 * voice + 0.01 * rng.normal(size=t.size), -1, 1)


def write_wav(path, samples, rate=RATE):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((samples * 32767).astype("<i2").tobytes())


def chances(path):
    with wave.open(str(path)) as file:
        raw = numpy.frombuffer(file.readframes(file.getnframes()), "<i2")
    samples = (raw / 32768).astype(numpy.float32)
    samples = numpy.pad(samples, (0, -samples.size % CHUNK))
    peer, out = real_model.session(NETWORK), []
    state, context = numpy.zeros((2, 1, 128), numpy.float32), numpy.zeros(CONTEXT, numpy.float32)
    for chunk in samples.reshape(-1, CHUNK):
        fed = numpy.concatenate([context, chunk])[None]
        chance, state = peer.run(None, {"input": fed, "state": state, "sr": numpy.array(RATE, numpy.int64)})
        out.append(float(chance[0, 0]))
        context = chunk[-CONTEXT:]
    return out


class Voice(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.model = real_model.convert(TOOL, NETWORK, self.folder / "silero.hrg")

    def run_sample(self, *arguments):
        return subprocess.run([PROGRAM, "--model", self.model, *arguments], capture_output=True,
                              text=True)

    def test_agrees_with_onnx_runtime(self):
        path = self.folder / "sound.wav"
        write_wav(path, sound(4))
        done = self.run_sample("--json", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        got = json.loads(done.stdout)["chances"]
        numpy.testing.assert_allclose(got, chances(path), rtol=0, atol=1e-4)

    def test_other_rates_are_resampled(self):
        path = self.folder / "fast.wav"
        slow = sound(2)
        write_wav(path, numpy.interp(numpy.arange(slow.size * 3) / 3, numpy.arange(slow.size), slow),
                  3 * RATE)
        write_wav(self.folder / "slow.wav", slow)
        fast, slow = (json.loads(self.run_sample("--json", self.folder / name).stdout)["chances"]
                      for name in ("fast.wav", "slow.wav"))
        self.assertEqual(len(fast), len(slow))
        self.assertGreater(numpy.corrcoef(fast, slow)[0, 1], 0.9)

    def test_what_is_wrong_is_named(self):
        (self.folder / "text.wav").write_text("no sound at all")
        cut = self.folder / "cut.wav"
        write_wav(cut, sound(1))
        cut.write_bytes(cut.read_bytes()[:30])
        for path, words in [("/no/such.wav", "cannot read"), (self.folder / "text.wav", "no WAV"),
                            (cut, "ends before")]:
            done = self.run_sample(path)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
