"""Images a second of two processes that train LeNet in PyTorch: DistributedDataParallel over Gloo, or
each its own model."""
import multiprocessing
import os
import time

SECONDS = 1.5
BATCH = 64
RANKS = 2


class Rank:
    """One process, with both trainings."""

    def __init__(self, rank):
        from harness.gloo import join
        self.torch = join(rank, RANKS)
        from models import lenet_torch
        self.torch.set_num_threads(1)
        self.torch.manual_seed(1)
        images, labels = lenet_torch.data("train")
        self.images, self.labels = lenet_torch.pixels(images[:4096]), labels[:4096]
        self.position = 0
        self.steps = {}
        for case in ("apart", "together"):
            model = lenet_torch.network()
            sgd = lenet_torch.optimizer(model)
            if case == "together":
                model = self.torch.nn.parallel.DistributedDataParallel(model)
            self.steps[case] = lenet_torch.train_step(model, sgd)

    def follow(self, case, count):
        """Seconds of a step, the slowest rank's."""
        self.torch.distributed.barrier()
        begin = time.perf_counter()
        for _ in range(count):
            at = self.position
            self.steps[case](self.images[at:at + BATCH], self.labels[at:at + BATCH])
            self.position = (at + BATCH) % len(self.images)
        seconds = self.torch.tensor([(time.perf_counter() - begin) / count])
        self.torch.distributed.all_reduce(seconds, self.torch.distributed.ReduceOp.MAX)
        return seconds.item()


def obey(rank, requests):
    follower = Rank(rank)
    while True:
        try:
            follower.follow(*requests.recv())
        except EOFError:
            os._exit(0)  # the first rank is gone


def main():
    from harness.peer import serve
    context = multiprocessing.get_context("spawn")
    reads, writes = context.Pipe(duplex=False)
    context.Process(target=obey, args=(1, reads), daemon=True).start()
    first = Rank(0)

    def ask(case, count):
        writes.send((case, count))
        return first.follow(case, count)

    def run(case, repeats):
        count = 1 + int(SECONDS / ask(case, 20))
        return [RANKS * BATCH / ask(case, count) for _ in range(repeats)]

    serve(run)


if __name__ == "__main__":
    main()
