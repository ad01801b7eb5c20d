#include "memory_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* No real descriptor is so large. */
#define FIRST (1 << 24)

static struct memory_file {
    struct input rest;
    struct input pieces;
    size_t broken_from;
    size_t done;
    bool open;
} files[MEMORY_FILES];

static struct memory_file *find(int fd)
{
    return fd >= FIRST && fd < FIRST + MEMORY_FILES ? &files[fd - FIRST] : NULL;
}

int memory_file_open(unsigned number, struct input bytes, struct input pieces)
{
    files[number] = (struct memory_file){bytes, pieces, SIZE_MAX, 0, true};
    return FIRST + (int)number;
}

void memory_file_break(int fd, size_t offset)
{
    find(fd)->broken_from = offset;
}

unsigned memory_files_open(void)
{
    unsigned count = 0;
    for (size_t i = 0; i < MEMORY_FILES; i++) {
        count += files[i].open ? 1 : 0;
    }
    return count;
}

SIMULATED(ssize_t, read, int fd, void *bytes, size_t count)
{
    struct memory_file *file = find(fd);
    if (file == NULL) {
        return __real_read(fd, bytes, count);
    }
    FUZZ_CHECK(file->open);
    uint8_t piece = file->pieces.left > 0 ? input_u8(&file->pieces) : 255;
    if (piece == 0) {
        errno = EINTR;
        return -1;
    }
    count = piece < 255 && piece < count ? piece : count;
    if (file->broken_from - file->done < count) {
        count = file->broken_from - file->done;
        if (count == 0) {
            errno = EIO;
            return -1;
        }
    }
    const struct input part = input_take(&file->rest, count);
    if (part.left > 0) {
        memcpy(bytes, part.at, part.left);
    }
    file->done += part.left;
    return (ssize_t)part.left;
}

SIMULATED(int, close, int fd)
{
    struct memory_file *file = find(fd);
    if (file == NULL) {
        return __real_close(fd);
    }
    FUZZ_CHECK(file->open);
    file->open = false;
    return 0;
}
