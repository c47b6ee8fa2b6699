/* What a program shows on standard error that is no terminal: plain lines. */
#include <unistd.h>

#include "support.h"

/* Standard error goes to a file until end_capture, which gives its text. */
static FILE* captured;
static int standard_error;
static void begin_capture(void) {
  captured = tmpfile();
  fflush(stderr);
  standard_error = dup(STDERR_FILENO);
  EXPECT(captured != NULL && dup2(fileno(captured), STDERR_FILENO) >= 0);
}
static void end_capture(char* text, size_t capacity) {
  fflush(stderr);
  EXPECT(dup2(standard_error, STDERR_FILENO) >= 0);
  close(standard_error);
  rewind(captured);
  text[fread(text, 1, capacity - 1, captured)] = '\0';
  fclose(captured);
}

static void test_lines(hr_env* env) {
  char text[2000];
  hr_progress* progress;
  (void)env;
  begin_capture();
  CHECK(hr_progress_create("epoch 1", "images", 0, 4, &progress));
  hr_progress_update(progress, 2, 64, "loss", 0.5);
  hr_progress_message(progress, "a word in between");
  hr_progress_update(progress, 4, 64, NULL, 0);
  hr_progress_release(progress);
  end_capture(text, sizeof text);
  EXPECT(strstr(text, "epoch 1") != NULL && strstr(text, "4/4") != NULL);
  EXPECT(strstr(text, "a word in between\n") != NULL);
}

/* The last line has the metric that the last update gave, and none if that gave none. */
static void test_metric(hr_env* env) {
  (void)env;
  for (int given = 0; given < 2; ++given) {
    char text[2000];
    hr_progress* progress;
    begin_capture();
    CHECK(hr_progress_create(NULL, NULL, 0, 1, &progress));
    hr_progress_update(progress, 1, 1, given ? "loss" : NULL, 0.5);
    hr_progress_release(progress);
    end_capture(text, sizeof text);
    EXPECT((strstr(text, "loss 0.5") != NULL) == given && strstr(text, "1/1") != NULL);
  }
}

const test tests[] = {{"lines", test_lines}, {"metric", test_metric}, {NULL, NULL}};
