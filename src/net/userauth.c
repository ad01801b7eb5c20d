/*
 *     byte      SSH_MSG_USERAUTH_REQUEST
 *     string    user name
 *     string    service name: "ssh-connection"
 *     string    method name
 *     boolean   TRUE: with signature, a login. FALSE: could this key log in?
 *     string    public key algorithm name
 *     string    public key
 *     string    K_S of the first key exchange      only publickey-hostbound-v00@openssh.com
 *     string    signature                          only with TRUE
 *
 * The answers: with FALSE, USERAUTH_PK_OK or USERAUTH_FAILURE; with TRUE, USERAUTH_SUCCESS or
 * USERAUTH_FAILURE. The monitor builds the signed data for itself. Before the first answer the
 * client gets USERAUTH_BANNER, with -b.
 */
#include "net.h"

#include <stdio.h>

#include "ask.h"
#include "grant.h"

#define METHOD_PUBLICKEY "publickey"
#define METHOD_HOSTBOUND "publickey-hostbound-v00@openssh.com"

/* The fields after the method name. */
struct publickey {
    bool is_signed;
    struct reader algorithm;
    struct reader blob;
    struct reader host_key;  /* hostbound only */
    struct reader signature; /* signed only */
};

_Static_assert(1 + 4 + sizeof(((struct banner *)NULL)->text) + 4 + PACKET_OVERHEAD_BYTES + 1 + 4 +
                       IPC_ALGORITHM_BYTES + 4 + LIMIT_KEY_BLOB_BYTES + PACKET_OVERHEAD_BYTES <=
                   LIMIT_REPLY_BYTES,
               "the banner and the longest PK_OK fit into the output");

static void send_banner(struct connection *connection)
{
    const struct banner *banner = connection->options->banner;
    if (banner == NULL || banner->bytes == 0) {
        return;
    }
    struct writer message = message_begin(connection, SSH_MSG_USERAUTH_BANNER);
    writer_string(&message, banner->text, banner->bytes);
    writer_text(&message, ""); /* no language tag */
    message_send(connection, &message);
}

static enum ssh_phase answer_failure(struct connection *connection)
{
    struct writer answer = message_begin(connection, SSH_MSG_USERAUTH_FAILURE);
    /* RFC 4252 section 5.2: "none" is never listed. */
    writer_text(&answer, connection->options->anybody ? "" : METHOD_PUBLICKEY);
    writer_bool(&answer, false);
    message_send(connection, &answer);
    return SSH_PHASE_AUTH;
}

static enum ssh_phase answer_pk_ok(struct connection *connection, const struct publickey *request)
{
    struct writer answer = message_begin(connection, SSH_MSG_USERAUTH_PK_OK);
    writer_string(&answer, request->algorithm.bytes, request->algorithm.left);
    writer_string(&answer, request->blob.bytes, request->blob.left);
    message_send(connection, &answer);
    return SSH_PHASE_AUTH;
}

static enum ssh_phase answer_success(struct connection *connection)
{
    struct writer answer = message_begin(connection, SSH_MSG_USERAUTH_SUCCESS);
    message_send(connection, &answer);
    connection_mark_used(connection);
    return SSH_PHASE_OPEN;
}

static void read_publickey(struct reader *message, bool hostbound, struct publickey *request)
{
    request->is_signed = reader_bool(message);
    request->algorithm = reader_string(message);
    request->blob = reader_string(message);
    if (hostbound) {
        request->host_key = reader_string(message);
    }
    if (request->is_signed) {
        request->signature = reader_string(message);
    }
}

/* A certificate's signature names the algorithm of the key that it certifies. */
static bool read_signature(struct ipc_auth *ask, struct reader blob, enum ipc_key_type key_type)
{
    struct signature signature;
    if (!ssh_signature_read(&signature, blob, ssh_key_type_is_sk(key_type))) {
        return false;
    }
    memcpy(ask->signature, signature.bytes, sizeof(ask->signature));
    ask->sk_flags = signature.sk_flags;
    ask->sk_counter = signature.sk_counter;
    return true;
}

/* Fills in the request to the monitor. A key or signature of an unknown type or of a wrong size
 * becomes IPC_KEY_UNSUPPORTED: the monitor counts, logs and delays it like any refused key. */
