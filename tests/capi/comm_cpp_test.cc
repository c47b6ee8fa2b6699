// The C++ wrappers of headrace/comm.h.
#include <headrace/headrace.hpp>
#include <vector>

extern "C" {
#include "comm_support.h"
}

namespace {

void rank_wrapped(hr_env*) {
  hr::Env env(1);
  hr::Group world(env);
  const int32_t rank = world.rank(), other = 1 - rank;
  EXPECT(world.size() == 2 && world.epoch() == 0);
  std::vector<double> x(100, rank + 1.0), y(200), z(100);
  world.all_reduce(x.data(), z.data(), 100);
  EXPECT(z[99] == 3);
  world.all_gather(x.data(), y.data(), 100);
  EXPECT(y[0] == 1 && y[199] == 2);
  world.reduce_scatter(y.data(), z.data(), 100, HR_MAX);
  EXPECT(z[0] == rank + 1);
  world.all_to_all(y.data(), y.data(), 100);
  EXPECT(y[0] == rank + 1 && y[199] == rank + 1);
  world.broadcast(x.data(), z.data(), 100, 1);
  EXPECT(z[0] == 2);
  world.reduce(x.data(), z.data(), 100, HR_PRODUCT, 0);
  world.gather(x.data(), y.data(), 100, 1);
  world.scatter(y.data(), z.data(), 100, 1);
  EXPECT(z[5] == rank + 1);
  const uint8_t mine = static_cast<uint8_t>(rank);
  uint8_t theirs = 9;
  hr::Work reduction = world.all_reduce_start(x.data(), x.data(), 100);
  if (rank == 0) world.send(&mine, 1, other, 4);
  world.recv(&theirs, 1, other, 4);
  if (rank == 1) world.send(&mine, 1, other, 4);
  reduction.wait();
  EXPECT(theirs == other && x[3] == 3 && reduction.test());
  hr_operation scaled{};
  scaled.kind = HR_OPERATION_ALL_REDUCE;
  scaled.dtype = HR_FLOAT64;
  scaled.count = 100;
  scaled.input = scaled.output = x.data();
  scaled.op = HR_PRE_MULTIPLIED_SUM;
  scaled.factor = 0.5;
  world.start(scaled).wait();
  EXPECT(x[0] == 3);
  hr::Group none = world.split(rank == 0 ? 0 : -1);
  EXPECT(static_cast<bool>(none) == (rank == 0));
  EXPECT(world.describe().find("all_reduce") != std::string::npos);
  EXPECT(world.dump().find("all_reduce") != std::string::npos);
  try {
    world.send(&mine, 1, rank);
    EXPECT(false);
  } catch (const hr::Error& error) {
    EXPECT(error.code() == HR_INVALID_ARGUMENT);
  }
  try {
    hr::read_dump("nobody.flight");
    EXPECT(false);
  } catch (const hr::Error& error) {
    EXPECT(error.code() == HR_NOT_FOUND);
  }
  world.barrier();
}
PROCESSES(wrapped, 2, "")

// Rank 0 ends the group, rank 1 goes on alone, and rank 0 comes back as the last rank.
void rank_goes_on(hr_env*) {
  const hr::Env env;
  const hr_limits limits = within(20);
  hr::Group world(env);
  const bool leaves = world.rank() == 0;
  if (leaves) world.abort("to come back");
  try {
    for (;;) world.barrier();
  } catch (const hr::Error& error) {
    EXPECT(error.code() == HR_ABORTED);
  }
  if (leaves) {
    world = hr::Group::join(env, nullptr, &limits);
  } else {
    hr::Group alone = world.shrink(&limits);
    EXPECT(alone.size() == 1);
    world = alone.grow(2, &limits);
  }
  EXPECT(world.size() == 2 && world.rank() == (leaves ? 1 : 0) && world.epoch() == 2);
  world.barrier();
}
PROCESSES(goes_on, 2, "")

}  // namespace

extern "C" {
extern const test tests[] = {
    TEST(wrapped), TEST(goes_on), RANK(wrapped), RANK(goes_on), {nullptr, nullptr}};
}
