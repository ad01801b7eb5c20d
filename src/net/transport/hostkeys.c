/*
 *     K_S = string "ssh-ed25519" || string public key, or the host certificate
 *
 *     server: GLOBAL_REQUEST     "hostkeys-00@openssh.com", false, each host key
 *     client: GLOBAL_REQUEST     "hostkeys-prove-00@openssh.com", want reply, host keys
 *     server: REQUEST_SUCCESS    a signature by each of these, or REQUEST_FAILURE
 */
#include "net.h"

#include "ask.h"

void hostkeys_write(struct writer *message, const uint8_t *bytes, size_t count)
{
    size_t mark = writer_string_begin(message);
    writer_text(message, SSH_ED25519);
    writer_string(message, bytes, count);
    writer_string_end(message, mark);
}

/* ---- K_S ------------------------------------------------------------------------------------- */

void hostkeys_write_k_s(const struct connection *connection, struct writer *message)
{
    const struct host_keys *keys = &connection->host_keys;
    if (connection->kex.certified) {
        writer_string(message, connection->certificate, keys->certificate_bytes);
    } else {
        hostkeys_write(message, keys->public_keys[0], 32);
    }
}

bool hostkeys_is_bound(const struct connection *connection, struct reader blob)
{
    const struct host_keys *keys = &connection->host_keys;
    if (connection->kex.first_certified) {
        return reader_equals(&blob, connection->certificate, keys->certificate_bytes);
    }
    const uint8_t *public_key = ssh_ed25519_read(blob);
    return public_key != NULL && memcmp(public_key, keys->public_keys[0], 32) == 0;
}

/* ---- after login ----------------------------------------------------------------------------- */

void hostkeys_announce(struct connection *connection)
{
    const struct host_keys *keys = &connection->host_keys;
    if (keys->count == 0) {
        return;
    }
    struct writer message = message_begin(connection, SSH_MSG_GLOBAL_REQUEST);
    writer_text(&message, "hostkeys-00@openssh.com");
    writer_bool(&message, false);
    for (size_t i = 0; i < keys->count; i++) {
        hostkeys_write(&message, keys->public_keys[i], 32);
    }
    message_send(connection, &message);
}

/* Reads a key. Returns the index of the same key of ours, or `count` if it is not ours. */
static size_t read_index(const struct host_keys *keys, struct reader *message)
{
    const uint8_t *public_key = ssh_ed25519_read(reader_string(message));
    size_t i = 0;
    while (i < keys->count &&
           (public_key == NULL || memcmp(public_key, keys->public_keys[i], 32) != 0)) {
        i++;
    }
    return i;
}

/* True if all of these keys may be proved. Asks the monitor for nothing. */
static bool may_prove(const struct host_keys *keys, struct reader wanted)
{
    unsigned proofs[2] = {keys->proofs[0], keys->proofs[1]};
    if (wanted.left == 0) {
        return false;
    }
    while (wanted.left > 0) {
        size_t i = read_index(keys, &wanted);
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): there are two keys at most. */
        if (i == keys->count || ++proofs[i] > LIMIT_HOSTKEY_PROOFS) {
            return false;
        }
    }
    return true;
}

static void answer_proofs(struct connection *connection, struct reader wanted)
{
    struct host_keys *keys = &connection->host_keys;
    uint8_t proof[64];
    struct writer answer = message_begin(connection, SSH_MSG_REQUEST_SUCCESS);
    while (wanted.left > 0) {
        size_t i = read_index(keys, &wanted);
        keys->proofs[i]++;
        if (!ask_prove(connection, (uint32_t)i, proof)) {
            return;
        }
        hostkeys_write(&answer, proof, sizeof(proof));
    }
    message_send(connection, &answer);
}

enum ssh_phase hostkeys_on_prove(struct connection *connection, struct reader *message,
                                 bool want_reply)
{
    const struct reader wanted = *message;
    while (message->left > 0) {
        reader_string(message);
    }
    if (!reader_end(message)) {
        return messages_refuse_malformed(connection, HOSTKEYS_PROVE);
    }
    if (!want_reply) {
        return connection->phase;
    }
    if (may_prove(&connection->host_keys, wanted)) {
        answer_proofs(connection, wanted);
    } else {
        struct writer answer = message_begin(connection, SSH_MSG_REQUEST_FAILURE);
        message_send(connection, &answer);
    }
    return connection->phase;
}
