#include <sodium.h>
#include <stddef.h>
#include <stdio.h>

#include "exits.h"
#include "hostkey.h"
#include "limit.h"
#include "tool.h"
#include "tools.h"

static const char help[] =
    "usage: wrensshd-makekey [-q] [-i file] [-h] [-V] keydir\n"
    "Makes the host key of wrensshd in keydir, or repairs a damaged one. A good one is left "
    "alone.\n"
    "  -i  take the host key in this file, an OpenSSH ed25519 key without a passphrase,\n"
    "      or in this directory\n"
    "  -q  say nothing on success\n"
    "  -h  print this\n"
    "  -V  print the version\n";

static int make(const struct tool *tool, enum hostkey_change *change)
{
    struct hostkey key;
    int status = EXIT_TROUBLE;
    if (tool->value == NULL) {
        return hostkey_make(tool->keydir, NULL, change) == 0 ? 0 : EXIT_TROUBLE;
    }
    if (hostkey_load(&key, tool->value, &status) == 0) {
        status = hostkey_make(tool->keydir, &key, change) == 0 ? 0 : EXIT_TROUBLE;
    }
    sodium_memzero(&key, sizeof(key));
    return status;
}

int makekey_main(char **argv)
{
    static const char *const results[] = {
        [HOSTKEY_KEPT] = "already there",
        [HOSTKEY_MADE] = "made",
        [HOSTKEY_REPAIRED] = "repaired",
        [HOSTKEY_REPLACED] = "replaced: its secret half was damaged or missing",
    };
    struct tool tool = {.name = "wrensshd-makekey", .flags = "qi:hV", .help = help};
    enum hostkey_change change = HOSTKEY_KEPT;
    struct hostkey_list keys;
    char fingerprint[HOSTKEY_FINGERPRINT_BYTES];
    char text[LIMIT_PATH_BYTES + 192];
    int status = 0;

    if (tool_parse(&tool, argv, &status) != 0) {
        return status;
    }
    status = make(&tool, &change);
    if (status != 0 || tool.quiet) {
        return status;
    }
    if (hostkey_list(&keys, tool.keydir, &status) != 0) {
        return status;
    }
    hostkey_fingerprint(fingerprint, keys.public_keys[0]);
    const char *result =
        change == HOSTKEY_MADE && tool.value != NULL ? "imported" : results[change];
    snprintf(text, sizeof(text), "%s: host key %s, %s\n", tool.keydir, result, fingerprint);
    return tool_print(text);
}
