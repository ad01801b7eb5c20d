#include "main.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEPT 2

static char *kept_environment[KEPT + 2];

/* The meaning of no TZ. But without TZ glibc checks the file at each call, which the child that
 * reads keys may not do. */
static char local_time[] = "TZ=:/etc/localtime";

static bool is(const char *variable, const char *name)
{
    return strncmp(variable, name, strlen(name)) == 0;
}

void launcher_environment_wipe(void)
{
    size_t count = 0;
    for (char **variable = environ; *variable != NULL; variable++) {
        if (count < KEPT && (is(*variable, "TZ=") || is(*variable, "CREDENTIALS_DIRECTORY="))) {
            kept_environment[count++] = *variable;
        } else {
            memset(*variable, 0, strlen(*variable));
        }
    }
    environ = kept_environment;
    if (getenv("TZ") == NULL) {
        kept_environment[count] = local_time;
    }
}
