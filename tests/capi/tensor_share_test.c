/* Handles that share memory: the host's release function is called when the last is gone. */
#include "support.h"

static void count_release(void* context) { ++*(int*)context; }

static void test_share(hr_env* env) {
  static float memory[3] = {1, 2, 3};
  const int64_t dims[1] = {3};
  (void)env;
  for (int first = 0; first < 2; ++first) {
    int released = 0;
    hr_tensor* both[2];
    CHECK(hr_tensor_wrap(HR_FLOAT32, 1, dims, memory, sizeof memory, count_release, &released,
                         &both[0]));
    CHECK(hr_tensor_share(both[0], &both[1]));
    EXPECT(both[0] != both[1] && hr_tensor_data(both[1]) == memory);
    hr_tensor_release(both[first]);
    const hr_tensor* left = both[1 - first];
    EXPECT(released == 0 && hr_tensor_data(left) == memory && hr_tensor_bytes(left) == 12);
    EXPECT(hr_tensor_dtype(left) == HR_FLOAT32 && hr_tensor_dims(left)[0] == 3);
    hr_tensor_release(both[1 - first]);
    EXPECT(released == 1);
  }
}

const test tests[] = {{"share", test_share}, {NULL, NULL}};
