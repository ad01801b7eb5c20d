#include "sftp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "big_endian.h"

#define HANDLE_BYTES 8

enum sftp_status handle_open(struct sftp *sftp, const char *path, int flags, mode_t mode)
{
    uint32_t row = 0;
    while (row < LIMIT_SFTP_HANDLES && sftp->handles[row].fd > 0) {
        row++;
    }
    if (row == LIMIT_SFTP_HANDLES) {
        return answer_status_of(EMFILE);
    }
    struct handle *handle = &sftp->handles[row];
    int fd = -1;
    int error = paths_open(&sftp->paths, &fd, path, flags, mode);
    if (error != 0) {
        return answer_status_of(error);
    }
    handle->fd = fd;
    handle->is_directory = (flags & O_DIRECTORY) != 0;
    handle->appends = (flags & O_APPEND) != 0;
    handle->generation++;
    sftp->counts.files += !handle->is_directory;
    if (sftp->reports_files && !handle->is_directory) {
        memset(&handle->counts, 0, sizeof(handle->counts));
        snprintf(handle->name, sizeof(handle->name), "%.*s", LIMIT_NOTE_BYTES, path);
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
