#include "sftp.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#define HANDLE_BYTES 8

/* By prlimit(2), as confine_limit() does. */
void handles_begin(struct sftp *sftp)
{
    uint32_t most = LIMIT_SFTP_HANDLES + LIMIT_SFTP_DESCRIPTORS;
    struct rlimit files = {.rlim_max = most};
    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &files);
    most = files.rlim_max < most ? (uint32_t)files.rlim_max : most;
    files.rlim_cur = most;
    syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &files, NULL);
    sftp->most_handles = most > LIMIT_SFTP_DESCRIPTORS ? most - LIMIT_SFTP_DESCRIPTORS : 0;
}

/* The log says once in a session that a limit was reached. */
static enum sftp_status refuse_handle(struct sftp *sftp, int error)
{
    struct sftp_report report = {.kind = SFTP_REPORT_FULL};
    if ((error == EMFILE || error == ENFILE) && !sftp->was_full) {
        sftp->was_full = true;
        snprintf(report.text, sizeof(report.text), "too many files are open; a session may have %u",
                 sftp->most_handles);
        sftp_log_send(&report);
    }
    return answer_status_of(error);
}

enum sftp_status handle_open(struct sftp *sftp, const char *path, int flags, mode_t mode)
{
    uint32_t row = 0;
    while (row < sftp->most_handles && sftp->handles[row].fd > 0) {
        row++;
    }
    if (row == sftp->most_handles) {
        return refuse_handle(sftp, EMFILE);
    }
    struct handle *handle = &sftp->handles[row];
    int fd = -1;
    int error = paths_open(&sftp->paths, &fd, path, flags, mode);
    if (error != 0) {
        return refuse_handle(sftp, error);
    }
    handle->fd = fd;
    handle->is_directory = (flags & O_DIRECTORY) != 0;
    handle->appends = (flags & O_APPEND) != 0;
    handle->generation++;
    sftp->counts.files += !handle->is_directory;
    if (sftp->reports_files && !handle->is_directory) {
        struct handle_report *file = &sftp->files[row];
        memset(&file->counts, 0, sizeof(file->counts));
        snprintf(file->name, sizeof(file->name), "%.*s", LIMIT_NOTE_BYTES, path);
    }
    size_t mark = answer_begin(sftp, SFTP_HANDLE);
    writer_u32(&sftp->answers, HANDLE_BYTES);
    writer_u32(&sftp->answers, row);
    writer_u32(&sftp->answers, handle->generation);
    return answer_end(sftp, mark);
}

struct handle *handle_read(struct sftp *sftp)
{
    struct reader sent = reader_string(&sftp->message);
    if (sent.left != HANDLE_BYTES || big_endian_read(sent.bytes) >= LIMIT_SFTP_HANDLES) {
        return NULL;
    }
    struct handle *handle = &sftp->handles[big_endian_read(sent.bytes)];
    bool is_it = handle->fd > 0 && handle->generation == big_endian_read(sent.bytes + 4);
    return is_it ? handle : NULL;
}

/* ---- reports --------------------------------------------------------------------------------- */

/* True if the session process makes the lines of the log: it has given us a socket. */
static bool reports;

bool sftp_log_begin(void)
{
    const struct timeval patience = {.tv_sec = LIMIT_SFTP_ROOM_MS / 1000};
    int type = 0;
    socklen_t bytes = sizeof(type);
    reports = getsockopt(SFTP_REPORT_DESCRIPTOR, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 &&
              type == SOCK_SEQPACKET &&
              setsockopt(SFTP_REPORT_DESCRIPTOR, SOL_SOCKET, SO_SNDTIMEO, &patience,
                         sizeof(patience)) == 0;
    return reports;
}

void sftp_log_send(const struct sftp_report *report)
{
    static int flags = MSG_NOSIGNAL;
    if (!reports) {
        sftp_report_log(report, NULL);
        return;
    }
    bool sent = send(SFTP_REPORT_DESCRIPTOR, report, sizeof(*report), flags) >= 0;
    flags = MSG_NOSIGNAL | (sent ? 0 : MSG_DONTWAIT);
}

void sftp_log_file(const struct sftp *sftp, const struct handle *handle)
{
    const struct handle_report *file = &sftp->files[INDEX_IN(sftp->handles, handle)];
    struct sftp_report report = {.kind = SFTP_REPORT_FILE};
    if (sftp->reports_files && handle->fd > 0 && !handle->is_directory) {
        report.counts = file->counts;
        memcpy(report.text, file->name, sizeof(report.text));
        sftp_log_send(&report);
    }
}
