#include <stddef.h>
#include <stdio.h>

#include "hostkey.h"
#include "limit.h"
#include "tools.h"

static const char help[] = "usage: wrensshd-makekey [-q] [-h] [-V] keydir\n"
                           "Makes the host key of wrensshd in keydir, or repairs a damaged one. A "
                           "good one is left alone.\n"
                           "  -q  say nothing on success\n"
                           "  -h  print this\n"
                           "  -V  print the version\n";

int makekey_main(int argc, char **argv)
{
    static const char *const words[] = {
        [HOSTKEY_KEPT] = "already there",
        [HOSTKEY_MADE] = "made",
        [HOSTKEY_REPAIRED] = "repaired",
    };
    struct tool tool = {.name = "wrensshd-makekey", .letters = "+qhV", .help = help};
    enum hostkey_change change = HOSTKEY_KEPT;
    struct hostkey key;
    char fingerprint[HOSTKEY_FINGERPRINT_BYTES];
    char text[LIMIT_PATH_BYTES + 128];
    int status = 0;

    if (tool_parse(&tool, argc, argv, &status) != 0) {
        return status;
    }
    if (hostkey_make(tool.keydir, &change) != 0) {
        return 111;
    }
    if (tool.quiet) {
        return 0;
    }
    if (hostkey_load_public(key.public_key, tool.keydir, &status) != 0) {
        return status;
    }
    hostkey_fingerprint(fingerprint, key.public_key);
    snprintf(text, sizeof(text), "%s: host key %s, %s\n", tool.keydir, words[change], fingerprint);
    return tool_print(text);
}
