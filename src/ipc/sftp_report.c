#include "grant.h"

#include "log.h"
#include "process.h"

bool sftp_report_is_valid(const struct sftp_report *report, size_t bytes)
{
    return bytes == sizeof(*report) &&
           (report->kind == SFTP_REPORT_END || report->kind == SFTP_REPORT_FILE ||
            report->kind == SFTP_REPORT_FULL) &&
           memchr(report->text, '\0', sizeof(report->text)) != NULL;
}

/* A server that ends before it enters its sandbox has no layers. */
static void add_layers(struct log_line *line, uint32_t layers)
{
    char names[SANDBOX_NAMES_BYTES];
    if (layers != 0) {
        sandbox_layers_name(names, layers);
        log_text(line, "layers", names);
        sandbox_layers_name(names, SANDBOX_REQUIRED_AS_USER & ~layers);
        log_text(line, "missing", names);
    }
}

void sftp_report_log(const struct sftp_report *report, const struct sftp_origin *origin)
{
    struct log_line line;
    bool of_file = report->kind == SFTP_REPORT_FILE;
    bool of_end = report->kind == SFTP_REPORT_END;
    bool of_full = report->kind == SFTP_REPORT_FULL;
    log_begin(&line, of_file ? "sftp-file" : of_full ? "sftp-full" : "sftp");
    if (origin != NULL) {
        log_text(&line, "user", origin->user);
        log_number(&line, "channel", origin->channel);
    }
    if (of_file) {
        log_text(&line, "name", report->text);
    } else {
        add_layers(&line, report->layers);
    }
    if (of_end) {
        log_number(&line, "files", report->counts.files);
    }
    if (of_end || of_file) {
        log_number(&line, "read", report->counts.read_bytes);
        log_number(&line, "written", report->counts.written_bytes);
    }
    if (of_end) {
        log_number(&line, "refused", report->counts.refused);
    }
    if (!of_file) {
        log_text(&line, "reason", report->text);
    }
    if (origin != NULL) {
        log_number(&line, "pid", (uint64_t)origin->pid);
        log_text(&line, "key", origin->key);
    }
    log_end(&line, of_file ? LOG_DETAIL : LOG_EVENT);
}