static void fill_request(struct ipc_auth *ask, const struct publickey *request,
                         const struct reader *user, bool hostbound)
{
    ask->stage = request->is_signed ? IPC_AUTH_SIGNED : IPC_AUTH_PROBE;
    ask->key_type = IPC_KEY_UNSUPPORTED;
    ask->hostbound = hostbound ? 1 : 0;
    reader_text(user, ask->user, sizeof(ask->user));
    reader_cut(&request->algorithm, ask->algorithm, sizeof(ask->algorithm));

    /* Of the blob only the name is read here: the child that reads keys parses the rest. */
    struct reader rest = request->blob;
    struct reader name = reader_string(&rest);
    enum ipc_key_type type = ssh_key_type_find(&request->algorithm);
    if (type == IPC_KEY_UNSUPPORTED || !reader_is(&name, ssh_key_types[type]) ||
        request->blob.left > LIMIT_KEY_BLOB_BYTES ||
        (request->is_signed && !read_signature(ask, request->signature, type))) {
        return;
    }
    ask->key_type = type;
    ask->blob_bytes = (uint32_t)request->blob.left;
}

/* For the log, if the client gives up: each type once, cut off where there is no more room. */
static void note_offer(struct connection *connection, const struct reader *algorithm,
                       const struct ipc_auth *ask)
{
    char *types = connection->end.types_offered;
    size_t used = strlen(types);
    struct reader noted = reader_over(types, used);
    struct reader name;
    if (ssh_key_type_find(algorithm) != IPC_KEY_UNSUPPORTED || connection->options->anybody) {
        connection->client.usable_key_offered = true;
        return;
    }
    while (reader_name(&noted, &name)) {
        if (reader_is(&name, ask->algorithm)) {
            return;
        }
    }
    snprintf(types + used, sizeof(connection->end.types_offered) - used, "%s%s",
             used > 0 ? "," : "", ask->algorithm);
}

/* With -N the method is `none`, whose name is followed by nothing: the monitor gets a login without
 * a key. */
static enum ssh_phase log_in(struct connection *connection, struct reader *message,
                             const struct reader *user, const struct reader *method, bool hostbound)
{
    struct publickey request = {.is_signed = true, .algorithm = *method};
    if (!connection->options->anybody) {
        read_publickey(message, hostbound, &request);
    }
    if (!reader_end(message)) {
        return messages_refuse_malformed(connection, "login request");
    }
    if (hostbound && !hostkeys_is_bound(connection, request.host_key)) {
        return connection_refuse(connection, SSH_DISCONNECT_PROTOCOL_ERROR,
                                 "the login is bound to another host key");
    }
    struct ipc_auth ask = {0};
    fill_request(&ask, &request, user, hostbound);
    note_offer(connection, &request.algorithm, &ask);
    enum ipc_verdict verdict = IPC_VERDICT_REFUSED;
    if (!ask_auth(connection, &ask, request.blob.bytes, &verdict)) {
        return SSH_PHASE_ENDED;
    }
    switch (verdict) {
    case IPC_VERDICT_ACCEPTED:
        return request.is_signed ? answer_success(connection) : answer_pk_ok(connection, &request);
    case IPC_VERDICT_LAST:
        return connection_refuse(connection, SSH_DISCONNECT_NO_MORE_AUTH_METHODS,
                                 "too many authentication failures");
    case IPC_VERDICT_FULL:
        return connection_refuse(connection, SSH_DISCONNECT_TOO_MANY_CONNECTIONS,
                                 "too many connections of this user, or of all users");
    case IPC_VERDICT_REFUSED:
        break;
    }
    return answer_failure(connection);
}

enum ssh_phase userauth_on_request(struct connection *connection, struct reader *message)
{
    if (connection->phase == SSH_PHASE_OPEN) {
        return SSH_PHASE_OPEN;
    }
    struct reader user = reader_string(message);
    struct reader service = reader_string(message);
    struct reader method = reader_string(message);
    if (message->failed) {
        return messages_refuse_malformed(connection, "USERAUTH_REQUEST");
    }
    if (!reader_is(&service, "ssh-connection")) {
        return connection_refuse(connection, SSH_DISCONNECT_SERVICE_NOT_AVAILABLE,
                                 "unsupported service");
    }
    if (++connection->client.auth_requests > LIMIT_AUTH_REQUESTS) {
        return connection_refuse(connection, SSH_DISCONNECT_NO_MORE_AUTH_METHODS,
                                 "too many authentication requests");
    }
    if (connection->client.auth_requests == 1) {
        send_banner(connection);
    }
    reader_cut(&user, connection->asked, sizeof(connection->asked));
    bool hostbound = reader_is(&method, METHOD_HOSTBOUND);
    if (connection->options->anybody ? reader_is(&method, "none")
                                     : hostbound || reader_is(&method, METHOD_PUBLICKEY)) {
        return log_in(connection, message, &user, &method, hostbound);
    }
    /* Passwords and others: the fields are not read, and every user gets the same answer. */
    return answer_failure(connection);
}
