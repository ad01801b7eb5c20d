/*
 * wrensshd-makekey and wrensshd-printkey.
 */
#include <sodium.h>
#include <stdio.h>

#include "hostkey.h"
#include "log.h"
#include "tools.h"
#include "wire.h"

/* ---- the command lines ----------------------------------------------------------------------- */

struct key_tool {
    bool quiet;        /* -q */
    const char *value; /* of -i or -r, or NULL */
    const char *keydir;
};

#define FLAGS_INTO struct key_tool
#define LAST_FLAGS                                                                                 \
    "  -h  print this\n"                                                                           \
    "  -V  print the version\n"

/* Reads the arguments. Returns 0 to go on, or -1 to exit with *flags->status. */
static int read_arguments(struct flags *flags, struct key_tool *tool)
{
    log_name(flags->name);
    int flag = flags_next(flags);
    if (flag != FLAGS_END) {
        return tool_answer(flags, flag);
    }
    tool->keydir = flags->rest[0];
    if (tool->keydir == NULL) {
        return flags_refuse(flags, "no key directory", NULL);
    }
    return flags->rest[1] == NULL ? 0 : flags_refuse_second(flags, flags->rest[1]);
}

/* ---- wrensshd-makekey ------------------------------------------------------------------------ */

#define MAKEKEY_FLAGS(ROW)                                                                         \
    ROW('i', FLAG_TEXT, value, 0, UINT32_MAX,                                                      \
        "  -i  take the host key in this file, an OpenSSH ed25519 key without a passphrase,\n"     \
        "      or in this directory\n")                                                            \
    ROW('q', FLAG_SET, quiet, true, 0, "  -q  say nothing on success\n")

static const struct flag makekey_flags[] = {MAKEKEY_FLAGS(FLAG_ROW){0}};

static const char makekey_help[] =
    "usage: wrensshd-makekey [-q] [-i file] [-h] [-V] keydir\n"
    "Makes the host key of wrensshd in keydir, or repairs a damaged one. A good one is left\n"
    "alone, and so is OpenSSH's ssh_host_ed25519_key.\n" MAKEKEY_FLAGS(FLAG_HELP) LAST_FLAGS;

/* If the server uses an OpenSSH key, a new pair would take precedence, and clients would see
 * another host key: only -i makes one. Here the OpenSSH key must only be usable. */
static int make_key(const struct key_tool *tool, const char **result)
{
    static const char *const results[] = {
        [HOSTKEY_KEPT] = "already there",
        [HOSTKEY_MADE] = "made",
        [HOSTKEY_REPAIRED] = "repaired",
        [HOSTKEY_REPLACED] = "replaced: its secret half was damaged or missing",
    };
    struct hostkey key;
    enum hostkey_change change = HOSTKEY_KEPT;
    int status = 0;
    bool imports = tool->value != NULL;
    bool openssh = !imports && hostkey_is_openssh(tool->keydir);
    if ((imports || openssh) &&
        hostkey_load(&key, imports ? tool->value : tool->keydir, &status) != 0) {
        return status;
    }
    if (!openssh && hostkey_make(tool->keydir, imports ? &key.first : NULL, &change) != 0) {
        status = EXIT_TROUBLE;
    }
    sodium_memzero(&key, sizeof(key));
    *result = openssh                             ? "already there, in OpenSSH's format"
              : imports && change == HOSTKEY_MADE ? "imported"
                                                  : results[change];
    return status;
}

int makekey_main(char **argv)
{
    const char *result = "";
    struct hostkey key;
    char fingerprint[FINGERPRINT_BYTES];
    int status = 0;
    struct key_tool tool = {.quiet = false};
    struct flags flags =
        flags_begin("wrensshd-makekey", makekey_help, makekey_flags, &tool, argv, &status);

    if (read_arguments(&flags, &tool) != 0) {
        return status;
    }
    status = make_key(&tool, &result);
    if (status != 0 || tool.quiet || hostkey_load_public(&key, tool.keydir, &status) != 0) {
        return status;
    }
    hostkey_fingerprint(fingerprint, key.first.public_key);
    return tool_printed(
        dprintf(STDOUT_FILENO, "%s: host key %s, %s\n", tool.keydir, result, fingerprint));
}

/* ---- wrensshd-printkey ----------------------------------------------------------------------- */

/* Enough for any DNS name in text form, with escapes and the final dot. */
#define NAME_BYTES 1024

#define PRINTKEY_FLAGS(ROW)                                                                        \
    ROW('r', FLAG_TEXT, value, 0, UINT32_MAX,                                                      \
        "  -r  print an SSHFP record for the DNS instead, of a host with this name\n")

static const struct flag printkey_flags[] = {PRINTKEY_FLAGS(FLAG_ROW){0}};

static const char printkey_help[] =
    "usage: wrensshd-printkey [-r name] [-h] [-V] keydir\n"
    "Prints the host keys in keydir, which may also be an OpenSSH key: of each the line for\n"
    "known_hosts or authorized_keys, then its fingerprint as ssh-keygen -l shows "
    "it.\n" PRINTKEY_FLAGS(FLAG_HELP) LAST_FLAGS;

/* With a name an SSHFP record, RFC 4255 section 3.2: algorithm 4 is Ed25519 (RFC 7479), fingerprint
 * type 2 SHA-256 (RFC 6594). */
static int print_key(const char *name, const uint8_t public_key[static 32])
{
    uint8_t blob[HOSTKEY_BLOB_BYTES];
    uint8_t hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof(hash) + 1];
    char base64[sodium_base64_ENCODED_LEN(HOSTKEY_BLOB_BYTES, sodium_base64_VARIANT_ORIGINAL)];
    char fingerprint[FINGERPRINT_BYTES];
    hostkey_blob(blob, public_key);
    crypto_hash_sha256(hash, blob, sizeof(blob));
    if (name != NULL) {
        sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
        return tool_printed(dprintf(STDOUT_FILENO, "%s IN SSHFP 4 2 %s\n", name, hex));
    }
    sodium_bin2base64(base64, sizeof(base64), blob, sizeof(blob), sodium_base64_VARIANT_ORIGINAL);
    fingerprint_write(fingerprint, hash);
    return tool_printed(dprintf(STDOUT_FILENO, SSH_ED25519 " %s\n256 %s no comment (ED25519)\n",
                                base64, fingerprint));
}

int printkey_main(char **argv)
{
    struct hostkey key;
    int status = 0;
    struct key_tool tool = {.quiet = false};
    struct flags flags =
        flags_begin("wrensshd-printkey", printkey_help, printkey_flags, &tool, argv, &status);

    if (read_arguments(&flags, &tool) != 0) {
        return status;
    }
    if (tool.value != NULL && strlen(tool.value) > NAME_BYTES) {
        flags_refuse(&flags, "the name is too long", NULL);
        return status;
    }
    if (hostkey_load_public(&key, tool.keydir, &status) != 0) {
        return status;
    }
    status = print_key(tool.value, key.first.public_key);
    return status == 0 && key.has_second ? print_key(tool.value, key.second.public_key) : status;
}
