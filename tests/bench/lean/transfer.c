#include "transfer.h"

#include <inttypes.h>
#include <stdio.h>

#include "fail.h"

void download_choose(struct download *download, const struct options *options)
{
    *download = (struct download){.run = options->command};
    if (options->command != NULL) {
        return;
    }
    if (options->bytes == 0) {
        fail(options->mode->name, "--command or --bytes is needed");
    }
    snprintf(download->command, sizeof(download->command), "head -c %" PRIu64 " /dev/zero",
             options->bytes);
    download->run = download->command;
    download->expected = options->bytes;
}

void download_check(const struct download *download, const struct session *session)
{
    if (download->expected > 0 && session->bytes != download->expected) {
        fail("session", "%" PRIu64 " bytes came of %" PRIu64, session->bytes, download->expected);
    }
}
