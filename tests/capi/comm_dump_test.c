/* The flight recorder's file: there while a group lives, left by a process that was killed,
 * replaced by JSON when the group fails, and gone when it is closed. */
#include <signal.h>
#include <unistd.h>

#include "comm_support.h"

static void path_in(char* path, size_t capacity, const char* folder, const char* rank,
                    const char* extension) {
  snprintf(path, capacity, "%s/world-0-%s.%s", folder, rank, extension);
}

static void expect_operations(hr_text* text, const char* operation, const char* state) {
  EXPECT(strstr(hr_text_data(text), operation) != NULL);
  EXPECT(strstr(hr_text_data(text), state) != NULL);
}

/* Rank 1 is in a receive that nobody answers; rank 0 is the one that ends the group. */
static void rank_recorded(hr_env* env) {
  char folder[600], flight[700], json[700];
  snprintf(folder, sizeof folder, "%s/dumps", rank_folder());
  const char* rank = getenv("HEADRACE_RANK");
  path_in(flight, sizeof flight, folder, rank, "flight");
  path_in(json, sizeof json, folder, rank, "json");
  hr_group_options options = {.struct_size = sizeof options, .dump_folder = folder};
  hr_group* group;
  hr_text *ours, *read;
  float x[7] = {0};
  CHECK(hr_group_create(env, &options, NULL, &group));
  CHECK(hr_all_reduce(group, x, x, 7, HR_FLOAT32, HR_MAX, NULL));
  CHECK(hr_group_dump(group, &ours));
  CHECK(hr_dump_read(flight, &read));
  expect_operations(ours, "\"operation\":\"all_reduce(max, float32[7])\"", "\"state\":\"done\"");
  expect_operations(read, "\"operation\":\"all_reduce(max, float32[7])\"", "\"state\":\"done\"");
  hr_text_release(ours);
  hr_text_release(read);
  CHECK(hr_barrier(group, NULL));
  leave_note("ready", "");
  hr_status* status = NULL;
  if (rank[0] == '1') status = hr_recv(group, x, 7, HR_FLOAT32, 0, 3, NULL);
  while (status == NULL) {
    sleep_ms(10);
    status = hr_group_status(group);
  }
  hr_status_release(status);
  hr_group_release(group);
  EXPECT(access(json, F_OK) == 0);
  EXPECT(access(flight, F_OK) != 0);
}

static void test_a_killed_process_leaves_it(hr_env* env) {
  ranks all;
  char folder[600], path[700];
  hr_text* text;
  (void)env;
  start_ranks(&all, 3, "rank recorded", "");
  await_note(&all, "ready.0", 20);
  await_note(&all, "ready.1", 20);
  await_note(&all, "ready.2", 20);
  sleep_ms(50);
  snprintf(folder, sizeof folder, "%s/dumps", all.folder);
  path_in(path, sizeof path, folder, "1", "flight");
  EXPECT(kill(all.pids[1], SIGSTOP) == 0);
  CHECK(hr_dump_read(path, &text)); /* it hangs */
  expect_operations(text, "\"operation\":\"recv(float32[7] from 0)\"", "\"state\":\"running\"");
  hr_text_release(text);
  EXPECT(kill(all.pids[1], SIGKILL) == 0);
  EXPECT(await_rank(&all, 0, 10) == 0);
  EXPECT(await_rank(&all, 2, 10) == 0);
  CHECK(hr_dump_read(path, &text));
  expect_operations(text, "\"operation\":\"recv(float32[7] from 0)\"", "\"state\":\"running\"");
  hr_text_release(text);
  end_ranks(&all);
}

static hr_group* alone(hr_env* env, const char* folder) {
  const hr_group_options options = {
      .struct_size = sizeof options, .size = 1, .dump_folder = folder};
  hr_group* group;
  CHECK(hr_group_create(env, &options, NULL, &group));
  CHECK(hr_barrier(group, NULL));
  return group;
}

static void write_file(const char* path, const char* text) {
  FILE* file = fopen(path, "w");
  EXPECT(file != NULL && fputs(text, file) >= 0);
  fclose(file);
}

static void test_its_life(hr_env* env) {
  char folder[] = "/tmp/headrace-dump-XXXXXX", path[700];
  hr_text* text;
  EXPECT(mkdtemp(folder) != NULL);
  path_in(path, sizeof path, folder, "0", "flight");
  write_file(path, "of a process before");
  FAILS(hr_dump_read(path, &text), HR_DATA_LOSS, "is not a flight recorder's file");
  EXPECT(truncate(path, 4 << 20) == 0);
  FAILS(hr_dump_read(path, &text), HR_DATA_LOSS, "expected at most");
  hr_group* group = alone(env, folder);
  CHECK(hr_dump_read(path, &text));
  expect_operations(text, "\"operation\":\"barrier()\"", "\"state\":\"done\"");
  hr_text_release(text);
  hr_group_release(group);
  EXPECT(access(path, F_OK) != 0);
  FAILS(hr_dump_read(path, &text), HR_NOT_FOUND, path);
  FAILS(hr_dump_read(NULL, &text), HR_INVALID_ARGUMENT, "'path'");
  /* Where there is no room for it, the group does without. */
  write_file(path, "");
  hr_group_release(alone(env, path));
  unlink(path);
  EXPECT(rmdir(folder) == 0);
}

const test tests[] = {
    TEST(a_killed_process_leaves_it), TEST(its_life), RANK(recorded), {NULL, NULL}};
