/*
 * The SFTP target's input as a stream of requests, and a second reader of the answers.
 */
#ifndef WREN_SFTP_REQUESTS_MADE_H
#define WREN_SFTP_REQUESTS_MADE_H

#include "fuzz.h"
#include "ssh_client.h"

extern struct fields stream;

/* Makes the stream of the rest of the input. */
void stream_make(struct input input);

/* What one answer must be like. */
struct answered {
    uint8_t type;
    uint32_t status; /* of STATUS */
    uint8_t handle[8];
};

/* Fails unless `bytes` are exactly one whole answer to the request, of a type that it may have. */
struct answered answer_check(const uint8_t *bytes, size_t count, const uint8_t *request,
                             size_t request_bytes);

#endif
