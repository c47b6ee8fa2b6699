"""Gloo through torch.distributed."""
from harness.gloo import serve

if __name__ == "__main__":  # its ranks import this file, too
    serve("all_reduce", 2)
