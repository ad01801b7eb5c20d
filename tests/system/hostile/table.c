/* The table of connections, as the monitor and the judge have it. */
#include "hostile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "table.h"

int table_make(const struct world *world, bool full)
{
    static struct table_file file;
    struct flock lock = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = offsetof(struct table_file, logins),
                         .l_len = sizeof(file.logins)};
    int table = memfd_create("table", MFD_CLOEXEC);
    table_front_make(&file.front, 0);
    for (size_t i = 0; i < LIMIT_LOGINS; i++) {
        file.logins[i] = full ? (uint32_t)world->user + 1 : 0;
    }
    if (write(table, &file, sizeof(file)) != sizeof(file) ||
        (full && fcntl(table, F_SETLK, &lock) != 0)) {
        perror("table");
        exit(2);
    }
    return table;
}

const char *table_judge(const struct world *world, int table, bool full, unsigned logins,
                        bool signed_properly)
{
    static struct table_file file;
    const uint32_t alices = (uint32_t)world->user + 1;
    size_t found = 0, others = 0;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (pread(table, &file, sizeof(file), 0) != sizeof(file) || !table_front_is_ours(&file.front) ||
        fcntl(table, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK) {
        return "the table is damaged or locked";
    }
    for (size_t i = 0; i < LIMIT_LOGINS; i++) {
        found += file.logins[i] == alices;
        others += file.logins[i] != alices && file.logins[i] != 0;
    }
    const size_t more = found - (full ? LIMIT_LOGINS : 0);
    if (others > 0 || more < logins || more > (signed_properly ? 1 : 0)) {
        return "the records are not those of the logins";
    }
    return NULL;
}
