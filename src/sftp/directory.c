/*
 * Directories (draft-ietf-secsh-filexfer-02 section 6.7): names with their attributes, as many as
 * one answer takes.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attributes.h"
#include "big_endian.h"
#include "handles.h"
#include "listing.h"
#include "sftp.h"

/* What getdents64(2) writes. */
struct entry {
    uint64_t inode;
    int64_t next; /* the place in the directory after this entry */
    uint16_t bytes;
    uint8_t type;
    char name[];
};

/* The most that a name adds to an answer: two strings and the attributes. */
#define NAME_ROOM (4 + 256 + 4 + LISTING_BYTES + 32)

void on_opendir(struct sftp *sftp)
{
    char path[PATH_BYTES];
    int fd = -1;
    if (!sftp_read_path(sftp, path)) {
        return;
    }
    int error = EMFILE;
    if (!handles_full()) {
        error = paths_open(&sftp->paths, &fd, path, O_RDONLY | O_DIRECTORY, 0);
    }
    if (error != 0) {
        answer_error(sftp, error);
        return;
    }
    handle_answer(sftp, handle_new(fd, true));
}

/* Adds a name, unless its file has gone meanwhile. The directory above a jail's root is the root,
 * as everywhere. */
static bool add_name(struct sftp *sftp, int directory, const char *name)
{
    struct stat status;
    char line[LISTING_BYTES];
    bool is_above = strcmp(name, "..") == 0 && paths_is_root(&sftp->paths, directory);
    if (fstatat(directory, is_above ? "." : name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        return false;
    }
    writer_text(&sftp->answers, name);
    writer_string(&sftp->answers, line, listing_write(line, name, &status));
    attributes_write(&sftp->answers, &status);
    return true;
}

/* Adds entries until the answer has no room for another. Then the directory is set back to the
 * first that is left. Returns how many names were added. */
static uint32_t add_entries(struct sftp *sftp, int directory, size_t bytes, size_t end)
{
    uint32_t count = 0;
    for (size_t at = 0; at < bytes;) {
        const struct entry *entry = (const struct entry *)(const void *)(sftp->entries + at);
        count += add_name(sftp, directory, entry->name);
        at += entry->bytes;
        if (at < bytes && sftp->answers.used + NAME_ROOM > end) {
            lseek(directory, (off_t)entry->next, SEEK_SET);
            break;
        }
    }
    return count;
}

void on_readdir(struct sftp *sftp)
{
    struct handle *handle = handle_read(&sftp->message);
    handle = handle_need(sftp, handle != NULL && handle->is_directory ? handle : NULL);
    if (handle == NULL) {
        return;
    }
    listing_set_now();
    size_t start = sftp->answers.used;
    size_t end = start + LIMIT_SFTP_ANSWER_BYTES;
    size_t mark = answer_begin(sftp, SFTP_NAME);
    uint8_t *place = sftp->answers.bytes + sftp->answers.used;
    uint32_t count = 0;
    long got = 1;
    writer_u32(&sftp->answers, 0);
    while (got > 0 && sftp->answers.used + NAME_ROOM <= end) {
        got = syscall(SYS_getdents64, handle->fd, sftp->entries, sizeof(sftp->entries));
        count += got > 0 ? add_entries(sftp, handle->fd, (size_t)got, end) : 0;
    }
    if (count == 0) {
        int error = errno;
        sftp->answers.used = start;
        answer_status(sftp, got == 0 ? SFTP_EOF : answer_status_of(error));
        return;
    }
    big_endian_write(place, count);
    answer_end(sftp, mark);
}
