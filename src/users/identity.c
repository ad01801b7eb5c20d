#include "identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "account_file.h"

#define OVERFLOW_ID 65534

#define NAMES 2

/* The first is preferred. */
static const char *const names[NAMES] = {"wrensshd", "nobody"};

/* Reads one line. Of each name the first line counts; root's ids do not. */
static void read_line(struct account_file *file, struct identity found[static NAMES],
                      bool seen[static NAMES])
{
    char name[sizeof("wrensshd")];
    struct user user;
    bool fits = true;
    if (!account_file_field(file, ':', name, sizeof(name))) {
        return;
    }
    for (size_t i = 0; i < NAMES; i++) {
        if (seen[i] || strcmp(name, names[i]) != 0 || !passwd_read_rest(file, &user, &fits)) {
            continue;
        }
        seen[i] = true;
        if (fits && user.uid != 0 && user.gid != 0) {
            found[i] = (struct identity){.uid = user.uid, .gid = user.gid};
        }
        return;
    }
}

struct identity identity_find(void)
{
    struct identity found[NAMES] = {{0}};
    bool seen[NAMES] = {false};
    struct account_file file;
    if (account_file_open(&file, "passwd") > 0) {
        while (found[0].uid == 0 && account_file_next(&file)) {
            read_line(&file, found, seen);
        }
        if (account_file_close(&file) == 0) {
            for (size_t i = 0; i < NAMES; i++) {
                if (found[i].uid != 0) {
                    return found[i];
                }
            }
        }
    }
    return (struct identity){.uid = OVERFLOW_ID, .gid = OVERFLOW_ID};
}
