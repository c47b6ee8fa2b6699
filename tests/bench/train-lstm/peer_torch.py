"""Milliseconds of one training step of the LSTM network in PyTorch, with its fused Adam."""
import torch

from harness.peer import THREADS, calls_for, seconds_each, serve

torch.set_num_threads(THREADS)
nn = torch.nn
STEPS, INPUTS, UNITS, CLASSES = 64, 128, 256, 10


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(INPUTS, UNITS, 2)
        self.fc = nn.Linear(UNITS, CLASSES)

    def forward(self, x):
        return self.fc(self.lstm(x)[0][-1])


def train_step(batch):
    """A function that makes one step."""
    model = Network()
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    loss_of, x = nn.CrossEntropyLoss(), torch.rand(STEPS, batch, INPUTS)
    labels = torch.arange(batch) % CLASSES

    def step():
        adam.zero_grad(set_to_none=True)
        loss_of(model(x), labels).backward()
        adam.step()

    return step


steps = {}


def run(case, repeats):
    if case not in steps:
        step = train_step(int(case.removeprefix("batch-")))
        steps[case] = step, calls_for(step, 0.5)
    return [1e3 * seconds for seconds in seconds_each(*steps[case], repeats)]


if __name__ == "__main__":
    serve(run)
