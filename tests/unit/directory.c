/* sftp/directory.c: READDIR under FUSE, while the client removes what has been listed. */
#include "sftp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process.h"
#include "scratch.h"
#include "unit.h"

#define FILES        1000
#define NAME_BYTES   4 /* "0000" */
#define PAGE_BYTES   4096
#define WIRE_BYTES   32 /* of FUSE for such a name: 24, and the name in units of 8 */
#define KERNEL_BYTES 24 /* the same entry for getdents64(2) */

/* The files that are left. FUSE's file system sends the names in this order; a place is the number
 * of names before it. */
static unsigned files[FILES];
static size_t left;

/* It goes on with its list where it has stopped; elsewhere it makes a new list. */
static unsigned list[FILES];
static size_t listed, sent;

static void open_list(size_t place)
{
    memcpy(list, files, sizeof(list));
    listed = left;
    sent = place < left ? place : left;
}

/* The kernel asks for at least a page, and drops what has no room in the caller's buffer. */
static long read_page(size_t *place, uint8_t *out, size_t room)
{
    size_t asked = room > PAGE_BYTES ? room : PAGE_BYTES;
    size_t used = 0;
    if (*place != sent) {
        open_list(*place);
    }
    for (; sent < listed && asked >= WIRE_BYTES; sent++, asked -= WIRE_BYTES) {
        if (used + KERNEL_BYTES <= room) {
            struct dirs_entry *entry = (struct dirs_entry *)(void *)(out + used);
            entry->bytes = KERNEL_BYTES;
            snprintf(entry->name, NAME_BYTES + 1, "%04u", list[sent]);
            used += KERNEL_BYTES;
            (*place)++;
        }
    }
    return (long)used;
}

/* In the place of the C library's. */
long syscall(long number, ...)
{
    static size_t place;
    va_list rest;
    ck_assert_int_eq(number, SYS_getdents64);
    va_start(rest, number);
    (void)va_arg(rest, int);
    uint8_t *out = va_arg(rest, uint8_t *);
    size_t room = va_arg(rest, size_t);
    va_end(rest);
    return read_page(&place, out, room);
}

static void begin(void)
{
    char top[SCRATCH_BYTES], name[NAME_BYTES + 1];
    scratch_make(top);
    ck_assert_int_eq(chdir(top), 0);
    for (left = 0; left < FILES; left++) {
        snprintf(name, sizeof(name), "%04u", (unsigned)left);
        ck_assert_int_eq(close(creat(name, 0644)), 0);
        files[left] = (unsigned)left;
    }
    open_list(0);
}

UNIT_FIXTURE(begin, NULL);
UNIT_TIMEOUT(30);

/* The names in an answer are removed. */
static void remove_listed(struct reader *answer)
{
    for (uint32_t names = reader_u32(answer); names > 0; names--) {
        char name[NAME_BYTES + 1];
        struct reader shown = reader_string(answer);
        ck_assert(reader_text(&shown, name, sizeof(name)));
        reader_string(answer);
        attributes_read(answer);
        ck_assert_int_eq(unlink(name), 0);
        size_t at = 0;
        while (files[at] != (unsigned)strtoul(name, NULL, 10)) {
            at++;
        }
        memmove(files + at, files + at + 1, (--left - at) * sizeof(files[0]));
    }
    ck_assert(reader_end(answer));
}

TEST(each_name_is_listed_while_files_are_removed)
{
    static struct sftp sftp = {.paths = {.jail = -1}};
    struct handle *handle = &sftp.handles[0];
    *handle = (struct handle){.fd = open(".", O_RDONLY | O_DIRECTORY), .is_directory = true};
    enum sftp_status status;
    do {
        writer_init(&sftp.answers, sftp.output, sizeof(sftp.output));
        sftp.message = reader_over("\0\0\0\10\0\0\0\0\0\0\0\0", 12);
        status = on_readdir(&sftp);
        struct reader answer = reader_over(sftp.output + 9, sftp.answers.used - 9);
        if (status == SFTP_ANSWERED) {
            remove_listed(&answer);
        }
    } while (status == SFTP_ANSWERED);
    ck_assert_int_eq(status, SFTP_EOF);
    ck_assert_uint_eq(left, 0);
    close(handle->fd);
}
