#include "sftp.h"

#include <errno.h>
#include <unistd.h>

#include "big_endian.h"

#define HANDLE_BYTES 8

static struct handle handles[LIMIT_SFTP_HANDLES];

/* The first free row, or the end of the table. */
static struct handle *first_free(void)
{
    struct handle *handle = handles;
    while (handle < handles + LIMIT_SFTP_HANDLES && handle->fd > 0) {
        handle++;
    }
    return handle;
}

bool handles_full(void)
{
    return first_free() == handles + LIMIT_SFTP_HANDLES;
}

struct handle *handle_new(int fd, bool is_directory)
{
    struct handle *handle = first_free();
    handle->fd = fd;
    handle->is_directory = is_directory;
    handle->appends = false;
    handle->generation++;
    return handle;
}

struct handle *handle_read(struct reader *message)
{
    struct reader sent = reader_string(message);
    if (sent.left != HANDLE_BYTES || big_endian_read(sent.bytes) >= LIMIT_SFTP_HANDLES) {
        return NULL;
    }
    struct handle *handle = &handles[big_endian_read(sent.bytes)];
    bool is_it = handle->fd > 0 && handle->generation == big_endian_read(sent.bytes + 4);
    return is_it ? handle : NULL;
}

struct handle *handle_need(struct sftp *sftp, struct handle *handle)
{
    if (!sftp->message.failed && handle != NULL) {
        return handle;
    }
    answer_status(sftp, sftp->message.failed ? SFTP_BAD_MESSAGE : SFTP_FAILURE);
    return NULL;
}

void handle_answer(struct sftp *sftp, const struct handle *handle)
{
    size_t mark = answer_begin(sftp, SFTP_HANDLE);
    writer_u32(&sftp->answers, HANDLE_BYTES);
    writer_u32(&sftp->answers, (uint32_t)(handle - handles));
    writer_u32(&sftp->answers, handle->generation);
    answer_end(sftp, mark);
}

int handle_close(struct handle *handle)
{
    int error = close(handle->fd) == 0 ? 0 : errno;
    handle->fd = 0;
    return error;
}

void handles_each_file(void (*report)(const struct sftp_counts *counts, const char *name))
{
    for (size_t i = 0; i < LIMIT_SFTP_HANDLES; i++) {
        if (handles[i].fd > 0 && !handles[i].is_directory) {
            report(&handles[i].counts, handles[i].name);
        }
    }
}
