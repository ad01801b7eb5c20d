#include <stddef.h>

void sodium_memzero(void *bytes, size_t count);

typedef struct {
    unsigned char bytes[208];
} crypto_hash_sha512_state;
#define crypto_hash_sha512_BYTES 64
int crypto_hash_sha512_init(crypto_hash_sha512_state *state);
int crypto_hash_sha512_update(crypto_hash_sha512_state *state, const unsigned char *in,
                              unsigned long long count);
int crypto_hash_sha512_final(crypto_hash_sha512_state *state, unsigned char *out);
