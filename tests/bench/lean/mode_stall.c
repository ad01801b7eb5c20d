#include <stdio.h>
#include <unistd.h>

#include "client.h"
#include "modes.h"
#include "report.h"

#define ENDLESS "cat /dev/zero"

void mode_stall(const struct options *options)
{
    struct json json;
    char bytes[256];
    struct client *client = client_begin(options);
    login_ask(client);
    struct session *session = session_ask(client);
    session_run(client, session, options->command != NULL ? options->command : ENDLESS, false);
    while (session->bytes == 0) {
        client_turn(client, true);
    }
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, bytes, sizeof(bytes)) > 0) {
    }
    report_begin(&json, client);
    report_received(&json, client);
    json_end(&json);
    client_drop(client);
}
