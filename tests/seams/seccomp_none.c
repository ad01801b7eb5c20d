/* In place of net/seccomp.c in sanitizer builds: their runtime makes system calls at will and
 * reports on stderr. The layer is missing then, and the daemon says so; it serves only with -B. */
#include "seccomp.h"

#include <unistd.h>

#include "ipc.h"

bool seccomp_enter(void)
{
    close(NULL_DESCRIPTOR);
    return false;
}
