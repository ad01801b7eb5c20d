/*
 * wrensshd-sftp from its command line to its end.
 */
#include <stdio.h>

#include "log_outputs.h"
#include "process.h"
#include "sftp.h"

static struct sftp sftp;

static int end(const char *reason, int status)
{
    struct sftp_report report = {
        .kind = SFTP_REPORT_END, .layers = sftp.layers, .counts = sftp.counts};
    snprintf(report.text, sizeof(report.text), "%s", reason);
    sftp_log_send(&report);
    log_finish();
    return status;
}

/* Reports why the server can't start, also on stderr, which the client's user sees: in a jail
 * without the path. */
static int refuse_start(const char *path, int error, bool in_jail)
{
    char text[LIMIT_NOTE_BYTES + 1];
    snprintf(text, sizeof(text), "%.200s: %s", path, strerror(error));
    dprintf(STDERR_FILENO, "wrensshd-sftp: %s\n", in_jail ? strerror(error) : text);
    return end(text, EXIT_TROUBLE);
}

int sftp_main(char **argv)
{
    static struct sftp_options options;
    int status = 0;
    log_name("wrensshd-sftp");
    bool reports = sftp_log_begin();
    if (sftp_options_parse(&options, argv, reports, &status) != 0) {
        return status == EXIT_USAGE ? end("wrong flags", status) : status;
    }
    if (!reports) {
        log_facility(options.facility);
        log_open(!options.log_to_stderr, options.level);
        log_connect();
        log_syslog_stay();
    }
    signals_reset();
    if (options.has_umask) {
        umask(options.umask);
    }
    owners_open();
    listing_begin();
    const char *jail = options.jail[0] != '\0' ? options.jail : NULL;
    const char *directory = options.directory[0] != '\0' ? options.directory : NULL;
    int error = paths_begin(&sftp.paths, jail, directory);
    if (error != 0) {
        const char *wanted = directory != NULL ? directory : "working directory";
        return refuse_start(jail != NULL && sftp.paths.jail < 0 ? jail : wanted, error,
                            jail != NULL);
    }
    sftp.read_only = options.read_only;
    sftp.reports_files = options.level >= LOG_DETAIL;
    sftp.allowed = options.allowed;
    handles_begin(&sftp);
    sftp.layers = sftp_sandbox_enter(sftp.paths.jail, sftp.read_only);
    sftp_run(&sftp);
    for (size_t i = 0; sftp.reports_files && i < LIMIT_SFTP_HANDLES; i++) {
        sftp_log_file(&sftp, &sftp.handles[i]);
    }
    return end(sftp.ended, sftp.failed ? EXIT_TROUBLE : 0);
}
