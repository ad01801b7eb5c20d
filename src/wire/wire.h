/*
 * SSH on the wire: numbers, a cursor that reads fields, a writer that appends them, types of keys,
 * and the exchange hash.
 */
#ifndef WREN_WIRE_H
#define WREN_WIRE_H

#include <sodium.h>

#include "ipc.h"

/* ---- numbers --------------------------------------------------------------------------------- */

/* Numbers of the SSH protocol (RFC 4250 section 4.1; RFC 8308; OpenSSH's PROTOCOL for PING and
 * PONG). */

/* RFC 4253 section 7.1. */
#define SSH_COOKIE_BYTES 16

enum ssh_message {
    SSH_MSG_DISCONNECT = 1,
    SSH_MSG_IGNORE = 2,
    SSH_MSG_UNIMPLEMENTED = 3,
    SSH_MSG_DEBUG = 4,
    SSH_MSG_SERVICE_REQUEST = 5,
    SSH_MSG_SERVICE_ACCEPT = 6,
    SSH_MSG_EXT_INFO = 7,
    SSH_MSG_KEXINIT = 20,
    SSH_MSG_NEWKEYS = 21,
    SSH_MSG_KEX_ECDH_INIT = 30,
    SSH_MSG_KEX_ECDH_REPLY = 31,
    SSH_MSG_USERAUTH_REQUEST = 50,
    SSH_MSG_USERAUTH_FAILURE = 51,
    SSH_MSG_USERAUTH_SUCCESS = 52,
    SSH_MSG_USERAUTH_BANNER = 53,
    SSH_MSG_USERAUTH_PK_OK = 60,
    SSH_MSG_GLOBAL_REQUEST = 80,
    SSH_MSG_REQUEST_SUCCESS = 81,
    SSH_MSG_REQUEST_FAILURE = 82,
    SSH_MSG_CHANNEL_OPEN = 90,
    SSH_MSG_CHANNEL_OPEN_CONFIRMATION = 91,
    SSH_MSG_CHANNEL_OPEN_FAILURE = 92,
    SSH_MSG_CHANNEL_WINDOW_ADJUST = 93,
    SSH_MSG_CHANNEL_DATA = 94,
    SSH_MSG_CHANNEL_EXTENDED_DATA = 95,
    SSH_MSG_CHANNEL_EOF = 96,
    SSH_MSG_CHANNEL_CLOSE = 97,
    SSH_MSG_CHANNEL_REQUEST = 98,
    SSH_MSG_CHANNEL_SUCCESS = 99,
    SSH_MSG_CHANNEL_FAILURE = 100,
    SSH_MSG_PING = 192,
    SSH_MSG_PONG = 193,
};

/* RFC 4250 section 4.2.2. */
enum ssh_disconnect {
    SSH_DISCONNECT_PROTOCOL_ERROR = 2,
    SSH_DISCONNECT_KEY_EXCHANGE_FAILED = 3,
    SSH_DISCONNECT_MAC_ERROR = 5,
    SSH_DISCONNECT_SERVICE_NOT_AVAILABLE = 7,
    SSH_DISCONNECT_BY_APPLICATION = 11,
    SSH_DISCONNECT_TOO_MANY_CONNECTIONS = 12,
    SSH_DISCONNECT_NO_MORE_AUTH_METHODS = 14,
};

/* RFC 4250 section 4.3. */
enum ssh_open_failure {
    SSH_OPEN_ADMINISTRATIVELY_PROHIBITED = 1,
    SSH_OPEN_RESOURCE_SHORTAGE = 4,
};

#define SSH_EXTENDED_DATA_STDERR 1

/* V_S: our identification line without its CR LF (RFC 4253 section 4.2). */
#define SSH_SERVER_VERSION "SSH-2.0-wrenssh_" WREN_VERSION

/* ---- reading, reader.c ----------------------------------------------------------------------- */

/* Reads fields from a range of bytes: binary ones as RFC 4251 section 5 defines them, in packets,
 * keys and certificates, and texts of files. The bytes stay where they are; a string is a reader of
 * its own within them.
 *
 * The first getter that fails marks the reader as failed. From then on every getter returns zero,
 * NULL or an empty reader. Ask reader_end() once, after the last field and before you use any. */

struct reader {
    const uint8_t *bytes; /* the next byte */
    size_t left;
    bool failed;
};

struct reader reader_over(const void *bytes, size_t count);

uint8_t reader_u8(struct reader *reader);
bool reader_bool(struct reader *reader); /* any byte but zero is true */
uint32_t reader_u32(struct reader *reader);
uint64_t reader_u64(struct reader *reader);

/* The next `count` bytes; on failure NULL. */
const uint8_t *reader_bytes(struct reader *reader, size_t count);

/* A uint32 length and that many bytes; on failure an empty reader that has failed too. */
struct reader reader_string(struct reader *reader);

/* A string of exactly `count` bytes; any other length is a failure. On failure NULL. */
const uint8_t *reader_string_of(struct reader *reader, size_t count);

/* ---- texts, reader.c ------------------------------------------------------------------------- */

#define READER_BLANKS " \t"

/* The next byte, or -1 at the end. Consumes nothing. */
int reader_peek(const struct reader *reader);

/* Consumes `prefix` if the bytes left start with it, else nothing. */
bool reader_take(struct reader *reader, const char *prefix);

/* reader_span() reads bytes in `set`, reader_until() bytes not in `set`, up to the first other
 * byte. The result may be empty. A NUL is in no set. */
struct reader reader_span(struct reader *reader, const char *set);
struct reader reader_until(struct reader *reader, const char *set);

/* Reads the next name of a comma-separated name-list. False at the end of the list. An empty name
 * is a failure. */
