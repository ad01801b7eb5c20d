/*
 * wrensshd-listen: a launcher for systems that have none. It starts a program for each connection,
 * and never reads from a connection itself.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "limit.h"
#include "listen.h"
#include "log.h"
#include "process.h"
#include "tools.h"

/* ---- the log --------------------------------------------------------------------------------- */

/* Logs the port, which the kernel chooses for 0, and the limits, which may depend on the memory. */
static void log_start(const struct listener *listener)
{
    struct log_line line;
    struct sockaddr_in6 bound = {.sin6_port = 0};
    socklen_t bytes = sizeof(bound);
    log_begin(&line, "listen");
    if (listener->from_systemd) {
        log_number(&line, "sockets", listener->sockets);
    } else {
        getsockname(listener->watched[1].fd, (struct sockaddr *)&bound, &bytes);
        log_number(&line, "port", ntohs(bound.sin6_port)); /* the same offset in both families */
    }
    log_number(&line, "most", listener->clients.limit);
    log_number(&line, "from_one", listener->clients.limit_per_source);
    log_end(&line, LOG_EVENT);
    if (listener->is_small) {
        log_trouble("-c is small", NULL, "connections before their login may fill it");
    }
}

static void log_refusal(struct listener *listener, int connection,
                        const struct sockaddr_in6 *client, const char *reason)
{
    static struct peer peer;
    struct log_line line;
    if (!rate_limit_allow(&listener->refusal_lines, clock_now_ms())) {
        return;
    }
    peer_learn(&peer, connection);
    peer_accepted(&peer, client);
    log_begin(&line, "refused");
    log_text(&line, "from", peer.address);
    log_text(&line, "port", peer.port);
    log_text(&line, "reason", reason);
    log_end(&line, LOG_EVENT);
}

static void log_connections(struct listener *listener, bool at_once)
{
    struct log_line line;
    uint64_t count = rate_limit_summary(&listener->refusal_lines, clock_now_ms(), at_once);
    if (count > 0) {
        log_begin(&line, "refused");
        log_text(&line, "reason", "suppressed");
        log_number(&line, "count", count);
        log_end(&line, LOG_EVENT);
    }
}

/* ---- children -------------------------------------------------------------------------------- */

/* For a child, or -1 for any. Returns false if it has not ended. */
static bool reap(struct listener *listener, pid_t child)
{
    child = waitpid(child, NULL, WNOHANG);
    if (child > 0) {
        clients_remove(&listener->clients, child);
    }
    return child > 0;
}

static void reap_all(struct listener *listener)
{
    listener->reap_ms = 0;
    while (reap(listener, -1)) {
    }
}

/* ---- connections ----------------------------------------------------------------------------- */

/* After an error that would return at once. A signal ends the pause. */
static void log_and_pause(struct listener *listener, const char *what, int error)
{
    log_trouble(what, NULL, strerror(error));
    poll(listener->watched, 1, LIMIT_LISTEN_PAUSE_MS);
}

static void accept_client(struct listener *listener, int from)
{
    struct sockaddr_in6 client = {.sin6_family = AF_UNSPEC};
    socklen_t bytes = sizeof(client);
    struct in6_addr source;
    int connection = accept(from, (struct sockaddr *)&client, &bytes);
    if (connection < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            log_and_pause(listener, "accept", errno);
        }
        return;
    }
    source_read(&source, &client);
    const char *refusal = clients_refuse(&listener->clients, &source);
    if (refusal != NULL && listener->reap_ms != 0) {
        reap_all(listener);
        refusal = clients_refuse(&listener->clients, &source);
    }
    if (refusal != NULL) {
        log_refusal(listener, connection, &client, refusal);
        close(connection);
        return;
    }
    pid_t child = children_start(listener->program, connection, &client);
    int error = errno;
    close(connection); /* the child has it; after an error the client sees the end at once */
    if (child < 0) {
        log_and_pause(listener, "fork", error);
        return;
    }
    clients_add(&listener->clients, &source, child);
}

/* Returns true if the signal asks the listener to end. Reaps the child that it names: to find any
 * other, waitpid() looks at all. Those that ended before this one was read have no signal of their
 * own. */
