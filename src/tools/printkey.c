#include <sodium.h>
#include <stddef.h>
#include <stdio.h>

#include "hostkey.h"
#include "tools.h"

static const char help[] =
    "usage: wrensshd-printkey [-h] [-V] keydir\n"
    "Prints the host key in keydir: the line for known_hosts or authorized_keys, then its\n"
    "fingerprint as ssh-keygen -l shows it.\n"
    "  -h  print this\n"
    "  -V  print the version\n";

int printkey_main(int argc, char **argv)
{
    struct tool tool = {.name = "wrensshd-printkey", .letters = "+hV", .help = help};
    uint8_t public_key[32];
    uint8_t blob[HOSTKEY_BLOB_BYTES];
    char base64[sodium_base64_ENCODED_LEN(HOSTKEY_BLOB_BYTES, sodium_base64_VARIANT_ORIGINAL)];
    char fingerprint[HOSTKEY_FINGERPRINT_BYTES];
    char text[256];
    int status = 0;

    if (tool_parse(&tool, argc, argv, &status) != 0 ||
        hostkey_load_public(public_key, tool.keydir, &status) != 0) {
        return status;
    }
    hostkey_blob(blob, public_key);
    sodium_bin2base64(base64, sizeof(base64), blob, sizeof(blob), sodium_base64_VARIANT_ORIGINAL);
    hostkey_fingerprint(fingerprint, public_key);
    snprintf(text, sizeof(text), "ssh-ed25519 %s\n256 %s no comment (ED25519)\n", base64,
             fingerprint);
    return tool_print(text);
}
