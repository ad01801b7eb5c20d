#include "net.h"

void version_send(struct connection *connection)
{
    static const char line[] = SSH_SERVER_VERSION "\r\n";
    memcpy(connection->buffers.output + connection->output_end, line, sizeof(line) - 1);
    connection->output_end += sizeof(line) - 1;
}

/* Ends the connection. The reason shows the first line of what the client has sent. */
static void refuse_first_bytes(struct connection *connection, const char *why, const uint8_t *bytes,
                               size_t count)
{
    struct reader first = reader_over(bytes, smaller(count, 60));
    struct reader line = reader_until(&first, "\r\n");
    connection_leave(connection, "%s: its first line begins with \"%.*s\"", why, (int)line.left,
                     (const char *)line.bytes);
}

bool version_read(struct connection *connection)
{
    const uint8_t *bytes = connection->buffers.input + connection->input_start;
    size_t count =
        smaller(connection->input_end - connection->input_start, LIMIT_VERSION_LINE_BYTES);
    /* A client may send no other line before it: the first bytes decide. */
    if (memcmp(bytes, "SSH-", smaller(count, 4)) != 0) {
        refuse_first_bytes(connection, "the client does not speak SSH", bytes, count);
        return false;
    }
    const uint8_t *line_feed = memchr(bytes, '\n', count);
    if (line_feed == NULL) {
        if (count == LIMIT_VERSION_LINE_BYTES) {
            connection_leave(connection,
                             "the client's identification line is longer than 255 bytes");
        }
        return false;
    }
    size_t line_bytes = (size_t)(line_feed - bytes);
    if (line_bytes > 0 && bytes[line_bytes - 1] == '\r') {
        line_bytes--;
    }
    struct reader line = reader_over(bytes, line_bytes);
    if (reader_has_nul(&line)) {
        connection_leave(connection, "the client's identification line holds a NUL");
        return false;
    }
    if (!reader_take(&line, "SSH-2.0-") && !reader_take(&line, "SSH-1.99-")) {
        refuse_first_bytes(connection, "the client does not speak SSH 2.0", bytes, line_bytes);
        return false;
    }
    memcpy(connection->client_version, bytes, line_bytes);
    connection->client_version[line_bytes] = '\0';
    connection->client_version_bytes = line_bytes;
    connection->input_start += (size_t)(line_feed - bytes) + 1;
    return true;
}

bool version_is_openssh(const struct connection *connection)
{
    struct reader line = reader_over(connection->client_version, connection->client_version_bytes);
    return reader_take(&line, "SSH-2.0-OpenSSH");
}
