/*
 * What bulk modes run when they are not told what to run.
 */
#ifndef LEAN_TRANSFER_H
#define LEAN_TRANSFER_H

#include "client.h"

struct download {
    char command[64];
    const char *run;   /* --command, else one that writes --bytes zeros */
    uint64_t expected; /* bytes of the latter, else 0 */
};

void download_choose(struct download *download, const struct options *options);

/* Fails if other than the expected bytes have come. */
void download_check(const struct download *download, const struct session *session);

#endif
