/* Pictures of fields of numbers. */
#ifndef HEADRACE_SAMPLES_PICTURE_H_
#define HEADRACE_SAMPLES_PICTURE_H_

#include <stdint.h>

/* Writes `values` [height, width] from 0 (dark) to 1 (light) as a PNG in colours. Returns 0, or -1
 * if the file cannot be written. */
int write_picture(const char* path, int64_t height, int64_t width, const float* values);

#endif
