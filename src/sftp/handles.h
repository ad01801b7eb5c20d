/*
 * Open files and directories by their handles. On the wire a handle is 8 bytes: the number of its
 * row and a generation, so that a handle that was closed never names a later file.
 */
#ifndef WREN_HANDLES_H
#define WREN_HANDLES_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"
#include "sftp.h"

struct handle {
    int fd; /* 0: the row is free */
    bool is_directory;
    bool appends; /* a WRITE's offset does not count */
    uint32_t generation;
    /* Only with sftp->reports_files. */
    struct sftp_counts counts;
    char name[LIMIT_NOTE_BYTES + 1];
};

/* True if all LIMIT_SFTP_HANDLES are in use. */
bool handles_full(void);

/* A new handle for `fd`. To be called only if not all are in use. */
struct handle *handle_new(int fd, bool is_directory);

/* Reads a string from the message. Returns the handle that it names, or NULL if it names none. */
struct handle *handle_read(struct reader *message);

/* Returns the handle if there is one and the message was whole; else NULL after the answer. */
struct handle *handle_need(struct sftp *sftp, struct handle *handle);

/* Answers with this handle. */
void handle_answer(struct sftp *sftp, const struct handle *handle);

/* Closes it. Returns 0 or an errno. */
int handle_close(struct handle *handle);

/* Calls `report` for each file that is still open. */
void handles_each_file(void (*report)(const struct sftp_counts *counts, const char *name));

#endif
