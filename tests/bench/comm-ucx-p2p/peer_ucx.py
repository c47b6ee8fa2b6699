"""UCX's own tool: ping-pong of tagged messages, without anything of ours between."""
import os
import socket
import subprocess
import time

from harness.peer import bind, serve

SECONDS = 0.15


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def microseconds(size, count):
    port = str(free_port())
    environment = {**os.environ, "UCX_TLS": "self,sm"}
    server = subprocess.Popen(["ucx_perftest", "-p", port], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              preexec_fn=lambda: bind(1, 2))
    try:
        client = ["ucx_perftest", "127.0.0.1", "-p", port, "-t", "tag_lat", "-s", str(size),
                  "-n", str(count), "-w", "100", "-f"]
        for _ in range(50):  # until the server listens
            time.sleep(0.1)
            done = subprocess.run(client, env=environment, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, preexec_fn=lambda: bind(0, 2))
            if done.returncode == 0:
                # Iterations, typical latency, latency of the last stretch, latency of all, …
                return float(done.stdout.splitlines()[-1].split()[-5])
        raise RuntimeError(done.stdout)
    finally:
        server.kill()
        server.wait()


def run(case, repeats):
    size = int(case.split("-")[1])
    count = max(10, int(SECONDS * 1e6 / microseconds(size, 100)))
    return [microseconds(size, count) for _ in range(repeats)]


serve(run)
