"""The encoder of the benchmarks in PyTorch."""
import torch

from harness.peer import THREADS

torch.set_num_threads(THREADS)
nn = torch.nn
LAYERS, SIZE, HEADS, INNER, WORDS, CLASSES = 6, 384, 12, 1536, 1024, 10


class Encoder(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.words = nn.Embedding(WORDS, SIZE)
        self.positions = nn.Parameter(torch.rand(length, SIZE))
        self.norm = nn.LayerNorm(SIZE)
        layer = nn.TransformerEncoderLayer(SIZE, HEADS, INNER, dropout=0.0, activation="gelu",
                                           batch_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(SIZE, CLASSES)

    def forward(self, tokens):
        x = self.norm(self.words(tokens) + self.positions)
        return self.head(self.layers(x).mean(1))


def tokens(batch, length):
    return torch.arange(batch * length).reshape(batch, length) * 37 % WORDS


def train_step(batch, length, fused):
    """A function that makes one step."""
    model = Encoder(length)
    adamw = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=fused)
    loss_of, x, labels = nn.CrossEntropyLoss(), tokens(batch, length), torch.arange(batch) % CLASSES

    def step():
        adamw.zero_grad(set_to_none=True)
        loss_of(model(x), labels).backward()
        adamw.step()

    return step


def inference(batch, length):
    """A function that computes the scores."""
    model, x = Encoder(length).eval(), tokens(batch, length)

    def run():
        with torch.inference_mode():
            model(x)

    return run
