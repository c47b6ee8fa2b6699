"""Gloo, through torch.distributed, as a peer. The other ranks sleep until they are told."""
import multiprocessing
import os
import pathlib
import time

from .peer import SCRATCH, bind, serve as answer

SECONDS = 0.15
WARM_UP = 3


def join(rank, ranks):
    import torch
    import torch.distributed
    bind(rank, ranks)
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    meeting = pathlib.Path(SCRATCH) / f"gloo-{os.getppid() if rank else os.getpid()}"
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank,
                                         world_size=ranks)
    return torch


def follow(torch, rank, operation, size, count):
    """Seconds of one operation."""
    data = torch.zeros(size // 4, dtype=torch.float32) if size >= 4 else None
    torch.distributed.barrier()
    begin = time.perf_counter()
    for _ in range(count):
        if operation == "all_reduce":
            torch.distributed.all_reduce(data)
            continue
        for turn in range(2):
            if turn == rank:
                torch.distributed.send(data, 1 - rank)
            else:
                torch.distributed.recv(data, 1 - rank)
    return (time.perf_counter() - begin) / count


def obey(rank, ranks, operation, requests):
    torch = join(rank, ranks)
    while True:
        try:
            size, count = requests.recv()
        except EOFError:
            os._exit(0)  # the first rank is gone
        follow(torch, rank, operation, size, count)


def serve(operation, ranks):
    context = multiprocessing.get_context("spawn")
    ends = []
    for rank in range(1, ranks):
        reads, writes = context.Pipe(duplex=False)
        context.Process(target=obey, args=(rank, ranks, operation, reads), daemon=True).start()
        ends.append(writes)
    torch = join(0, ranks)

    def ask(size, count):
        for end in ends:
            end.send((size, count))
        return follow(torch, 0, operation, size, count)

    def run(case, repeats):
        size = int(case.rpartition("-")[2])
        seconds = ask(size, WARM_UP)
        count = max(3, int(SECONDS / seconds))
        seconds = ask(size, min(count, 100))
        count = max(3, int(SECONDS / seconds))
        ask(size, count)  # as tests/bench/comm/ranks.c
        return [1e6 * ask(size, count) / (1 if operation == "all_reduce" else 2)
                for _ in range(repeats)]

    answer(run)
