#include "sandbox_layers.h"

#include <stddef.h>
#include <stdio.h>

void sandbox_layers_name(char out[static SANDBOX_NAMES_BYTES], uint32_t layers)
{
    static const char names[][sizeof("no-new-privs")] = {
        "root", "uid", "groups", "no-new-privs", "not-dumpable", "rlimits", "landlock", "seccomp"};
    size_t used = 0;
    snprintf(out, SANDBOX_NAMES_BYTES, "none");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if ((layers & (1U << i)) != 0) {
            int count = snprintf(out + used, SANDBOX_NAMES_BYTES - used, "%s%s",
                                 used > 0 ? "," : "", names[i]);
            used += (size_t)count;
        }
    }
}
