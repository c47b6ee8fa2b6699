// OpenMPI's side of the benchmarks of communication: the protocol of side.h without the library.
// Rank 0 reads requests; the others look for them now and then, so that they do not spin while
// somebody else is measured.
//   openmpi all_reduce|send
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kWarmUp = 3, kRequest = 7 };
static const double kSeconds = 0.15;
static int rank, size, sends;
static char *input, *output;
static long room;

static double Follow(const long request[2]) {
  if (request[0] > room) {
    room = request[0];
    input = realloc(input, (size_t)room);
    output = realloc(output, (size_t)room);
    memset(input, 0, (size_t)room);
    memset(output, 0, (size_t)room);
  }
  int bytes = (int)request[0];
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime();
  for (long i = 0; i < request[1]; ++i) {
    if (!sends) {
      MPI_Allreduce(input, output, bytes / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      continue;
    }
    for (int turn = 0; turn < 2; ++turn) {
      if (turn == rank) {
        MPI_Send(input, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
      } else {
        MPI_Recv(output, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
  }
  return (MPI_Wtime() - begin) / (double)request[1];
}

static double Ask(long bytes, long count) {
  long request[2] = {bytes, count};
  for (int to = 1; to < size; ++to) {
    MPI_Send(request, 2, MPI_LONG, to, kRequest, MPI_COMM_WORLD);
  }
  return bytes == 0 ? 0 : Follow(request);
}

static void Serve(void) {
  char line[256], name[256];
  int repeats;
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (sscanf(line, "%255s %d", name, &repeats) != 2) break;
    long bytes = atol(strrchr(name, '-') == NULL ? "" : strrchr(name, '-') + 1);
    if (bytes < 1) {
      printf("{\"error\": \"expected WORD-BYTES\"}\n");
      fflush(stdout);
      continue;
    }
    double seconds = Ask(bytes, kWarmUp);
    seconds = Ask(bytes, seconds < 1e-3 ? 100 : kWarmUp);
    long count = seconds * 3 > kSeconds ? 3 : (long)(kSeconds / seconds);
    Ask(bytes, count);  // as ranks.c
    printf("{\"values\": [");
    for (int i = 0; i < repeats; ++i) {
      printf("%s%.9g", i == 0 ? "" : ", ", Ask(bytes, count) * 1e6 / (sends ? 2 : 1));
    }
    printf("]}\n");
    fflush(stdout);
  }
  Ask(0, 0);
}

static void Obey(void) {
  for (;;) {
    long request[2];
    int there = 0;
    while (!there) {
      MPI_Iprobe(0, kRequest, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
      if (!there) usleep(1000);
    }
    MPI_Recv(request, 2, MPI_LONG, 0, kRequest, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (request[0] == 0) return;
    Follow(request);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  sends = argc > 1 && strcmp(argv[1], "send") == 0;
  rank == 0 ? Serve() : Obey();
  return MPI_Finalize();
}
