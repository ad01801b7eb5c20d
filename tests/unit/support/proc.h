/* What /proc says of another process. */
#ifndef WREN_UNIT_PROC_H
#define WREN_UNIT_PROC_H

#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "unit.h"

/* The rest of the line that starts with `name`, newline included; "" if there is none. */
static inline void proc_line(char out[static 256], pid_t pid, const char *file_name,
                             const char *name)
{
    char path[64], line[4096];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, file_name);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    out[0] = '\0';
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            snprintf(out, 256, "%.255s", line + strlen(name));
        }
    }
    fclose(file);
}

static inline void proc_status(char out[static 256], pid_t pid, const char *name)
{
    proc_line(out, pid, "status", name);
}

static inline void proc_limit(char out[static 256], pid_t pid, const char *name)
{
    proc_line(out, pid, "limits", name);
}

#endif
