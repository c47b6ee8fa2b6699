// The floor of what goes over TCP: two processes that send and receive the same bytes at the same
// time over one loopback connection, with nothing but read and write; microseconds. Up to 4 KiB
// back and forth (one way), as latency.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "side.h"

enum { kLatencyBytes = 4096, kPiece = 1 << 20 };
static const double kSeconds = 0.15;
static int peer = -1;
static char *out, *in;
static int64_t room;

// Moves `bytes` each way. Never sleeps.
static const char* Exchange(int64_t bytes) {
  int64_t sent = 0, got = 0;
  while (sent < bytes || got < bytes) {
    int64_t piece = bytes - sent < kPiece ? bytes - sent : kPiece;
    ssize_t count = piece == 0 ? 0 : write(peer, out + sent, (size_t)piece);
    if (count > 0) sent += count;
    count = got == bytes ? 0 : read(peer, in + got, (size_t)(bytes - got));
    if (count > 0) got += count;
    if (count < 0 && errno != EAGAIN) return "the exchange broke";
  }
  return NULL;
}

static void Move(int64_t bytes, int sends) {
  for (int64_t moved = 0; moved < bytes;) {
    ssize_t count = sends ? write(peer, out + moved, (size_t)(bytes - moved))
                          : read(peer, in + moved, (size_t)(bytes - moved));
    if (count > 0) moved += count;
  }
}

static const char* One(int64_t bytes, int first) {
  if (bytes > kLatencyBytes) return Exchange(bytes);
  Move(bytes, first);
  Move(bytes, !first);
  return NULL;
}

static const char* Follow(const int64_t* request, int first, double* seconds) {
  if (request[0] > room) {
    room = request[0];
    out = realloc(out, (size_t)room);
    in = realloc(in, (size_t)room);
    memset(out, 1, (size_t)room);
    memset(in, 1, (size_t)room);
  }
  BENCH_DO(One(request[0], first));
  double begin = bench_now();
  for (int64_t i = 0; i < request[1]; ++i) BENCH_DO(One(request[0], first));
  *seconds = (bench_now() - begin) / (double)request[1];
  if (request[0] <= kLatencyBytes) *seconds /= 2;
  return NULL;
}

static void SetBlocking(int blocking) {
  int flags = fcntl(peer, F_GETFL);
  fcntl(peer, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

static const char* Ask(int64_t bytes, int64_t count, double* seconds) {
  int64_t request[2] = {bytes, count};
  if (write(peer, request, sizeof request) != sizeof request) return "the peer is gone";
  SetBlocking(0);
  const char* error = Follow(request, 1, seconds);
  SetBlocking(1);
  return error;
}

static const char* Run(const char* name, int repeats, double* values) {
  int64_t bytes = bench_case_number(name);
  double seconds;
  if (bytes < 1) return "expected WORD-BYTES";
  BENCH_DO(Ask(bytes, 3, &seconds));
  int64_t count = seconds * 3 > kSeconds ? 3 : (int64_t)(kSeconds / seconds);
  BENCH_DO(Ask(bytes, count, &seconds));  // as ranks.c
  for (int i = 0; i < repeats; ++i) {
    BENCH_DO(Ask(bytes, count, &seconds));
    values[i] = seconds * 1e6;
  }
  return NULL;
}

static int Obey(const struct sockaddr_in* address) {
  int64_t request[2];
  double seconds;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  bench_bind(1, 2);
  peer = socket(AF_INET, SOCK_STREAM, 0);
  int one = 1;
  setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(peer, (const struct sockaddr*)address, sizeof *address) != 0) _exit(1);
  while (recv(peer, request, sizeof request, MSG_WAITALL) == sizeof request) {
    SetBlocking(0);
    if (Follow(request, 0, &seconds) != NULL) _exit(1);
    SetBlocking(1);
  }
  _exit(0);
}

int main(void) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t size = sizeof address;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr*)&address, size) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, (struct sockaddr*)&address, &size) != 0) {
    return 1;
  }
  if (fork() == 0) return Obey(&address);
  bench_bind(0, 2);
  peer = accept(listener, NULL, NULL);
  int one = 1;
  setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return bench_serve(Run);
}
