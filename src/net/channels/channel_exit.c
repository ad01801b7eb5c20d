#include "net.h"

#include <signal.h>

#include "ask.h"

/* ---- names of signals ------------------------------------------------------------------------ */

static const struct {
    char name[sizeof("SEGV")];
    uint8_t number;
} signals[] = {
    {"ABRT", SIGABRT}, {"ALRM", SIGALRM}, {"FPE", SIGFPE},   {"HUP", SIGHUP},   {"ILL", SIGILL},
    {"INT", SIGINT},   {"KILL", SIGKILL}, {"PIPE", SIGPIPE}, {"QUIT", SIGQUIT}, {"SEGV", SIGSEGV},
    {"TERM", SIGTERM}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
};

#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

uint32_t channel_exit_signal_number(const struct reader *name)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        if (reader_is(name, signals[i].name)) {
            return signals[i].number;
        }
    }
    return 0;
}

const char *channel_exit_signal_name(uint32_t number)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        if (signals[i].number == number) {
            return signals[i].name;
        }
    }
    return NULL;
}

/* ---- states ---------------------------------------------------------------------------------- */

/* Does what the new state asks for: see channel_state.h. */
static void change_output(struct connection *connection, struct channel *channel,
                          enum channel_output_event event)
{
    enum channel_output before = channel->output;
    enum channel_output after = channel_output_after(before, event);
    channel->output = after;
    if ((after == OUTPUT_CLOSED || after == OUTPUT_FREE) && before != OUTPUT_CLOSED) {
        channel_stdin_shut(connection, channel);
        channel_stdout_shut(channel);
        descriptors_close_one(&channel->child_exit);
        channel_send(connection, channel, SSH_MSG_CHANNEL_CLOSE);
    }
    if (after == OUTPUT_FREE) {
        if (before != OUTPUT_WAITING || channel->has_pty) {
            ask_release(connection, channel);
        }
        channel_init(channel);
    }
}

void channel_exit_start(struct channel *channel, int fd)
{
    channel->child_exit = fd;
    channel->output = channel_output_after(channel->output, OUTPUT_START);
}

void channel_exit_close(struct connection *connection, struct channel *channel)
{
    change_output(connection, channel, OUTPUT_CLOSE);
    if (channel->output == OUTPUT_LAST_STATUS) {
        channel_stdin_shut(connection, channel);
    }
}

/* ---- the program's end ----------------------------------------------------------------------- */

static void send_exit(struct connection *connection, struct channel *channel,
                      const struct ipc_exit *result)
{
    const char *name = result->signaled != 0 ? channel_exit_signal_name(result->status) : NULL;
    struct writer message =
        channel_request_begin(connection, channel, name != NULL ? "exit-signal" : "exit-status");
    if (name != NULL) {
        writer_text(&message, name);
        writer_bool(&message, result->core_dumped != 0);
        writer_text(&message, "");
        writer_text(&message, "");
    } else {
        /* A signal without a name in the RFC is reported as shells do. */
        writer_u32(&message, result->signaled != 0 ? 128 + result->status : result->status);
    }
    message_send(connection, &message);
}

static void read_exit(struct connection *connection, struct channel *channel)
{
    if (channel->child_exit < 0 || (channel->ready & READY_EXIT) == 0) {
        return;
    }
    struct ipc_exit result;
    ssize_t count = read(channel->child_exit, &result, sizeof(result));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count == (ssize_t)sizeof(result)) {
        send_exit(connection, channel, &result);
    }
    descriptors_close_one(&channel->child_exit);
    channel->exited_ms = connection->now_ms;
    change_output(connection, channel, OUTPUT_EXIT);
}

uint64_t channel_exit_linger_ends_ms(const struct connection *connection,
                                     const struct channel *channel)
{
    /* The program has exited while others, background jobs, keep its terminal open. While poll() is
     * not asked about output, there may be some. */
    bool due = channel->has_pty && channel->output == OUTPUT_EXITED && channel->child_stdout >= 0 &&
               channel->flow < FLOW_COALESCING && channel_stdout_may_send(connection, channel);
    return due ? channel->exited_ms + LIMIT_LINGER_MS : UINT64_MAX;
}

void channel_exit_send(struct connection *connection, struct channel *channel)
{
    read_exit(connection, channel);
    /* Background jobs may keep the terminal as long as they like: the session ends without them. */
    if ((channel->ready & READY_NO_STDOUT) != 0 &&
        connection->now_ms >= channel_exit_linger_ends_ms(connection, channel)) {
        channel_stdin_shut(connection, channel);
        channel_stdout_shut(channel);
    }
    /* All output has been read: the program has closed it, or we have. */
    bool ended = channel->child_stdout < 0 && channel->child_stderr < 0;
    if (ended && (channel->output == OUTPUT_OPEN || channel->output == OUTPUT_EXITED)) {
        channel_send(connection, channel, SSH_MSG_CHANNEL_EOF);
        change_output(connection, channel, OUTPUT_END);
    }
}
