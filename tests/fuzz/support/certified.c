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

void certified_put_key(struct fields *out, uint8_t number, bool sk)
{
    fields_text(out, sk ? "sk-ssh-ed25519@openssh.com" : "ssh-ed25519");
    fields_string(out, certified_key(number)->public_key, 32);
    if (sk) {
        fields_text(out, "ssh:");
    }
}

static void put_input(struct fields *out, struct input text)
{
    fields_string(out, text.at, text.left);
}

/* A FIDO authenticator signs hashes, its flags and its counter. */
static void put_signature(struct fields *out, const struct certified_fields *fields)
{
    uint8_t signature[64], data[69] = {0};
    const uint8_t *signed_bytes = out->bytes;
    size_t count = out->used;
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
    fields_put(out, "(sdr)", fields->authority_sk ? "sk-ssh-ed25519@openssh.com" : "ssh-ed25519",
               signature, sizeof(signature), data + 32, (size_t)(fields->authority_sk ? 5 : 0));
}

size_t certified_write(struct fields *out, const struct certified_fields *fields)
{
    fields_text(out, fields->sk ? "sk-ssh-ed25519-cert-v01@openssh.com"
                                : "ssh-ed25519-cert-v01@openssh.com");
    put_input(out, fields->nonce);
    fields_string(out, certified_key(fields->key)->public_key, 32);
    if (fields->sk) {
        fields_text(out, "ssh:");
    }
    fields_number(out, 8, fields->serial);
    fields_number(out, 4, fields->type);
    put_input(out, fields->key_id);
    put_input(out, fields->principals);
    fields_number(out, 8, fields->valid_after);
    fields_number(out, 8, fields->valid_before);
    put_input(out, fields->critical);
    put_input(out, fields->extensions);
    put_input(out, fields->reserved);
    size_t authority = fields_begin(out);
    certified_put_key(out, fields->authority, fields->authority_sk);
    fields_end(out, authority);
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
