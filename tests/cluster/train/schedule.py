"""Trainings in which a rank is killed or frozen, drawn by seed, and what has to be true afterwards.

A case starts three ranks of train_rank under `headrace launch`, lets one of them kill (SIGKILL) or
freeze (SIGSTOP) itself in a state of its training, and compares the end with trainings that nothing
has disturbed: all ranks have the same weights, bit for bit; after a restart of all ranks these are
those of the undisturbed training; an elastic training, which goes on with fewer ranks or with new
ones, has a loss within the band of trainings with 1, 2 and 3 ranks. So has one whose ranks divide
the optimizer's state, and which goes on from a checkpoint of another number of ranks.
"""
import dataclasses
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile

RANKS = 3
STEPS = 20  # of three ranks; a checkpoint each 5
STATES = ["meet", "forward", "between", "last", "after", "update", "save", "restore", "join"]
# Microseconds from the state's beginning, within which a state of some length is met.
LONGEST = {"meet": 60000, "last": 3000, "save": 6000, "restore": 15000, "join": 250000}
# Those of ranks that divide the optimizer's state: what is behind the last bucket has no places.
DIVIDED_STATES = ["meet", "forward", "between", "last", "save", "restore", "join"]
SILENCE = 0.5


@dataclasses.dataclass
class Case:
    number: int
    state: str
    mode: str  # "restart", "elastic" or "divided"
    signal: int
    victim: int
    step: int
    delay: int

    def __str__(self):
        name = "killed" if self.signal == signal.SIGKILL else "frozen"
        return (f"{self.number}: {self.mode}, rank {self.victim} {name} in '{self.state}' of step "
                f"{self.step} after {self.delay} us")


def draw(seed, count):
    """Cases in which every state comes equally often, in all modes and with both signals."""
    draws = random.Random(seed)
    states = {"restart": [state for state in STATES if state != "join"], "elastic": STATES,
              "divided": DIVIDED_STATES}
    kinds = [(state, mode, sent) for mode, ones in states.items() for state in ones
             for sent in (signal.SIGKILL, signal.SIGSTOP)
             # That nobody could tell from a slow start.
             if (state, sent) != ("meet", signal.SIGSTOP)]
    cases = []
    while len(cases) < count:
        if len(cases) % len(kinds) == 0:
            draws.shuffle(kinds)
        state, mode, sent = kinds[len(cases) % len(kinds)]
        # The rank that saves is rank 0; what is saved is a step that 5 divides.
        victim = 0 if state == "save" else draws.randrange(RANKS)
        step = 5 * draws.randint(1, 3) if state == "save" else draws.randint(2, STEPS - 4)
        cases.append(Case(len(cases), state, mode, sent, victim, step,
                          draws.randrange(LONGEST.get(state, 1))))
    return cases


@dataclasses.dataclass
class End:
    rank: int
    size: int
    step: int
    epoch: int
    hash: str
    loss: float


class Failed(Exception):
    pass


class Trainings:
    """Runs cases with the programs `tool` (headrace) and `rank` (train_rank)."""

    def __init__(self, tool, rank):
        self.tool, self.rank = tool, rank
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="headrace-faults-"))
        self.undisturbed = self.whole("three", RANKS)
        ends = [self.undisturbed, self.whole("two", 2), self.whole("one", 1)]
        losses = [end.loss for end in ends]
        middle, spread = sum(losses) / len(losses), max(losses) - min(losses)
        self.band = (min(losses) - spread - 0.05 * middle, max(losses) + spread + 0.05 * middle)
        self.base = self.folder / "base"  # stopped after five steps
        self.launch(self.base, ["-n", str(RANKS)], self.words("never", steps=5))

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def words(state, step=0, victim=0, sent=0, delay=0, steps=0, divided=False):
        return [state, *(str(int(word)) for word in (step, victim, sent, delay, steps, divided))]

    def launch(self, folder, options, words, timeout=90, shell=()):
        """Returns the ends that ranks have written, and what was printed. `shell` is what starts
        the program, if it is not the launcher itself."""
        folder.mkdir(exist_ok=True)
        process = subprocess.Popen(
            [self.tool, "launch", *options, "--", *shell, self.rank, str(folder), *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            said, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()  # its ranks end with it
            said, _ = process.communicate()
            raise Failed(f"still runs after {timeout} s:\n{said}") from None
        if process.returncode != 0:
            raise Failed(f"exit status {process.returncode}:\n{said}")
        lines = (folder / "ends").read_text().splitlines()
        ends = [End(*map(int, line.split()[:4]), line.split()[4], float(line.split()[5]))
                for line in lines]
        if len({end.hash for end in ends}) != 1:
            raise Failed(f"ranks end with other weights: {ends}\n{said}")
        return ends, said

    def whole(self, name, ranks):
        return self.launch(self.folder / name, ["-n", str(ranks)], self.words("never"))[0][0]

    def run(self, case):
        """Raises Failed if something is not as it has to be. Returns the seconds from the fault to
        the first step that is made without the rank, or with one in its place; None if there was
        none, or the state was never met."""
        folder = self.folder / str(case.number)
        if case.state == "restore":
            folder.mkdir()
            shutil.copytree(self.base / "checkpoints", folder / "checkpoints")
        options = (["-n", str(RANKS), "--max-restarts", "2", "--patience", "1"]
                   if case.mode == "restart" else
                   ["--elastic", f"1:{RANKS}", "--max-restarts", "2"])
        words = self.words(case.state, case.step, case.victim, case.signal, case.delay,
                           divided=case.mode == "divided")
        ends, said = self.launch(folder, options, words)
        self.judge(case, ends, said)
        seconds = self.seconds(folder)
        shutil.rmtree(folder)
        return seconds

    def judge(self, case, ends, said):
        if any(end.epoch != 2 for end in ends):
            raise Failed(f"not all epochs were made: {ends}\n{said}")
        if case.mode == "restart":
            if ends[0].hash != self.undisturbed.hash:
                raise Failed(f"other weights than without a fault: {ends[0]}, expected "
                             f"{self.undisturbed}\n{said}")
        elif not self.band[0] <= ends[0].loss <= self.band[1]:
            raise Failed(f"the loss {ends[0].loss} is outside of {self.band}\n{said}")

    @staticmethod
    def seconds(folder):
        fault, after = folder / "fault", folder / "next"
        if not (fault.exists() and after.exists()):
            return None
        return float(after.read_text().split()[0]) - float(fault.read_text().split()[0])