bool reader_name(struct reader *list, struct reader *name);

/* True if the bytes left are just these; never if the reader has failed. Consumes nothing. */
bool reader_is(const struct reader *reader, const char *text);
bool reader_equals(const struct reader *reader, const void *bytes, size_t count);

/* True if a NUL is among the bytes left. Consumes nothing. */
bool reader_has_nul(const struct reader *reader);

/* Copies all the bytes left into `text` and fills the rest of it with zeros. False, with `text`
 * empty, if there is no room for them and a NUL, or if they hold a NUL. */
bool reader_text(const struct reader *reader, char *text, size_t capacity);

/* The same for a text that may be too long: its first capacity - 1 bytes. For the log. */
void reader_cut(const struct reader *reader, char *text, size_t capacity);

/* True if no getter has failed and no byte is left. */
bool reader_end(const struct reader *reader);

/* ---- writing, writer.c ----------------------------------------------------------------------- */

/* Builds messages, keys and signed data (RFC 4251 section 5). Each function appends one field. If a
 * field does not fit, nothing is written from then on; look at `failed` once, at the end. */

struct writer {
    uint8_t *bytes;
    size_t capacity;
    size_t used; /* never above capacity */
    bool failed;
};

void writer_init(struct writer *writer, void *bytes, size_t capacity);

void writer_u8(struct writer *writer, uint8_t value);
void writer_bool(struct writer *writer, bool value);
void writer_u32(struct writer *writer, uint32_t value);
void writer_bytes(struct writer *writer, const void *bytes, size_t count);

/* `string`: a uint32 length and the bytes. */
void writer_string(struct writer *writer, const void *bytes, size_t count);
void writer_text(struct writer *writer, const char *text);

/* `mpint` of a non-negative big-endian number of any length. The time depends on the count of
 * leading zero bytes, as the length of the encoding does. */
void writer_mpint(struct writer *writer, const uint8_t *big_endian, size_t count);

/* Begins a string whose length is not known yet. Returns a mark, with which writer_string_end()
 * fills in the length. Pairs nest. */
size_t writer_string_begin(struct writer *writer);
void writer_string_end(struct writer *writer, size_t mark);

/* ---- types of keys, ssh_key_types.c ---------------------------------------------------------- */

/* The names of public key types: RFC 8709, OpenSSH's PROTOCOL.u2f and PROTOCOL.certkeys. A name
 * stands first in a key blob and in a signature, in lines of files, and in the lists of algorithms
 * that the two sides offer. */

struct signature;

#define SSH_ED25519         "ssh-ed25519"
#define SSH_SK_ED25519      "sk-ssh-ed25519@openssh.com"
#define SSH_ED25519_CERT    "ssh-ed25519-cert-v01@openssh.com"
#define SSH_SK_ED25519_CERT "sk-ssh-ed25519-cert-v01@openssh.com"

/* The names of the types that a user may log in with, by IPC_KEY_*; "" for IPC_KEY_UNSUPPORTED. */
extern const char *const ssh_key_types[IPC_KEY_UNSUPPORTED + 1];

/* The IPC_KEY_* of this name, or IPC_KEY_UNSUPPORTED. */
enum ipc_key_type ssh_key_type_find(const struct reader *name);

/* True if this is the name of a type, of this server or of any other. */
bool ssh_key_type_is_known(const struct reader *name);

/* True if this is the name of a type that can't log in or sign certificates here. */
bool ssh_key_type_is_other(const struct reader *name);

/* A key on a FIDO authenticator, or a certificate of one. */
static inline bool ssh_key_type_is_sk(uint32_t type)
{
    return type == IPC_KEY_SK_ED25519 || type == IPC_KEY_SK_ED25519_CERT;
}

static inline bool ssh_key_type_is_certificate(uint32_t type)
{
    return type == IPC_KEY_ED25519_CERT || type == IPC_KEY_SK_ED25519_CERT;
}

/* The public key in a blob of the type ssh-ed25519; NULL for any other blob. */
const uint8_t *ssh_ed25519_read(struct reader blob);

/* A signature is `string name | string signature`, where the latter has 64 bytes. A FIDO key's
 * continues with `byte flags | uint32 counter` (OpenSSH's PROTOCOL.u2f). False for any other. */
bool ssh_signature_read(struct signature *signature, struct reader blob, bool sk);

/* ---- the exchange hash, exchange_hash.c ------------------------------------------------------ */

/* The hash function of a key exchange method, in steps: SHA-256 for curve25519-sha256, SHA-512 for
 * sntrup761x25519-sha512. */

#define HASH_MAX_BYTES 64

struct exchange_hash {
    bool sha512;
    union {
        crypto_hash_sha256_state sha256;
        crypto_hash_sha512_state sha512;
    } state;
};

void exchange_hash_begin(struct exchange_hash *hash, bool sha512);
void exchange_hash_bytes(struct exchange_hash *hash, const void *bytes, size_t count);

/* Adds a `string` of RFC 4251 section 5: a uint32 length and the bytes. */
void exchange_hash_string(struct exchange_hash *hash, const void *bytes, size_t count);

/* Adds K as the method encodes it: with SHA-512 a string of 64 bytes, with SHA-256 an mpint of the
 * first 32 (RFC 8731 section 3.1; draft-josefsson-ntruprime-ssh section 3). */
void exchange_hash_secret(struct exchange_hash *hash, const uint8_t secret[static 64]);

/* Writes the hash and wipes the state. Returns the hash's length, 32 or 64 bytes. */
size_t exchange_hash_end(struct exchange_hash *hash, uint8_t out[static HASH_MAX_BYTES]);

#endif
