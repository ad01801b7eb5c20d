/*
 * What the files of this room share: the files of host keys, and how they are read.
 */
#ifndef WREN_HOSTKEY_INTERNAL_H
#define WREN_HOSTKEY_INTERNAL_H

#include "hostkey.h"

/* ---- what is wrong, hostkey.c ---------------------------------------------------------------- */

/*
 * What is wrong with a host key: its words, which follow the file's name in the log, and what -T
 * says about how to remedy it. "" means the remedy of the next one. The path follows a remedy that
 * ends with a blank; after wrensshd-makekey, the key directory.
 */
#define HOSTKEY_EACH_FAULT(FAULT)                                                                  \
    /* A system call failed: strerror(errno) in place of the words of three. */                    \
    FAULT(ERROR, "", "")                                                                           \
    FAULT(LONG_PATH, "has too long a path", "")                                                    \
    FAULT(TWO_KEYS, "holds a public and a secret key that do not match", "see wrensshd(8)")        \
    FAULT(NO_RIGHT, "", "run it as root")                                                          \
    FAULT(NO_FILE, "", "")                                                                         \
    FAULT(NOT_64_BYTES, "not 64 bytes long", "")                                                   \
    FAULT(NOT_32_BYTES, "not 32 bytes long", "")                                                   \
    FAULT(TWO_HALVES, "its two halves do not match", "")                                           \
    FAULT(OTHER_PUBLIC, "does not match the secret key", "wrensshd-makekey ")                      \
    FAULT(NOT_REGULAR, "not a regular file", "put a readable file there")                          \
    FAULT(OWNER, "owned by neither root nor the server's user", "chown root ")                     \
    FAULT(SECRET_MODE, "secret key is accessible by group or others", "chmod go= ")                \
    FAULT(PUBLIC_MODE, "public key is writable by group or others", "chmod go-w ")                 \
    FAULT(NO_CREDENTIALS,                                                                          \
          "systemd has handed over no credentials: CREDENTIALS_DIRECTORY is not set", "")          \
    FAULT(CREDENTIAL, "is not the name of a credential", "LoadCredential= in the unit")            \
    FAULT(PASSPHRASE,                                                                              \
          "is protected by a passphrase; a copy without one is needed (ssh-keygen -p)",            \
          "ssh-keygen -p -f ")                                                                     \
    FAULT(PUBLIC, "is a public key, not a private one", "name the private key: leave out .pub")    \
    FAULT(TOO_LONG, "is too long", "")                                                             \
    FAULT(NO_KEY, "is not an OpenSSH private key",                                                 \
          "this is no host key: name one, or its directory")                                       \
    FAULT(PEM, "is an old PEM key, not one in OpenSSH's format (ssh-keygen -t ed25519)", "")       \
    FAULT(PUTTY, "is a key of PuTTY, not one in OpenSSH's format", "")                             \
    FAULT(RSA, "is an RSA key; the host key must be ed25519", "")                                  \
    FAULT(ECDSA, "is an ECDSA key; the host key must be ed25519", "")                              \
    FAULT(DSA, "is a DSA key; the host key must be ed25519", "")                                   \
    FAULT(FIDO, "is a FIDO key; the host key must be ed25519", "")                                 \
    FAULT(OTHER_TYPE, "is a key of another type; the host key must be ed25519", "")                \
    FAULT(NOT_ONE_KEY, "does not hold exactly one key", "")                                        \
    FAULT(NO_PUBLIC_KEY, "is not a public key of the type ssh-ed25519", "")                        \
    FAULT(DAMAGED_PUBLIC, "is a damaged public key", "")                                           \
    FAULT(DAMAGED, "is a damaged OpenSSH private key", "wrensshd-makekey DIR")

#define HOSTKEY_ENUMERATOR(name, words, remedy) FAULT_##name,

enum hostkey_fault { FAULT_NONE, HOSTKEY_EACH_FAULT(HOSTKEY_ENUMERATOR) FAULTS };

