/*
 * find_row() of src/common/requests.c with the table of src/monitor/monitor_requests.c, and the
 * sizes of SIGN's tail in src/monitor/sign.c: of a request of any size and any bytes, in any phase,
 * nothing is read that has not arrived, and one that is accepted has the exact size of its struct
 * and its tail, and comes in a phase in which it may come. A NUL still fits behind it.
 */
#include "proofs.h"

#include <stdlib.h>

#include "agree.h"
#include "monitor_requests.c"
#include "requests.c"

static size_t tail_of_sign(const struct ipc_sign *sign)
{
    PROVE(sign->hybrid <= 1 && sign->certified <= 1, "switches are 0 or 1");
    PROVE(sign->client_version_bytes <= LIMIT_VERSION_LINE_BYTES, "V_C is not above its limit");
    PROVE(sign->client_kexinit_bytes <= LIMIT_CLIENT_KEXINIT_BYTES, "I_C is not above its limit");
    PROVE(sign->server_kexinit_bytes <= LIMIT_KEXINIT_BYTES, "I_S is not above its limit");
    size_t keys = sign->hybrid == 1 ? AGREE_HYBRID_CLIENT_BYTES + AGREE_HYBRID_SERVER_BYTES
                                    : 2 * AGREE_X25519_BYTES;
    return (size_t)sign->client_version_bytes + sign->client_kexinit_bytes +
           sign->server_kexinit_bytes + keys;
}

static size_t tail_of(uint32_t type, const void *request)
{
    const struct ipc_auth *auth = request;
    const struct ipc_note *note = request;
    switch (type) {
    case IPC_SIGN:
        return tail_of_sign(request);
    case IPC_AUTH:
        PROVE(auth->blob_bytes <= LIMIT_KEY_BLOB_BYTES, "a key is not above its limit");
        return auth->blob_bytes;
    case IPC_NOTE:
        PROVE(note->text_bytes <= LIMIT_NOTE_BYTES, "a note is not above its limit");
        return note->text_bytes;
    default:
        return 0;
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
    const struct request_row *row = NULL;
    if (find_row(&row, table, phase, request, count) != NULL) {
        PROVE(row == NULL, "a refused request has no row");
        return 0;
    }
    uint32_t type = *(const uint32_t *)(const void *)request;
    PROVE(type >= IPC_START && type <= IPC_END, "the request is one for the monitor");
    PROVE(row == &table[type] && row->handle != NULL, "the row is that of the type");
    PROVE(phase != MONITOR_OVER, "nothing is served when it is over");
    PROVE(type != IPC_AUTH || phase == MONITOR_BEFORE_LOGIN, "a login comes before the login");
    PROVE(type != IPC_PROVE || phase == MONITOR_AFTER_LOGIN, "a proof comes after the login");
    PROVE(type != IPC_SIGN || phase != MONITOR_START, "no signature before the start");
    PROVE(count >= row->bytes && count - row->bytes == tail_of(type, request),
          "a request has the size of its struct and its tail");
    PROVE(count < sizeof(union monitor_request), "a NUL fits behind the request");
    return 0;
}
