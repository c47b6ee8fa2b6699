"""A training step of the MLP in PyTorch between hosts: DistributedDataParallel over Gloo; -off: the
gradients are averaged after the backward pass, with the same bucket sizes."""
import os
import pathlib
import time

import mlp

WARM, STEPS = 2, 4


class Rank:
    def __init__(self, rank, size):
        from harness.peer import SCRATCH, bind
        import torch
        import torch.distributed
        bind(rank, size)
        torch.set_num_threads(1)
        os.environ["GLOO_SOCKET_IFNAME"] = "line"
        meeting = pathlib.Path(SCRATCH) / f"overlap-{os.getppid()}"
        torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank,
                                             world_size=size)
        self.torch, self.size, self.built = torch, size, None

    def _build(self, megabytes):
        if self.built == megabytes:
            return
        torch, nn = self.torch, self.torch.nn
        torch.manual_seed(1)
        width, layers, inputs = mlp.WIDTHS[megabytes], [], mlp.INPUTS
        for _ in range(mlp.HIDDEN + 1):
            layers += [nn.Linear(inputs, width), nn.ReLU()]
            inputs = width
        self.model = nn.Sequential(*layers, nn.Linear(width, mlp.CLASSES))
        self.parallel = nn.parallel.DistributedDataParallel(
            self.model, bucket_cap_mb=mlp.BUCKET / 2**20, gradient_as_bucket_view=True)
        self.sgd = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        self.x = torch.rand(mlp.BATCH, mlp.INPUTS)
        self.labels = torch.arange(mlp.BATCH) % mlp.CLASSES
        self.built = megabytes

    def _loss(self, model):
        return self.torch.nn.functional.cross_entropy(model(self.x), self.labels)

    def _step(self, model):
        self.sgd.zero_grad()
        self._loss(model).backward()
        self.sgd.step()

    def _forward(self):
        with self.torch.no_grad():
            self._loss(self.model)

    def _step_off(self):
        with self.parallel.no_sync():
            self.sgd.zero_grad()
            self._loss(self.parallel).backward()
        works = [self.torch.distributed.all_reduce(p.grad, async_op=True)
                 for p in self.model.parameters()]
        for work in works:
            work.wait()
        for p in self.model.parameters():
            p.grad /= self.size
        self.sgd.step()

    def _seconds(self, step):
        for _ in range(WARM):
            step()
        self.torch.distributed.barrier()
        begin = time.perf_counter()
        for _ in range(STEPS):
            step()
        seconds = self.torch.tensor([(time.perf_counter() - begin) / STEPS])
        self.torch.distributed.all_reduce(seconds, self.torch.distributed.ReduceOp.MAX)
        return seconds.item()

    def __call__(self, megabytes, overlap):
        """Seconds of a step, and what it takes at least."""
        self._build(megabytes)
        forward = self._seconds(self._forward)
        alone = self._seconds(lambda: self._step(self.model))
        together = self._seconds((lambda: self._step(self.parallel)) if overlap else self._step_off)
        return together, mlp.least(mlp.WIDTHS[megabytes], self.size, forward, alone - forward)


def measure_in_process(pipe, size):
    """Serves one number of ranks."""
    from harness.hosts import Hosts
    hosts = Hosts(size, Rank)
    pipe.send(None)
    while True:
        try:
            pipe.send(hosts.ask(*pipe.recv())[0])
        except EOFError:
            os._exit(0)
        except Exception as error:
            pipe.send(error)


def main():
    import multiprocessing
    from harness.peer import serve
    context = multiprocessing.get_context("spawn")
    of_size = {}

    def ask(size, *order):
        if size not in of_size:
            ours, theirs = context.Pipe()
            context.Process(target=measure_in_process, args=(theirs, size)).start()
            of_size[size] = ours
            ours.recv()
        of_size[size].send(order)
        answer = of_size[size].recv()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def run(case, repeats):
        ranks, size_of_model, *rest = case.split("-")
        size, megabytes = int(ranks.removeprefix("n")), int(size_of_model.removesuffix("MB"))
        values = [ask(size, megabytes, "off" not in rest) for _ in range(repeats)]
        return [1e3 * step if "ms" in rest else step / least for step, least in values]

    serve(run)


if __name__ == "__main__":
    main()
