/* A PNG (ISO/IEC 15948) without compression: its deflate blocks are stored ones (RFC 1951, 3.2.4).
 */
#include "picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Dark blue, purple, red, orange, light yellow. */
static const float kColours[5][3] = {{0.02f, 0.02f, 0.2f},
                                     {0.4f, 0.05f, 0.45f},
                                     {0.8f, 0.2f, 0.25f},
                                     {0.98f, 0.6f, 0.1f},
                                     {1, 1, 0.8f}};

static void colour(float value, unsigned char* rgb) {
  const float at = value <= 0 ? 0 : value >= 1 ? 3.9999f : value * 4;
  const int below = (int)at;
  for (int i = 0; i < 3; ++i) {
    const float a = kColours[below][i], b = kColours[below + 1][i];
    rgb[i] = (unsigned char)(255 * (a + (b - a) * (at - (float)below)) + 0.5f);
  }
}

static void put32(unsigned char* to, uint32_t value) {
  for (int i = 0; i < 4; ++i) to[i] = (unsigned char)(value >> (24 - 8 * i));
}

static uint32_t crc(const unsigned char* data, size_t size) {
  uint32_t sum = 0xFFFFFFFFu;
  for (size_t i = 0; i < size; ++i) {
    sum ^= data[i];
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0);
  }
  return ~sum;
}

static uint32_t adler(const unsigned char* data, size_t size) {
  uint32_t a = 1, b = 0;
  for (size_t i = 0; i < size; ++i) {
    a = (a + data[i]) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

/* `chunk`: the type's 4 letters, then the data. */
static int write_chunk(FILE* file, const unsigned char* chunk, size_t data_size) {
  unsigned char length[4], sum[4];
  put32(length, (uint32_t)data_size);
  put32(sum, crc(chunk, data_size + 4));
  return fwrite(length, 4, 1, file) == 1 && fwrite(chunk, data_size + 4, 1, file) == 1 &&
                 fwrite(sum, 4, 1, file) == 1
             ? 0
             : -1;
}

static int write_header(FILE* file, int64_t height, int64_t width) {
  static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  unsigned char chunk[4 + 13] = "IHDR";
  put32(chunk + 4, (uint32_t)width);
  put32(chunk + 8, (uint32_t)height);
  chunk[12] = 8; /* bits */
  chunk[13] = 2; /* red, green, blue */
  if (fwrite(signature, sizeof signature, 1, file) != 1) return -1;
  return write_chunk(file, chunk, 13);
}

/* The rows as one stream of stored blocks of up to 65,535 bytes. */
static int write_rows(FILE* file, const unsigned char* rows, size_t size) {
  const size_t blocks = (size + 65534) / 65535;
  unsigned char* chunk = malloc(4 + 2 + size + 5 * blocks + 4);
  if (chunk == NULL) return -1;
  memcpy(chunk, "IDAT\x78\x01", 6);
  unsigned char* to = chunk + 6;
  for (size_t at = 0; at < size; at += 65535) {
    const size_t part = size - at < 65535 ? size - at : 65535;
    *to++ = at + part == size;
    *to++ = (unsigned char)part;
    *to++ = (unsigned char)(part >> 8);
    *to++ = (unsigned char)~part;
    *to++ = (unsigned char)(~part >> 8);
    memcpy(to, rows + at, part);
    to += part;
  }
  put32(to, adler(rows, size));
  const int result = write_chunk(file, chunk, (size_t)(to + 4 - chunk) - 4);
  free(chunk);
  return result;
}

int write_pixels(const char* path, int64_t height, int64_t width, const uint8_t* pixels) {
  const size_t row = 1 + 3 * (size_t)width; /* each begins with its filter, which is none */
  unsigned char* rows = calloc((size_t)height, row);
  FILE* file = rows == NULL ? NULL : fopen(path, "wb");
  if (file == NULL) {
    free(rows);
    return -1;
  }
  for (size_t y = 0; y < (size_t)height; ++y) {
    memcpy(rows + y * row + 1, pixels + y * (row - 1), row - 1);
  }
  const unsigned char end[4] = {'I', 'E', 'N', 'D'};
  const int failed = write_header(file, height, width) != 0 ||
                     write_rows(file, rows, (size_t)height * row) != 0 ||
                     write_chunk(file, end, 0) != 0;
  free(rows);
  return fclose(file) != 0 || failed ? -1 : 0;
}

int write_picture(const char* path, int64_t height, int64_t width, const float* values) {
  const size_t count = (size_t)(height * width);
  uint8_t* pixels = malloc(3 * count);
  if (pixels == NULL) return -1;
  for (size_t i = 0; i < count; ++i) colour(values[i], pixels + 3 * i);
  const int result = write_pixels(path, height, width, pixels);
  free(pixels);
  return result;
}
