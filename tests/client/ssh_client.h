/*
 * A client's half of SSH, without I/O: fields, packets, and what a key exchange yields. The unit
 * tests, the fuzzers, the soak and the benchmarks' client say their messages with it.
 *
 * It is the second opinion on src/wire/ and crypto/, so it shares no code with them and takes its
 * cryptography from libsodium. Only sntrup761_key.h beside this knows the daemon's half.
 */
#ifndef WREN_SSH_CLIENT_H
#define WREN_SSH_CLIENT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- fields (RFC 4251 section 5) ------------------------------------------------------------- */

/* Where fields are appended. What does not fit is cut off, and `full` says so. */
struct fields {
    uint8_t *bytes;
    size_t used;
    size_t room;
    bool full;
};

/* Nothing yet, in an array. */
#define FIELDS_IN(array)                                                                           \
    {                                                                                              \
        array, 0, sizeof(array), false                                                             \
    }

void fields_bytes(struct fields *fields, const void *bytes, size_t count);
void fields_fill(struct fields *fields, uint8_t byte, size_t count);

/* So many bytes of a number, most significant first. */
void fields_number(struct fields *fields, unsigned bytes, uint64_t number);

/* A uint32 length and the bytes. */
void fields_string(struct fields *fields, const void *bytes, size_t count);
void fields_text(struct fields *fields, const char *text);

/* An ed25519 key's blob of 51 bytes (RFC 8709 section 4). */
void fields_key(struct fields *fields, const uint8_t public_key[static 32]);

/* A string of what is appended in between: the first one's result goes to the other. Pairs nest. */
size_t fields_begin(struct fields *fields);
void fields_end(struct fields *fields, size_t mark);

/*
 * Appends what the format names, one letter a field:
 *   b  int: a byte            u  uint32_t           s  const char *: a string
 *   d  const void *, size_t: a string of that many bytes
 *   r  const void *, size_t: the bytes without a length
 *   f  int, size_t: so many of this byte
 *   k  const uint8_t *: a string, the blob of the ed25519 key with these 32 bytes
 *   ( and ) enclose the fields of a string
 */
void fields_put(struct fields *fields, const char *format, ...);
void fields_put_list(struct fields *fields, const char *format, va_list arguments);

/* ---- packets (RFC 4253 section 6, draft-ietf-sshm-chacha20-poly1305) ------------------------- */

#define PACKET_TAG_BYTES 16

/* The least padding that is legal. */
size_t packet_padding(size_t payload_bytes, bool sealed);

/* Writes a packet in the clear, without a tag, and returns its size: payload_bytes + padding + 5.
 * The padding's bytes are not zero: nobody may look at them. */
size_t packet_frame(uint8_t *out, const void *payload, size_t payload_bytes, size_t padding);

/* Encrypts or decrypts the length and the body after it, in place. `key`: K_2, K_1. */
void packet_crypt(uint8_t *packet, size_t body_bytes, const uint8_t key[static 64],
                  uint32_t sequence);

/* The tag of a length and body of `sealed_bytes` together, both encrypted. */
void packet_tag(uint8_t tag[static PACKET_TAG_BYTES], const uint8_t *sealed, size_t sealed_bytes,
                const uint8_t key[static 64], uint32_t sequence);

/* Both: encrypts, and writes the tag after the body. */
void packet_encrypt(uint8_t *packet, size_t body_bytes, const uint8_t key[static 64],
                    uint32_t sequence);

/* ---- secrets --------------------------------------------------------------------------------- */

/* What a key exchange yields: RFC 4253 sections 7.2 and 8, RFC 8731, draft-josefsson-ntruprime-ssh.
 */
struct secrets {
    bool hybrid;    /* sntrup761x25519-sha512, else curve25519-sha256 */
    uint8_t k[64];  /* of curve25519-sha256 the first half; the rest is zero */
    uint8_t h[64];  /* of the last exchange */
    size_t h_bytes; /* 32 or 64, as hybrid says */
    uint8_t session_id[64];
    size_t session_id_bytes;
};

/* Appends K as the hashes take it: an mpint, or a string if `hybrid` is set. */
void secrets_put_k(struct fields *fields, bool hybrid, const uint8_t k[static 64]);

/* The method's hash of some bytes. Returns its size. */
size_t secrets_hash(bool hybrid, const void *bytes, size_t count, uint8_t out[static 64]);

/* Keeps H, which is the session's identifier if it is the first. */
void secrets_keep_h(struct secrets *secrets, const uint8_t *h, size_t h_bytes);

/* The key of a letter: 'C' encrypts from client to server, 'D' from server to client. */
void secrets_key(const struct secrets *secrets, char letter, uint8_t key[static 64]);

#endif
