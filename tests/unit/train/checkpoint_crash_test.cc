// A full disk and SIGKILL while a checkpoint is written: the one before stays good.
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/train/checkpoint_support.h"

namespace hr::train {
namespace {

constexpr int64_t kFloats = 100000;

class CheckpointCrashTest : public TrainTest {
 protected:
  Status Save(int64_t step) {
    return SaveTensors(folder_.path(), step,
                       {{"w", StepTensor(allocator_, step, kFloats)},
                        {"v", StepTensor(allocator_, step, kFloats)}},
                       {.keep = 2, .max_shard_bytes = 4 * kFloats});
  }
  // The newest whole checkpoint; its contents must be those of one step.
  int64_t VerifiedStep() {
    auto opened = OpenCheckpoint(folder_.path(), {});
    if (!opened.ok()) {
      ADD_FAILURE() << opened.status().ToString();
      return -1;
    }
    for (const char* name : {"w", "v"}) {
      Tensor tensor = opened->reader.Get(name).value();
      for (int64_t i = 0; i < kFloats; ++i) {
        if (tensor.as<float>()[i] != static_cast<float>(opened->reader.step() + i)) {
          ADD_FAILURE() << name << " is mixed";
          return -1;
        }
      }
    }
    return opened->reader.step();
  }
};

// Limits the size of files, which fails a write as a full disk does.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    before_handler_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, before_handler_);
  }

 private:
  rlimit before_;
  void (*before_handler_)(int);
};

TEST_F(CheckpointCrashTest, AFullDiskIsReportedAndThePreviousStays) {
  HR_EXPECT_OK(Save(1));
  for (rlim_t bytes : {0, 1, 100, 4096, 399999}) {
    FileSizeLimit limit(bytes);
    HR_EXPECT_ERROR(Save(2), kResourceExhausted, "shard-00000-of-00002.safetensors");
  }
  EXPECT_EQ(VerifiedStep(), 1);
  EXPECT_EQ(ListDirectory(folder_.path())->size(), 2u) << "nothing is left of the failures";
  HR_EXPECT_OK(Save(2));
  EXPECT_EQ(VerifiedStep(), 2);
}

TEST_F(CheckpointCrashTest, KilledAtAnyMomentThePreviousStays) {
  HR_EXPECT_OK(Save(0));
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  for (int round = 0; round < 25; ++round) {
    int64_t before = VerifiedStep();
    pid_t child = fork();
    if (child == 0) {  // saves until it is killed, and reports each success
      for (int64_t step = before + 1;; ++step) {
        if (!Save(step).ok() || write(pipes[1], &step, sizeof step) < 0) _exit(1);
      }
    }
    pollfd ready{pipes[0], POLLIN, 0};
    if (round % 2 == 0) {
      ASSERT_EQ(poll(&ready, 1, 20000), 1) << "nothing was saved within 20 s";
    }
    usleep(static_cast<useconds_t>(1777 * round));
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child gave up by itself";
    int64_t reported = before;
    while (poll(&ready, 1, 0) == 1) ASSERT_EQ(read(pipes[0], &reported, sizeof reported), 8);
    int64_t found = VerifiedStep();
    EXPECT_GE(found, reported) << "a saved checkpoint was lost";
    EXPECT_LE(found, reported + 1);
  }
  close(pipes[0]);
  close(pipes[1]);
  HR_EXPECT_OK(Save(VerifiedStep() + 1));
  for (const std::string& name : ListDirectory(folder_.path()).value()) {
    EXPECT_FALSE(name.ends_with(".tmp")) << name;
  }
}

}  // namespace
}  // namespace hr::train
