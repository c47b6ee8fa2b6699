/* The table of a plugin that decodes images, for data sets of image files. EXPERIMENTAL, see
 * plugin.h. */
#ifndef HEADRACE_PLUGIN_DECODER_H_
#define HEADRACE_PLUGIN_DECODER_H_

#include "headrace/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `self` is hr_plugin.self. Both functions may be called by several threads at the same time. They
 * fail with HR_DATA_LOSS for what is no image, or one that is damaged or cut short, and with
 * HR_UNIMPLEMENTED for a format that they do not know; `data` may be anything. */
typedef struct hr_plugin_decoder_table {
  size_t struct_size;
  /* Reads the size in pixels from the header. The caller decides whether to believe it. */
  hr_status* (*measure)(void* self, const void* data, size_t bytes, int64_t* out_width,
                        int64_t* out_height);
  /* Decodes the image into out[height][width][channels], of the size that `measure` has said, with
   * 1 channel (grey) or 3 (red, green, blue). Transparent pixels are shown on black. */
  hr_status* (*decode)(void* self, const void* data, size_t bytes, int64_t width, int64_t height,
                       int32_t channels, uint8_t* out);
} hr_plugin_decoder_table;

#ifdef __cplusplus
}
#endif
#endif /* HEADRACE_PLUGIN_DECODER_H_ */
