#include "dirs.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "text.h"

bool dirs_numbers(const char *path, dirs_visit *visit, void *context)
{
    _Alignas(struct dirs_entry) char piece[1024];
    const struct dirs_entry *entry;
    unsigned number;
    long bytes;
    int list = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (list < 0) {
        return false;
    }
    while ((bytes = syscall(SYS_getdents64, list, piece, sizeof(piece))) > 0) {
        for (long at = 0; at < bytes; at += entry->bytes) {
            entry = (const struct dirs_entry *)(const void *)(piece + at);
            if (number_read(&number, entry->name)) {
                visit(context, list, (int)number);
            }
        }
    }
    close(list);
    return bytes == 0;
}
