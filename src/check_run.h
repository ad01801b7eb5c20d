/*
 * -T: writes on stdout what a login would meet, as lines of the log, and serves nobody. It asks
 * what a login asks: the sandbox in a child, and the child that reads keys.
 */
#ifndef WREN_CHECK_RUN_H
#define WREN_CHECK_RUN_H

#include "options.h"

/* Returns the exit code: 0 if a login could work, EXIT_USAGE if something prevents it. Trick: own
 * frame, as of the programs in tools.h. */
__attribute__((noinline)) int check_run(const struct options *options);

#endif
