/*
 * Open files, and attributes (draft-ietf-secsh-filexfer-02, sections 6.3, 6.4, 6.8 and 6.9).
 */
#include <fcntl.h>

#include "sftp.h"

/* What precedes the data of a DATA answer: lengths, type and id. */
#define DATA_HEADER_BYTES 13

/* True if the request was complete and names the handle of a file. */
static bool is_file(const struct sftp *sftp, const struct handle *handle)
{
    return !sftp->message.failed && handle != NULL && !handle->is_directory;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int open_flags(uint32_t wanted)
{
    bool reads = (wanted & SFTP_OPEN_READ) != 0;
    bool writes = (wanted & SFTP_OPEN_WRITE) != 0;
    int flags = reads && writes ? O_RDWR : writes ? O_WRONLY : O_RDONLY;
    flags |= (wanted & SFTP_OPEN_APPEND) != 0 ? O_APPEND : 0;
    flags |= (wanted & SFTP_OPEN_CREATE) != 0 ? O_CREAT : 0;
    flags |= (wanted & SFTP_OPEN_TRUNCATE) != 0 ? O_TRUNC : 0;
    return flags | ((wanted & SFTP_OPEN_EXCLUSIVE) != 0 ? O_EXCL : 0);
}

/* Even without a WRITE, OPEN can make or empty a file. */
static bool is_refused(const struct sftp *sftp, int flags)
{
    return ((flags & (O_CREAT | O_TRUNC)) != 0 && !sftp->may_write) ||
           ((flags & O_ACCMODE) != O_RDONLY && sftp->read_only);
}

enum sftp_status on_open(struct sftp *sftp)
{
    char path[PATH_BYTES];
    struct reader name = reader_string(&sftp->message);
    int flags = open_flags(reader_u32(&sftp->message));
    struct attributes wanted = attributes_read(&sftp->message);
    if (sftp->message.failed || !reader_text(&name, path, sizeof(path))) {
        return SFTP_BAD_MESSAGE;
    }
    if (is_refused(sftp, flags)) {
        return SFTP_PERMISSION_DENIED;
    }
    return handle_open(sftp, path, flags, attributes_mode(&wanted, 0666));
}

enum sftp_status on_close(struct sftp *sftp)
{
    struct handle *handle = handle_read(sftp);
    if (handle == NULL) {
        return SFTP_FAILURE;
    }
    sftp_log_file(sftp, handle);
    int fd = handle->fd;
    handle->fd = 0;
    return answer_result(close(fd));
}

/* ---- data ------------------------------------------------------------------------------------ */

/* The data go straight from the kernel to their place in the answer. */
enum sftp_status on_read(struct sftp *sftp)
{
    struct handle *handle = handle_read(sftp);
    uint64_t offset = reader_u64(&sftp->message);
    size_t most = reader_u32(&sftp->message);
    if (!is_file(sftp, handle)) {
        return SFTP_FAILURE;
    }
    most = most < LIMIT_SFTP_DATA_BYTES ? most : LIMIT_SFTP_DATA_BYTES;
    size_t room = sftp->answers.capacity - sftp->answers.used;
    if (room < DATA_HEADER_BYTES + most && !sftp_send(sftp)) {
        return SFTP_ANSWERED; /* nobody is left to answer */
    }
    uint8_t *data = sftp->answers.bytes + sftp->answers.used + DATA_HEADER_BYTES;
    ssize_t got = pread(handle->fd, data, most, (off_t)offset);
    if (got < 0 || (got == 0 && most > 0)) {
        return got == 0 ? SFTP_EOF : answer_status_of(errno);
    }
    size_t mark = answer_begin(sftp, SFTP_DATA);
    writer_u32(&sftp->answers, (uint32_t)got);
    sftp->answers.used += (size_t)got;
    sftp->counts.read_bytes += (uint64_t)got;
    if (sftp->reports_files) {
        sftp->files[INDEX_IN(sftp->handles, handle)].counts.read_bytes += (uint64_t)got;
    }
    return answer_end(sftp, mark);
}

/* Writes all of it, or returns an errno. Counts what was written. */
static int write_whole(struct sftp *sftp, struct handle *handle, const uint8_t *data, size_t bytes,
                       uint64_t offset)
{
    do {
        ssize_t put = handle->appends ? write(handle->fd, data, bytes)
                                      : pwrite(handle->fd, data, bytes, (off_t)offset);
        if (put < 0 || (put == 0 && bytes > 0)) {
            return put < 0 ? errno : EIO;
        }
        data += put;
        bytes -= (size_t)put;
        offset += (uint64_t)put;
        sftp->counts.written_bytes += (uint64_t)put;
        if (sftp->reports_files) {
            sftp->files[INDEX_IN(sftp->handles, handle)].counts.written_bytes += (uint64_t)put;
        }
    } while (bytes > 0);
    return 0;
}

enum sftp_status on_write(struct sftp *sftp)
{
    struct handle *handle = handle_read(sftp);
    uint64_t offset = reader_u64(&sftp->message);
    struct reader data = reader_string(&sftp->message);
    return !is_file(sftp, handle)
               ? SFTP_FAILURE
               : answer_status_of(write_whole(sftp, handle, data.bytes, data.left, offset));
}

static bool is_same_file(int one, int other)
{
    struct stat first, second;
    return fstat(one, &first) != 0 || fstat(other, &second) != 0 || lease_is_same(&first, &second);
}

/* Copies `left` bytes, or with 0 all to the end of the first file. */
static enum sftp_status copy_range(struct sftp *sftp, struct handle *from, uint64_t from_offset,
                                   uint64_t left, struct handle *to, uint64_t to_offset)
{
    bool to_end = left == 0;
    uint8_t *room = sftp->answers.bytes + sftp->answers.used;
    size_t most = sftp->answers.capacity - sftp->answers.used;
    while (to_end || left > 0) {
        if (sftp_client_has_gone()) {
            return SFTP_CONNECTION_LOST;
        }
        size_t part = to_end || left > most ? most : (size_t)left;
        ssize_t got = pread(from->fd, room, part, (off_t)from_offset);
        if (got <= 0) {
            return got < 0 ? answer_status_of(errno) : to_end ? SFTP_OK : SFTP_EOF;
        }
        int error = write_whole(sftp, to, room, (size_t)got, to_offset);
        if (error != 0) {
            return answer_status_of(error);
        }
        from_offset += (uint64_t)got;
        to_offset += (uint64_t)got;
        left -= to_end ? 0 : (uint64_t)got;
    }
    return SFTP_OK;
}

/* copy-data (draft-ietf-secsh-filexfer-extensions-00, section 7). */
enum sftp_status on_copy_data(struct sftp *sftp)
{
    struct handle *from = handle_read(sftp);
    uint64_t from_offset = reader_u64(&sftp->message);
    uint64_t left = reader_u64(&sftp->message);
    struct handle *to = handle_read(sftp);
    uint64_t to_offset = reader_u64(&sftp->message);
    if (!is_file(sftp, from) || !is_file(sftp, to) || is_same_file(from->fd, to->fd)) {
        return SFTP_FAILURE;
    }
    return copy_range(sftp, from, from_offset, left, to, to_offset);
}

enum sftp_status on_fsync(struct sftp *sftp)
{
    struct handle *handle = handle_read(sftp);
    return is_file(sftp, handle) ? answer_result(fsync(handle->fd)) : SFTP_FAILURE;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static enum sftp_status answer_attributes(struct sftp *sftp, int error, const struct stat *status)
{
    if (error != 0) {
        return answer_status_of(error);
    }
    size_t mark = answer_begin(sftp, SFTP_ATTRS);
    attributes_write(&sftp->answers, status);
    return answer_end(sftp, mark);
}

enum sftp_status on_stat(struct sftp *sftp)
{
    char path[PATH_BYTES];
    struct stat status;
    if (!sftp_read_path(sftp, path)) {
        return SFTP_BAD_MESSAGE;
    }
    int error = paths_stat(&sftp->paths, &status, path, sftp->flag == 0);
    return answer_attributes(sftp, error, &status);
}

enum sftp_status on_fstat(struct sftp *sftp)
{
    struct stat status;
    struct handle *handle = handle_read(sftp);
    if (!is_file(sftp, handle)) {
        return SFTP_FAILURE;
    }
    int error = fstat(handle->fd, &status) == 0 ? 0 : errno;
    return answer_attributes(sftp, error, &status);
}

enum sftp_status on_fsetstat(struct sftp *sftp)
{
    struct handle *handle = handle_read(sftp);
    struct attributes wanted = attributes_read(&sftp->message);
    return is_file(sftp, handle) ? answer_status_of(attributes_set(&wanted, handle->fd, NULL))
                                 : SFTP_FAILURE;
}

/* Like truncate(2). */
static int set_size(const struct paths *paths, const char *path, uint64_t size)
{
    int fd = -1;
    int error = size > INT64_MAX ? EINVAL : paths_open(paths, &fd, path, O_WRONLY, 0);
    if (error == 0) {
        error = ftruncate(fd, (off_t)size) == 0 ? 0 : errno;
        close(fd);
    }
    return error;
}

/* In a jail paths_find() needs /proc, which may be missing. This works without it, for files that
 * the user may read. */
static int set_opened(const struct paths *paths, const char *path, struct attributes wanted)
{
    int fd = -1;
    int error = paths_open(paths, &fd, path, O_RDONLY, 0);
    if (error == 0) {
        wanted.flags &= ~SFTP_ATTR_SIZE;
        error = attributes_set(&wanted, fd, NULL);
        close(fd);
    }
    return error;
}

/* The size of a link can't be set. */
enum sftp_status on_setstat(struct sftp *sftp)
{
    char path[PATH_BYTES];
    struct found_name found;
    bool follow = sftp->flag == 0;
    struct reader name = reader_string(&sftp->message);
    struct attributes wanted = attributes_read(&sftp->message);
    bool has_size = (wanted.flags & SFTP_ATTR_SIZE) != 0;
    if (sftp->message.failed || !reader_text(&name, path, sizeof(path)) || (has_size && !follow)) {
        return SFTP_BAD_MESSAGE;
    }
    int error = has_size ? set_size(&sftp->paths, path, wanted.size) : 0;
    int other = paths_find(&sftp->paths, &found, path, follow);
    if (other == 0) {
        other = attributes_set(&wanted, -1, &found);
        paths_leave(&found, 0);
    }
    if (other == ENOENT && follow && sftp->paths.jail >= 0) {
        other = set_opened(&sftp->paths, path, wanted);
    }
    return answer_status_of(other != 0 ? other : error);
}
