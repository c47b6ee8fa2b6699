"""Processes of a peer in network namespaces that links of 1 Gbit/s join, as comm/hosts.c makes them.
Needs root, and iproute2. The namespaces have no names, so they are gone with their processes."""
import ctypes
import multiprocessing
import os
import subprocess

CLONE_NEWNET = 0x40000000


def shell(*commands):
    for command in commands:
        done = subprocess.run(command.split(), stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"this failed: {command}: {done.stderr.strip()}")


def leave_network():
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "may not make network namespaces; run it as root")


def live(pipe, rank, size, make):
    """A rank's life: make(rank, size) gives what answers to orders."""
    leave_network()
    pipe.send(None)
    pipe.recv()
    shell("ip link set dev lo up", f"ip address add 10.77.0.{rank + 1}/24 dev line",
          "ip link set dev line up", "tc qdisc add dev line root tbf rate 1gbit burst 128kb latency 10ms")
    answer = make(rank, size)
    pipe.send(None)
    while True:
        try:
            order = pipe.recv()
        except EOFError:
            os._exit(0)
        try:
            pipe.send(answer(*order))
        except Exception as error:  # the first process shows it
            pipe.send(error)


class Hosts:
    """`size` processes on as many hosts, in a process that has no other business."""

    def __init__(self, size, make):
        leave_network()
        shell("ip link add dev bridge type bridge", "ip link set dev bridge up")
        context = multiprocessing.get_context("spawn")
        self._pipes = []
        for rank in range(size):
            ours, theirs = context.Pipe()
            process = context.Process(target=live, args=(theirs, rank, size, make), daemon=True)
            process.start()
            ours.recv()
            shell(f"ip link add dev r{rank} type veth peer name line netns {process.pid}",
                  f"ip link set dev r{rank} master bridge up")
            self._pipes.append(ours)
        self.ask(None)

    def ask(self, *order):
        """The answers of all ranks."""
        for pipe in self._pipes:
            pipe.send(order)
        answers = [pipe.recv() for pipe in self._pipes]
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers
