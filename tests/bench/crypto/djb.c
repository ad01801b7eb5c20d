/* libntruprime and lib25519, which TinySSH uses where they are installed. */
#include "rivals.h"

static struct {
    void (*make_pair)(uint8_t *public_key, uint8_t *secret);
    void (*encapsulate)(uint8_t *ciphertext, uint8_t *shared, const uint8_t *public_key);
} ntruprime;

static struct {
    void (*make_dh_pair)(uint8_t *public_key, uint8_t *secret);
    void (*make_sign_pair)(uint8_t *public_key, uint8_t *secret);
    void (*agree)(uint8_t *shared, const uint8_t *public_key, const uint8_t *secret);
    void (*sign)(uint8_t *out, long long *out_bytes, const uint8_t *message, long long bytes,
                 const uint8_t *secret);
    int (*verify)(uint8_t *out, long long *out_bytes, const uint8_t *message, long long bytes,
                  const uint8_t *public_key);
} x25519;

/* The functions in the order of the members. */
static const char *const ntruprime_names[] = {"libntruprime.so.1", NULL};
static const char *const ntruprime_symbols[] = {"ntruprime_kem_sntrup761_keypair",
                                                "ntruprime_kem_sntrup761_enc", NULL};
static const char *const names_25519[] = {"lib25519.so.1", NULL};
static const char *const symbols_25519[] = {
    "lib25519_dh_x25519_keypair", "lib25519_sign_ed25519_keypair", "lib25519_dh_x25519",
    "lib25519_sign_ed25519",      "lib25519_sign_ed25519_open",    NULL};

static uint8_t kem_public[1158], kem_secret[1763], ciphertext[1039], shared[32];
static uint8_t dh_public[32], dh_secret[32], sign_public[32], sign_secret[64];
static uint8_t message[64], signed_message[128];
static long long signed_bytes;

static void encapsulate(size_t bytes)
{
    (void)bytes;
    ntruprime.encapsulate(ciphertext, shared, kem_public);
}

static void agree(size_t bytes)
{
    (void)bytes;
    x25519.agree(shared, dh_public, dh_secret);
}

static void sign(size_t bytes)
{
    (void)bytes;
    x25519.sign(signed_message, &signed_bytes, message, sizeof(message), sign_secret);
}

static void verify(size_t bytes)
{
    uint8_t out[128];
    long long out_bytes;

    (void)bytes;
    if (x25519.verify(out, &out_bytes, signed_message, signed_bytes, sign_public) != 0) {
        __builtin_trap();
    }
}

static int open_ntruprime(void)
{
    if (!load_library(ntruprime_names, ntruprime_symbols, &ntruprime)) {
        return 0;
    }
    ntruprime.make_pair(kem_public, kem_secret);
    return 1;
}

static int open_25519(void)
{
    if (!load_library(names_25519, symbols_25519, &x25519)) {
        return 0;
    }
    x25519.make_dh_pair(dh_public, dh_secret);
    x25519.make_sign_pair(sign_public, sign_secret);
    sign(0);
    return 1;
}

static struct task ntruprime_tasks[] = {{"encapsulate", encapsulate}, {NULL, NULL}};
static struct task tasks_25519[] = {
    {"x25519", agree}, {"sign", sign}, {"verify", verify}, {NULL, NULL}};

struct rival libntruprime = {"libntruprime", open_ntruprime, ntruprime_tasks};
struct rival lib25519 = {"lib25519", open_25519, tasks_25519};
