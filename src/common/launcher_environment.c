#include "launcher_environment.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limit.h"

#define KEPT 2

static const char *const names[KEPT] = {"TZ=", "CREDENTIALS_DIRECTORY="};

static char kept[KEPT][LIMIT_PATH_BYTES];
static char *kept_environment[KEPT + 2];

/* What no TZ means anyway, but glibc looks at the file each time then, which the child that reads
 * keys may not. */
static char local_time[] = "TZ=:/etc/localtime";

/* Keeps the variable if it is one that we use. */
static size_t keep(size_t count, const char *variable)
{
    for (size_t i = 0; i < KEPT && count < KEPT; i++) {
        size_t bytes = strlen(variable) + 1;
        if (strncmp(variable, names[i], strlen(names[i])) == 0 && bytes <= LIMIT_PATH_BYTES) {
            memcpy(kept[count], variable, bytes);
            kept_environment[count] = kept[count];
            return count + 1;
        }
    }
    return count;
}

void launcher_environment_wipe(void)
{
    size_t count = 0;
    for (char **variable = environ; *variable != NULL; variable++) {
        count = keep(count, *variable);
        memset(*variable, 0, strlen(*variable));
    }
    environ = kept_environment;
    if (getenv("TZ") == NULL) {
        kept_environment[count] = local_time;
    }
}
