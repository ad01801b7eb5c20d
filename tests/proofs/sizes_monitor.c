/*
 * find_row() of src/ipc/ipc_serve.c with the table of src/monitor/monitor_ipc.c, and the
 * sizes of SIGN's tail in src/monitor/sign.c: of a request of any size and any bytes, in any phase,
 * nothing is read that has not arrived. Each of the six requests is accepted if it comes in its
 * phase with the exact size of its struct and its tail, and nothing else is. A NUL still fits
 * behind it.
 *
 * Not proved here: what the handlers check of an accepted request (its values, and how often it
 * comes), and what ipc_serve() refuses before find_row() (descriptors, and a request that
 * recvmsg() has truncated).
 */
#include "proofs.h"

#include <stdlib.h>

#include "agree.h"
#include "ipc_serve.c"
#include "monitor_ipc.c"

#define REQUEST(type, name, tail_bytes, phases, ...) [type] = {sizeof(struct ipc_##name), phases},
static const struct {
    size_t bytes;
    unsigned phases;
} requests[IPC_TYPES] = {IPC_MONITOR_REQUESTS(REQUEST)};

static bool may_come(uint32_t type, unsigned phase)
{
    return type < IPC_TYPES && (requests[type].phases & phase) != 0;
}

static bool is_sign(const struct ipc_sign *sign, size_t tail)
{
    size_t keys = sign->hybrid == 1 ? AGREE_HYBRID_CLIENT_BYTES + AGREE_HYBRID_SERVER_BYTES
                                    : 2 * AGREE_X25519_BYTES;
    return sign->hybrid <= 1 && sign->certified <= 1 &&
           sign->client_version_bytes <= LIMIT_VERSION_LINE_BYTES &&
           sign->client_kexinit_bytes <= LIMIT_CLIENT_KEXINIT_BYTES &&
           sign->server_kexinit_bytes <= LIMIT_KEXINIT_BYTES &&
           tail == keys + sign->client_version_bytes + sign->client_kexinit_bytes +
                       sign->server_kexinit_bytes;
}

/* Whether a request of `count` bytes, which have the whole struct, has the right tail. */
static bool has_tail(uint32_t type, const void *request, size_t count)
{
    const struct ipc_auth *auth = request;
    const struct ipc_note *note = request;
    size_t tail = count - requests[type].bytes;
    switch (type) {
    case IPC_SIGN:
        return is_sign(request, tail);
    case IPC_AUTH:
        return tail <= LIMIT_KEY_BLOB_BYTES && tail == auth->blob_bytes;
    case IPC_NOTE:
        return tail <= LIMIT_NOTE_BYTES && tail == note->text_bytes;
    default:
        return tail == 0;
    }
}

int main(void)
{
    size_t count = nondet_size();
    unsigned phase = nondet_unsigned();
    ASSUME(phase == MONITOR_START || phase == MONITOR_BEFORE_LOGIN ||
           phase == MONITOR_AFTER_LOGIN || phase == MONITOR_OVER);
    ASSUME(count <= 2 * sizeof(union monitor_request));
    const uint8_t *request = malloc(count);
    uint32_t type = count >= 4 ? *(const uint32_t *)(const void *)request : 0;
    const struct request_row *row = NULL;
    bool accepted = find_row(&row, table, phase, request, count) == NULL;
    bool right =
        may_come(type, phase) && count >= requests[type].bytes && has_tail(type, request, count);
    PROVE(accepted || !right, "a right request is accepted");
    PROVE(!accepted || right, "a wrong request is refused");
    PROVE(accepted == (row != NULL), "only an accepted request has a row");
    PROVE(!accepted || (row == &table[type] && row->handle != NULL), "the row is that of the type");
    PROVE(!accepted || count < sizeof(union monitor_request), "a NUL fits behind the request");
    return 0;
}
