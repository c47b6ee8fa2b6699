#define _GNU_SOURCE
#include "hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// What a rank answers to every order: a value, or what failed.
typedef struct Answer {
  double value;
  char error[512];
} Answer;

typedef struct Rank {
  pid_t process;
  int line;  // to give it orders, a byte each
} Rank;

static Rank ranks[HOSTS_MAX];
static int rank_count, ranks_each = 1;
static int bridged, generation;  // the kernel takes its time to forget a link

static int FirstOf(int rank) { return rank - rank % ranks_each; }

void hosts_address(int rank, char* out, size_t room) {
  snprintf(out, room, "10.77.0.%d", FirstOf(rank) + 1);
}

__attribute__((format(printf, 1, 2))) static const char* Shell(const char* format, ...) {
  static char error[512];
  char command[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(command, sizeof command, format, arguments);
  va_end(arguments);
  if (system(command) == 0) return NULL;
  snprintf(error, sizeof error,
           "this failed: %s; is iproute2 installed, and are the kernel's "
           "bridge, veth and sch_tbf there?",
           command);
  return error;
}

static const char* LeaveNetwork(void) {
  if (unshare(CLONE_NEWNET) == 0) return NULL;
  return errno == EPERM ? "may not make network namespaces; run it as root" : strerror(errno);
}

// The first rank of a host makes its namespace.
static const char* EnterNetwork(int rank) {
  char path[64];
  if (FirstOf(rank) == rank) return LeaveNetwork();
  snprintf(path, sizeof path, "/proc/%d/ns/net", (int)ranks[FirstOf(rank)].process);
  int network = open(path, O_RDONLY | O_CLOEXEC);
  return network >= 0 && setns(network, CLONE_NEWNET) == 0 ? NULL : strerror(errno);
}

// In the host's namespace. The shaper counts frames with their Ethernet header, and of what the
// kernel leaves to be cut by the device (GSO) every frame's headers, so nothing need be switched
// off; but its bucket must hold a packet that is not yet cut, of 64 KiB.
static const char* Shape(int rank) {
  char address[32];
  hosts_address(rank, address, sizeof address);
  BENCH_DO(
      Shell("ip link set dev lo up && ip address add %s/24 dev line && "
            "ip link set dev line up",
            address));
  return Shell("tc qdisc add dev line root tbf rate 1gbit burst 128kb latency 10ms");
}

static void Tell(int line, const char* error, double value) {
  Answer answer = {.value = value};
  if (error != NULL) snprintf(answer.error, sizeof answer.error, "%s", error);
  if (write(line, &answer, sizeof answer) != sizeof answer || error != NULL) _exit(1);
}

// A rank's life.
static void Live(int line, int rank, int size, hosts_join* join, hosts_step* step) {
  double value = 0;
  char order;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Tell(line, EnterNetwork(rank), 0);
  if (read(line, &order, 1) == 1) Tell(line, FirstOf(rank) == rank ? Shape(rank) : NULL, 0);
  if (read(line, &order, 1) == 1) Tell(line, join(rank, size), 0);
  while (read(line, &order, 1) == 1) {
    const char* error = step(&value);
    Tell(line, error, value);
  }
  _exit(0);
}

static const char* Hear(const Rank* rank, double* value) {
  static Answer answer;
  if (read(rank->line, &answer, sizeof answer) != sizeof answer) return "a rank ended";
  *value = answer.value;
  return answer.error[0] == '\0' ? NULL : answer.error;
}

static const char* Order(int count) {
  for (int i = 0; i < count; ++i) {
    if (write(ranks[i].line, "", 1) != 1) return "a rank ended";
  }
  return NULL;
}

static const char* HearAll(double* largest) {
  for (int i = 0; i < rank_count; ++i) {
    double value;
    BENCH_DO(Hear(&ranks[i], &value));
    if (value > *largest) *largest = value;
  }
  return NULL;
}

void hosts_stop(void) {
  for (int i = 0; i < rank_count; ++i) {
    kill(ranks[i].process, SIGKILL);
    close(ranks[i].line);
    waitpid(ranks[i].process, NULL, 0);
  }
  rank_count = 0;
}

static const char* StartOne(int rank, int size, hosts_join* join, hosts_step* step) {
  int line[2];
  double unused;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0) return strerror(errno);
  pid_t process = fork();
  if (process == 0) {
    close(line[0]);
    Live(line[1], rank, size, join, step);
  }
  close(line[1]);
  ranks[rank] = (Rank){process, line[0]};
  rank_count = rank + 1;
  BENCH_DO(Hear(&ranks[rank], &unused));
  if (FirstOf(rank) != rank) return NULL;
  return Shell(
      "ip link add dev g%dr%d type veth peer name line netns %d && "
      "ip link set dev g%dr%d master bridge up",
      generation, rank, (int)process, generation, rank);
}

static const char* StartAll(int size, hosts_join* join, hosts_step* step) {
  double unused = 0;
  if (!bridged) {
    BENCH_DO(LeaveNetwork());
    BENCH_DO(Shell("ip link add dev bridge type bridge && ip link set dev bridge up"));
    bridged = 1;
  }
  for (int rank = 0; rank < size; ++rank) BENCH_DO(StartOne(rank, size, join, step));
  for (int order = 0; order < 2; ++order) {  // to shape the network, and to join
    BENCH_DO(Order(size));
    BENCH_DO(HearAll(&unused));
  }
  return NULL;
}

const char* hosts_start(int size, int each, hosts_join* join, hosts_step* step) {
  if (rank_count == size && ranks_each == each) return NULL;
  hosts_stop();
  ranks_each = each;
  ++generation;
  const char* error = StartAll(size, join, step);
  if (error != NULL) hosts_stop();
  return error;
}

const char* hosts_begin(void) { return Order(rank_count); }

const char* hosts_end(double* value) {
  *value = 0;
  return HearAll(value);
}

const char* hosts_measure(double* value) {
  BENCH_DO(hosts_begin());
  return hosts_end(value);
}

const char* hosts_cut(int rank) {
  return Shell("ip link set dev g%dr%d down", generation, FirstOf(rank));
}
