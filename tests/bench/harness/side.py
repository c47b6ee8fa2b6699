"""One side of a benchmark: a process that measures when asked.

It reads lines "CASE REPEATS" and answers each with a line of JSON: {"values": [number, …]}, or
{"error": "sentence"}. It ends when its input does. All else it prints goes to stderr. Sides of ours
make HEADRACE_BENCH_CALLS calls for a value where the environment says so, and answer with "calls".
Sides of a benchmark that is paired also answer with their "version", and with the "result" of a run,
a list of numbers.
"""
import json
import os
import subprocess


class SideError(Exception):
    pass


class Side:
    def __init__(self, name, command, environment):
        self.name = name
        self.calls = None  # for a value, where the side was told how many
        self.version, self.result = "", None  # of paired benchmarks
        self._process = subprocess.Popen(command, env=environment, text=True, bufsize=1,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def measure(self, case, repeats):
        """`repeats` measurements of `case`."""
        try:
            self._process.stdin.write(f"{case} {repeats}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the answer below says more
        line = self._process.stdout.readline()
        if not line:
            raise SideError(f"{self.name} ended with status {self._process.wait()} in {case}")
        answer = json.loads(line)
        if "error" in answer:
            raise SideError(f"{self.name}: {answer['error']}")
        self.calls = answer.get("calls")
        self.version, self.result = answer.get("version", ""), answer.get("result")
        return answer["values"]

    def cpu_seconds(self):
        """What it has computed so far, on all its threads; 0 if it has ended."""
        try:
            with open(f"/proc/{self._process.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return 0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
