#include "authkeys_internal.h"

#include <stdio.h>

static struct authkeys_finding *begin_finding(struct authkeys_report *report)
{
    struct authkeys_finding *finding = &report->findings[report->count];
    memset(finding, 0, sizeof(*finding));
    finding->file = report->file;
    return finding;
}

/* Beyond the limit a finding that may work replaces one that can't: the last one, or any if a file
 * of -R may revoke those that are kept. */
static void keep_finding(struct authkeys_report *report)
{
    struct authkeys_finding *findings = report->findings;
    uint32_t first = report->may_be_revoked ? 0 : LIMIT_EXPLAINED_LINES - 1;
    uint32_t end = LIMIT_EXPLAINED_LINES;
    if (report->count < LIMIT_EXPLAINED_LINES) {
        report->count++;
        return;
    }
    report->more++;
    while (end > first && authkeys_may_work(findings[end - 1].reason)) {
        end--;
    }
    if (end > first && authkeys_may_work(findings[LIMIT_EXPLAINED_LINES].reason)) {
        memmove(&findings[end - 1], &findings[end],
                (LIMIT_EXPLAINED_LINES + 1 - end) * sizeof(findings[0]));
    }
}

static enum authkeys_reason explain_line(struct authkeys_report *report,
                                         struct authkeys_finding *finding)
{
    const struct key_line *line = &report->line;
    enum authkeys_reason fault = key_line_read_key(&report->key, line);
    /* OpenSSH takes the options before the blank. */
    if (line->options.left > 0 && line->options.bytes[line->options.left - 1] == ',') {
        return AUTHKEYS_LINE_BLANK;
    }
    if (reader_is(&line->options, "-----BEGIN") && !reader_is(&line->type, "PUBLIC")) {
        return AUTHKEYS_LINE_PRIVATE;
    }
    if (reader_is(&line->options, "----") && reader_is(&line->type, "BEGIN")) {
        return AUTHKEYS_LINE_PUTTY;
    }
    if (fault == AUTHKEYS_LINE_OTHER_TYPE) {
        authkeys_name_option(finding->option, line->type.bytes, line->type.left);
        return report->given.of_admins || authkeys_options_name_authority(line->options)
                   ? AUTHKEYS_AUTHORITY_TYPE
                   : fault;
    }
    if (fault != AUTHKEYS_GOOD) {
        return fault;
    }
    memcpy(finding->fingerprint, report->key.fingerprint, sizeof(finding->fingerprint));
    enum authkeys_reason reason =
        authkeys_judge_line(&report->grant, finding->option, line->options, &report->given);
    if (reason == AUTHKEYS_FOR_AUTHORITY) {
        authkeys_name_option(finding->option, "cert-authority", strlen("cert-authority"));
    }
    return reason;
}

static void explain_lines(struct authkeys_report *report, int fd)
{
    struct reader line;
    bool within = false; /* a key of several lines: the first has its reason */
    int got;
    lines_init(&report->lines, fd);
    while ((got = lines_next(&report->lines, &line)) != 0) {
        struct authkeys_finding *finding = begin_finding(report);
        finding->line = report->lines.number;
        if (got < 0) {
            finding->reason = lines_stopped ? AUTHKEYS_TOO_SLOW : AUTHKEYS_UNREADABLE;
            finding->error = (uint32_t)errno;
            keep_finding(report);
            return;
        }
        if (report->lines.too_long) {
            finding->reason = AUTHKEYS_LINE_TOO_LONG;
        } else if (key_line_read(&report->line, line)) {
            finding->reason = explain_line(report, finding);
            if (within && finding->reason == AUTHKEYS_LINE_NO_TYPE) {
                continue;
            }
            within =
                finding->reason == AUTHKEYS_LINE_PRIVATE || finding->reason == AUTHKEYS_LINE_PUTTY;
        } else {
            continue;
        }
        keep_finding(report);
    }
}

/* Without `told` also why the file can't be used. */
static void explain_file(struct authkeys_report *report, const struct authkeys_file *file,
                         uint32_t number, bool told)
{
    report->file = number;
    report->given.of_admins = number == LIMIT_KEY_FILES;
    snprintf(report->paths[number], LIMIT_PATH_BYTES, "%s", file->path);
    if (file->fd >= 0) {
        explain_lines(report, file->fd);
    } else if (!told) {
        struct authkeys_finding *finding = begin_finding(report);
        finding->reason = file->reason;
        finding->owner = file->owner;
        finding->mode = file->mode;
        finding->error = (uint32_t)file->error;
        keep_finding(report);
    }
}

static void note_revoked(void *noted, const uint8_t fingerprint[static 32])
{
    struct authkeys_report *report = noted;
    for (uint32_t i = 0; i < report->count; i++) {
        struct authkeys_finding *finding = &report->findings[i];
        if (memcmp(finding->fingerprint, fingerprint, sizeof(finding->fingerprint)) == 0) {
            finding->reason = AUTHKEYS_REVOKED;
            finding->option[0] = '\0';
        }
    }
}

/* The file of -R is read once for all lines: in strict mode the child can't go back to its start.
 */
void authkeys_explain(struct authkeys_verdict *verdict, struct authkeys_report *report,
                      const struct authkeys_query *query, const struct account *account,
                      const struct authkeys_files *files)
{
    const struct revoked_offer offer = {.note = note_revoked, .noted = report};
    report->given = (struct authkeys_case){.query = query, .account = account, .by_anybody = true};
    report->may_be_revoked = files->revoked.path != NULL;
    for (uint32_t i = 0; i < LIMIT_KEY_FILES && files->users[i].path != NULL; i++) {
        bool told = authkeys_note_file(verdict, &files->users[i]);
        explain_file(report, &files->users[i], i,
                     told || files->users[i].reason == AUTHKEYS_MISSING);
    }
    if (files->authorities.path != NULL) {
        explain_file(report, &files->authorities, LIMIT_KEY_FILES, false);
    }
    if (authkeys_is_revoked(verdict, &files->revoked, &offer)) {
        report->count = report->more = 0;
    }
}
