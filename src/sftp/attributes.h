/*
 * ATTRS, the attributes of a file on the wire (draft-ietf-secsh-filexfer-02 section 5).
 */
#ifndef WREN_ATTRIBUTES_H
#define WREN_ATTRIBUTES_H

#include <stdint.h>
#include <sys/stat.h>

#include "paths.h"
#include "reader.h"
#include "writer.h"

/* What a client asks for. Only what `flags` names is set. */
struct attributes {
    uint32_t flags; /* SFTP_ATTR_* */
    uint64_t size;
    uint32_t uid;
    uint32_t gid;
    uint32_t permissions;
    uint32_t accessed; /* seconds since 1970 */
    uint32_t modified;
};

/* Skips extended pairs. Their number needs no limit, as each takes 8 bytes of the packet. */
struct attributes attributes_read(struct reader *message);

/* The permissions for a new file: those that the client asks for, or `otherwise`. */
mode_t attributes_mode(const struct attributes *wanted, mode_t otherwise);

/* Writes size, owners, mode with the file's type, and times. A jail may name these owners later. */
void attributes_write(struct writer *answers, const struct stat *status);

/*
 * Each sets what `wanted` names, in the order size, permissions, times, owners, and goes on after
 * an error. The first is for an open file. The second is for a place, and sets no size. Return 0,
 * or the errno of the last error.
 */
int attributes_set(const struct attributes *wanted, int fd);
int attributes_set_at(const struct attributes *wanted, const struct place *place);

#endif
