#include "forwarding.h"

#include <string.h>

#include "ask.h"
#include "log.h"

/* How a type begins (RFC 4254 sections 6.3 and 7, OpenSSH's PROTOCOL), and the text for the log. */
static const struct {
    char type[6]; /* without a NUL */
    char text[36];
} kinds[] = {
    {"direct", "no port forwarding (ssh -J, -L, -W)"}, /* -tcpip and -streamlocal */
    {"tcpip-", "no remote port forwarding (ssh -R)"},
    {"stream", "no remote socket forwarding (-R)"},
    {"auth-a", "no agent forwarding (ssh -A)"},
    {"x11-re", "no X11 forwarding (ssh -X)"},
};

void forwarding_note(struct connection *connection, const struct reader *type)
{
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (type->left > sizeof(kinds[i].type) &&
            memcmp(type->bytes, kinds[i].type, sizeof(kinds[i].type)) == 0 &&
            (connection->client.forwardings & 1U << i) == 0) {
            connection->client.forwardings |= 1U << i;
            ask_note(connection, LOG_EVENT, kinds[i].text);
        }
    }
}
