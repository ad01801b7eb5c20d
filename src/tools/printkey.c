#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "hostkey.h"
#include "ssh_key_types.h"
#include "tool.h"
#include "tools.h"

/* Enough for any DNS name in text form, with escapes and the final dot. */
#define NAME_BYTES 1024
#define TEXT_BYTES (NAME_BYTES + 256)

static const char help[] =
    "usage: wrensshd-printkey [-r name] [-h] [-V] keydir\n"
    "Prints the host keys in keydir, which may also be an OpenSSH key: of each the line for\n"
    "known_hosts or authorized_keys, then its fingerprint as ssh-keygen -l shows it.\n"
    "  -r  print an SSHFP record for the DNS instead, of a host with this name\n"
    "  -h  print this\n"
    "  -V  print the version\n";

/* RFC 4255 section 3.2: algorithm 4 is Ed25519 (RFC 7479), fingerprint type 2 SHA-256 (RFC 6594).
 */
static int print_record(const char *name, const uint8_t public_key[static 32])
{
    uint8_t blob[HOSTKEY_BLOB_BYTES];
    uint8_t hash[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof(hash) + 1];
    char text[TEXT_BYTES];
    hostkey_blob(blob, public_key);
    crypto_hash_sha256(hash, blob, sizeof(blob));
    sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
    snprintf(text, sizeof(text), "%s IN SSHFP 4 2 %s\n", name, hex);
    return tool_print(text);
}

static int print_key(const uint8_t public_key[static 32])
{
    uint8_t blob[HOSTKEY_BLOB_BYTES];
    char base64[sodium_base64_ENCODED_LEN(HOSTKEY_BLOB_BYTES, sodium_base64_VARIANT_ORIGINAL)];
    char fingerprint[HOSTKEY_FINGERPRINT_BYTES];
    char text[256];
    hostkey_blob(blob, public_key);
    sodium_bin2base64(base64, sizeof(base64), blob, sizeof(blob), sodium_base64_VARIANT_ORIGINAL);
    hostkey_fingerprint(fingerprint, public_key);
    snprintf(text, sizeof(text), SSH_ED25519 " %s\n256 %s no comment (ED25519)\n", base64,
             fingerprint);
    return tool_print(text);
}

int printkey_main(char **argv)
{
    struct tool tool = {.name = "wrensshd-printkey", .flags = "r:hV", .help = help};
    struct hostkey_list keys;
    int status = 0;

    if (tool_parse(&tool, argv, &status) != 0) {
        return status;
    }
    if (tool.value != NULL && strlen(tool.value) > NAME_BYTES) {
        return tool_refuse(&tool, "the name is too long");
    }
    if (hostkey_list(&keys, tool.keydir, &status) != 0) {
        return status;
    }
    for (size_t i = 0; i < keys.count && status == 0; i++) {
        status = tool.value != NULL ? print_record(tool.value, keys.public_keys[i])
                                    : print_key(keys.public_keys[i]);
    }
    return status;
}
