/*
 * Keys and certificates of the stock ssh-keygen, made while the tests run.
 */
#ifndef WREN_UNIT_KEYGEN_H
#define WREN_UNIT_KEYGEN_H

#include <stdarg.h>
#include <stdlib.h>

#include "scratch.h"

/* Runs a command in `directory`, which must succeed. */
__attribute__((format(printf, 2, 3))) static inline void keygen_run(const char *directory,
                                                                    const char *format, ...)
{
    char command[1024], whole[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof(command), format, arguments);
    va_end(arguments);
    snprintf(whole, sizeof(whole), "cd %s && { %s; } >/dev/null 2>&1", directory, command);
    ck_assert_msg(system(whole) == 0, "%s", whole);
}

/* A file of `directory`; returns its size. */
static inline size_t keygen_read(const char *directory, const char *name, char *text, size_t room)
{
    char path[2 * SCRATCH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ssize_t count = read(fd, text, room);
    ck_assert(count >= 0 && (size_t)count < room);
    close(fd);
    text[count] = '\0';
    return (size_t)count;
}

#endif
