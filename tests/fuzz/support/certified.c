#include "certified.h"

#include <sodium.h>
#include <string.h>

#define KEYS 4

const struct certified_key *certified_key(uint8_t number)
{
    static struct certified_key keys[KEYS];
    static bool made;
    for (uint8_t i = 0; !made && i < KEYS; i++) {
        uint8_t seed[32];
        memset(seed, i + 1, sizeof(seed));
        FUZZ_CHECK(crypto_sign_seed_keypair(keys[i].public_key, keys[i].secret_key, seed) == 0);
    }
    made = true;
    return &keys[number % KEYS];
}

void certified_put_key(struct second_output *out, uint8_t number, bool sk)
{
    second_put_text(out, sk ? "sk-ssh-ed25519@openssh.com" : "ssh-ed25519");
    second_put_string(out, certified_key(number)->public_key, 32);
    if (sk) {
        second_put_text(out, "ssh:");
    }
}

static void put_input(struct second_output *out, struct input text)
{
    second_put_string(out, text.at, text.left);
}

/* A FIDO authenticator signs hashes, its flags and its counter. */
static void put_signature(struct second_output *out, const struct certified_fields *fields)
{
    uint8_t signature[64], data[69] = {0};
    const uint8_t *signed_bytes = out->bytes;
    size_t count = out->used;
    uint8_t inner_bytes[128];
    struct second_output inner = {inner_bytes, 0, sizeof(inner_bytes)};
    if (fields->authority_sk) {
        crypto_hash_sha256(data, (const uint8_t *)"ssh:", 4);
        data[32] = 5;
        data[36] = 9;
        crypto_hash_sha256(data + 37, signed_bytes, count);
        signed_bytes = data;
        count = sizeof(data);
    }
    crypto_sign_detached(signature, NULL, signed_bytes, count,
                         certified_key(fields->authority)->secret_key);
    second_put_text(&inner, fields->authority_sk ? "sk-ssh-ed25519@openssh.com" : "ssh-ed25519");
    second_put_string(&inner, signature, sizeof(signature));
    second_put(&inner, data + 32, fields->authority_sk ? 5 : 0);
    second_put_string(out, inner_bytes, inner.used);
}

size_t certified_write(struct second_output *out, const struct certified_fields *fields)
{
    uint8_t authority_bytes[128];
    struct second_output authority = {authority_bytes, 0, sizeof(authority_bytes)};
    second_put_text(out, fields->sk ? "sk-ssh-ed25519-cert-v01@openssh.com"
                                    : "ssh-ed25519-cert-v01@openssh.com");
    put_input(out, fields->nonce);
    second_put_string(out, certified_key(fields->key)->public_key, 32);
    if (fields->sk) {
        second_put_text(out, "ssh:");
    }
    second_put_number(out, 8, fields->serial);
    second_put_number(out, 4, fields->type);
    put_input(out, fields->key_id);
    put_input(out, fields->principals);
    second_put_number(out, 8, fields->valid_after);
    second_put_number(out, 8, fields->valid_before);
    put_input(out, fields->critical);
    put_input(out, fields->extensions);
    put_input(out, fields->reserved);
    certified_put_key(&authority, fields->authority, fields->authority_sk);
    second_put_string(out, authority_bytes, authority.used);
    size_t signed_count = out->used;
    put_signature(out, fields);
    return signed_count;
}

static struct input take_text(struct input *input)
{
    uint64_t count = 0;
    second_number(input, 2, &count);
    return input_take(input, (size_t)count % 1024);
}

void certified_fields_read(struct certified_fields *fields, struct input *input)
{
    uint8_t kind = input_u8(input);
    *fields = (struct certified_fields){
        .sk = (kind & 1) != 0,
        .authority_sk = (kind & 2) != 0,
        .key = kind >> 2 & 3,
        .authority = kind >> 4 & 3,
        .type = input_u8(input),
    };
    second_number(input, 8, &fields->serial);
    second_number(input, 8, &fields->valid_after);
    second_number(input, 8, &fields->valid_before);
    fields->nonce = take_text(input);
    fields->key_id = take_text(input);
    fields->principals = take_text(input);
    fields->critical = take_text(input);
    fields->extensions = take_text(input);
    fields->reserved = take_text(input);
}
