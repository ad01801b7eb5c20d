/* libntruprime and lib25519, which TinySSH uses where they are installed. */
#include <dlfcn.h>

#include "rivals.h"

typedef void pair_function(uint8_t *public_key, uint8_t *secret);
typedef void agree_function(uint8_t *shared, const uint8_t *public_key, const uint8_t *secret);
typedef void sign_function(uint8_t *out, long long *out_bytes, const uint8_t *message,
                           long long bytes, const uint8_t *secret);
typedef int verify_function(uint8_t *out, long long *out_bytes, const uint8_t *message,
                            long long bytes, const uint8_t *public_key);
typedef void encapsulate_function(uint8_t *ciphertext, uint8_t *shared, const uint8_t *public_key);

static const char *const ntruprime_names[] = {"libntruprime.so.1", NULL};
static const char *const names_25519[] = {"lib25519.so.1", NULL};

static encapsulate_function *encapsulate_with;
static agree_function *agree_with;
static sign_function *sign_with;
static verify_function *verify_with;

static uint8_t kem_public[1158], kem_secret[1763], ciphertext[1039], shared[32];
static uint8_t dh_public[32], dh_secret[32], sign_public[32], sign_secret[64];
static uint8_t message[64], signed_message[128];
static long long signed_bytes;

static void encapsulate(size_t bytes)
{
    (void)bytes;
    encapsulate_with(ciphertext, shared, kem_public);
}

static void agree(size_t bytes)
{
    (void)bytes;
    agree_with(shared, dh_public, dh_secret);
}

static void sign(size_t bytes)
{
    (void)bytes;
    sign_with(signed_message, &signed_bytes, message, sizeof(message), sign_secret);
}

static void verify(size_t bytes)
{
    uint8_t out[128];
    long long out_bytes;

    (void)bytes;
    if (verify_with(out, &out_bytes, signed_message, signed_bytes, sign_public) != 0) {
        __builtin_trap();
    }
}

static int open_ntruprime(void)
{
    void *library = open_library(ntruprime_names);
    pair_function *make_pair;

    if (library == NULL) {
        return 0;
    }
    encapsulate_with = (encapsulate_function *)dlsym(library, "ntruprime_kem_sntrup761_enc");
    make_pair = (pair_function *)dlsym(library, "ntruprime_kem_sntrup761_keypair");
    if (encapsulate_with == NULL || make_pair == NULL) {
        return 0;
    }
    make_pair(kem_public, kem_secret);
    return 1;
}

static int open_25519(void)
{
    void *library = open_library(names_25519);
    pair_function *dh_pair, *sign_pair;

    if (library == NULL) {
        return 0;
    }
    dh_pair = (pair_function *)dlsym(library, "lib25519_dh_x25519_keypair");
    sign_pair = (pair_function *)dlsym(library, "lib25519_sign_ed25519_keypair");
    agree_with = (agree_function *)dlsym(library, "lib25519_dh_x25519");
    sign_with = (sign_function *)dlsym(library, "lib25519_sign_ed25519");
    verify_with = (verify_function *)dlsym(library, "lib25519_sign_ed25519_open");
    if (!dh_pair || !sign_pair || !agree_with || !sign_with || !verify_with) {
        return 0;
    }
    dh_pair(dh_public, dh_secret);
    sign_pair(sign_public, sign_secret);
    sign(0);
    return 1;
}

static struct task ntruprime_tasks[] = {{"encapsulate", encapsulate}, {NULL, NULL}};
static struct task tasks_25519[] = {
    {"x25519", agree}, {"sign", sign}, {"verify", verify}, {NULL, NULL}};

struct rival libntruprime = {"libntruprime", open_ntruprime, ntruprime_tasks};
struct rival lib25519 = {"lib25519", open_25519, tasks_25519};
