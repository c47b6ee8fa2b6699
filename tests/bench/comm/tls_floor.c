// The floor of comm-tls-allreduce: see its benchmark.py.
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { kRecord = 16384, kRecords = 4096 };

// Seconds that encrypting a byte takes on one core, in records of TLS's size.
static double SecondsPerByte(void) {
  static unsigned char plain[kRecord], sealed[kRecord];
  unsigned char key[16] = {1}, nonce[12] = {2};
  int length;
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), NULL, key, nonce);
  double begin = bench_now();
  for (int i = 0; i < kRecords; ++i) {
    EVP_EncryptInit_ex(context, NULL, NULL, NULL, nonce);
    EVP_EncryptUpdate(context, sealed, &length, plain, kRecord);
    EVP_EncryptFinal_ex(context, sealed, &length);
  }
  double seconds = bench_now() - begin;
  EVP_CIPHER_CTX_free(context);
  return seconds / ((double)kRecord * kRecords);
}

static double Cipher(int64_t bytes) { return 2 * (double)bytes * SecondsPerByte(); }

int main(void) {
  static const char* const kTransports[] = {"tcp"};
  ranks_add(Cipher);
  return ranks_serve(RANKS_ALL_REDUCE, 2, kTransports, 1);
}
