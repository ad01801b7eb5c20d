#include "dirs.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "text.h"

/* As getdents64(2) writes it. */
struct listed {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

_Static_assert(offsetof(struct listed, name) == 19, "the kernel's struct linux_dirent64");

bool dirs_numbers(const char *path, dirs_visit *visit, void *context)
{
    _Alignas(struct listed) char piece[1024];
    const struct listed *entry;
    unsigned number;
    long bytes;
    int list = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (list < 0) {
        return false;
    }
    while ((bytes = syscall(SYS_getdents64, list, piece, sizeof(piece))) > 0) {
        for (long at = 0; at < bytes; at += entry->bytes) {
            entry = (const struct listed *)(const void *)(piece + at);
            if (number_read(&number, entry->name)) {
                visit(context, list, (int)number);
            }
        }
    }
    close(list);
    return bytes == 0;
}