/* The words of a fault; of a failed call, as errno has it. */
const char *hostkey_words(enum hostkey_fault fault);

/* The fault of a call that failed with errno. */
enum hostkey_fault hostkey_error(void);

/* True of a file that is not regular, or has the wrong owner or mode. */
static inline bool hostkey_is_unsafe(enum hostkey_fault fault)
{
    return fault >= FAULT_NOT_REGULAR && fault <= FAULT_PUBLIC_MODE;
}

/* As log_advised(), with the words and the remedy. */
void hostkey_log_fault(const char *what, const char *path, enum hostkey_fault fault);

/* ---- the files, hostkey.c -------------------------------------------------------------------- */

/* The files of tinysshd's pair, and how a key's file is read. Shared by what loads and what makes
 * the host key. */

struct hostkey_file {
    const char *name;
    const char *temporary; /* its name while it is written; one maker at a time */
    size_t bytes;
    mode_t forbidden; /* mode bits that must not be set */
    mode_t mode;      /* the one it is made with */
};

extern const struct hostkey_file hostkey_public_file;
extern const struct hostkey_file hostkey_secret_file;

/* Both return FAULT_NONE, or what is wrong; then what was read is wiped. */

/* Reads one file of the key directory open as `directory` into `out`, which has room for
 * file->bytes. */
enum hostkey_fault hostkey_read_file(int directory, const struct hostkey_file *file, uint8_t *out);

/* Reads the file open as `fd` from its start, at most `room` bytes; none of the bits in `forbidden`
 * may be set in its mode. With a read bit among them it is a secret. After a failure *count is 0.
 */
enum hostkey_fault hostkey_read(int fd, mode_t forbidden, void *out, size_t room, size_t *count);

/* Derives the public key from the secret key's seed. True if the copy in the last 32 bytes of the
 * secret key is the same. */
bool hostkey_derive(uint8_t public_key[static 32], const uint8_t secret_key[static 64]);

/* ---- the format of OpenSSH, openssh_key.c ---------------------------------------------------- */

/* What ssh-keygen writes of a host key: an OpenSSH private key file (openssh-key-v1, OpenSSH's
 * PROTOCOL.key) that holds one unencrypted ed25519 key, the public key file, and a certificate. */

/* The largest file that is read. An RSA key of 16384 bits fits, so that the log can name its type.
 */
#define OPENSSH_KEY_FILE_BYTES 16384

/*
 * Reads the file's text. Returns FAULT_NONE, or what is wrong with it; then the pair is zero. The
 * text and the secret key are secret: the time does not depend on their bytes.
 */
enum hostkey_fault openssh_key_parse(struct hostkey_pair *pair, const char *text, size_t count);

/* Does the same for the public key file beside it: "ssh-ed25519 base64 [comment]". */
enum hostkey_fault openssh_key_parse_public(uint8_t public_key[static 32], const char *text,
                                            size_t count);

/* ---- host certificates, openssh_key.c -------------------------------------------------------- */

/*
 * A host certificate, ssh-ed25519-cert-v01@openssh.com (OpenSSH's PROTOCOL.certkeys), as
 * `ssh-keygen -s CA -h` writes it beside the host key. The clients judge the CA and what the
 * certificate says. Here it must only be a host certificate, and for our key.
 */

/* The largest file: the certificate in base64, its type, and a comment. */
#define HOST_CERTIFICATE_FILE_BYTES (LIMIT_HOST_CERTIFICATE_BYTES / 3 * 4 + 512)

/*
 * Reads the line "type base64 [comment]". Returns NULL and the certificate, as it is sent for K_S.
 * Or returns what is wrong with it, in words that follow the file's name in the log; then
 * *certificate_bytes is 0.
 */
const char *host_certificate_parse(uint8_t certificate[static LIMIT_HOST_CERTIFICATE_BYTES],
                                   size_t *certificate_bytes, const char *text, size_t count,
                                   const uint8_t public_key[static 32]);

#endif