static bool read_signal(struct listener *listener)
{
    struct signalfd_siginfo signal;
    if (read(listener->watched[0].fd, &signal, sizeof(signal)) != sizeof(signal)) {
        return false;
    }
    if (signal.ssi_signo == SIGCHLD) {
        reap(listener, (pid_t)signal.ssi_pid);
        if (listener->reap_ms == 0) {
            listener->reap_ms = clock_now_ms() + LIMIT_LISTEN_REAP_MS;
        }
        return false;
    }
    return signal.ssi_signo != SIGHUP || listener->ends_by_hangup;
}

/* ---- the loop and its end -------------------------------------------------------------------- */

static int end_listening(struct listener *listener)
{
    for (unsigned i = 1; i <= listener->sockets; i++) {
        close(listener->watched[i].fd);
    }
    log_connections(listener, true);
    if (!listener->ends_all) {
        return 0;
    }
    int64_t end = clock_now_ms() + (int64_t)listener->last_seconds * 1000;
    int64_t left;
    reap_all(listener);
    while (listener->clients.count > 0 && (left = end - clock_now_ms()) > 0) {
        /* A second signal ends the waiting. */
        if (poll(listener->watched, 1, (int)left) > 0 && read_signal(listener)) {
            break;
        }
        reap_all(listener);
    }
    if (!children_end()) {
        log_trouble("processes may be left", "/proc", NULL);
        return EXIT_TROUBLE;
    }
    return 0;
}

static int serve_clients(struct listener *listener)
{
    struct pollfd *watched = listener->watched;
    for (;;) {
        if (sockets_renew(listener)) {
            log_start(listener);
        }
        bool timed = listener->refusal_lines.suppressed > 0 || listener->interface != NULL ||
                     listener->error != 0 || listener->reap_ms != 0;
        if (poll(watched, 1 + listener->sockets, timed ? LIMIT_LISTEN_LINE_MS : -1) < 0) {
            if (errno != EINTR) {
                log_and_pause(listener, "poll", errno);
            }
            continue;
        }
        log_connections(listener, false);
        if (listener->reap_ms != 0 && clock_now_ms() >= listener->reap_ms) {
            reap_all(listener);
        }
        if (watched[0].revents != 0 && read_signal(listener)) {
            return end_listening(listener);
        }
        for (unsigned i = 1; i <= listener->sockets; i++) {
            if (watched[i].revents != 0) {
                accept_client(listener, watched[i].fd);
            }
        }
    }
}

static uint64_t memory_bytes(void)
{
    struct sysinfo found;
    return sysinfo(&found) == 0 ? (uint64_t)found.totalram * found.mem_unit : 0;
}

int listen_main(char **argv)
{
    static struct listener listener; /* no initial values: it would take space in the file */
    int status = 0;
    log_name(LISTEN_NAME);
    if (listen_options(&listener, argv, memory_bytes(), &status) != 0) {
        return status;
    }
    struct stat program;
    if (access(listener.program[0], X_OK) != 0 || stat(listener.program[0], &program) != 0) {
        log_trouble("can't run", listener.program[0], strerror(errno));
        return EXIT_USAGE;
    }
    if (!S_ISREG(program.st_mode)) { /* for a directory X_OK means search permission */
        log_trouble("can't run", listener.program[0], "not a regular file");
        return EXIT_USAGE;
    }
    listener.ends_by_hangup = signal(SIGHUP, SIG_DFL) != SIG_IGN; /* nohup(1) */
    signals_reset(); /* with an ignored SIGCHLD, waitpid() would not report children */
    listener.watched[0] = (struct pollfd){.fd = signals_watch(true), .events = POLLIN};
    if (listener.watched[0].fd < 0) {
        log_trouble("signals", NULL, strerror(errno));
        return EXIT_TROUBLE;
    }
    const char *missing = listener.ends_all ? children_adopt() : NULL;
    if (missing != NULL) {
        log_trouble("-k can't track descendants", NULL, missing);
        return EXIT_TROUBLE;
    }
    log_connect();
    if (!sockets_open(&listener, &status)) {
        return status;
    }
    if (listener.error == 0) {
        log_start(&listener);
    }
    return serve_clients(&listener);
}
