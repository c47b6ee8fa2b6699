/* Pictures as PNG files. */
#ifndef HEADRACE_SAMPLES_PICTURE_H_
#define HEADRACE_SAMPLES_PICTURE_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes `pixels` [height, width, 3], red, green and blue. Returns 0, or -1 if the file cannot be
 * written. */
int write_pixels(const char* path, int64_t height, int64_t width, const uint8_t* pixels);

/* Writes `values` [height, width] from 0 (dark) to 1 (light) in colours. Returns as write_pixels.
 */
int write_picture(const char* path, int64_t height, int64_t width, const float* values);

#ifdef __cplusplus
}
#endif

#endif
