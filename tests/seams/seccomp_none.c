/* In place of net/seccomp.c in sanitizer builds: their runtime reports on stderr, which must stay
 * open. The layer is missing then, and the daemon says so; it serves only with -B. */
#include "seccomp.h"

#include <unistd.h>

#include "ipc.h"

bool seccomp_enter(void)
{
    close(NULL_DESCRIPTOR);
    return false;
}
