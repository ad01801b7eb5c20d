/*
 * wrensshd-listen: a launcher for systems that have none. It starts a program for each connection,
 * and never reads from a connection itself.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "descriptors.h"
#include "exits.h"
#include "limit.h"
#include "listen.h"
#include "log.h"
#include "peer.h"
#include "tools.h"

/* linux/random.h: GRND_NONBLOCK. */
#define RANDOM_NONBLOCK 1

/* ---- the socket ------------------------------------------------------------------------------ */

/* A socket for both families, or for IPv4 alone if the kernel has no IPv6. */
static int open_socket(const struct listener *listener, struct sockaddr_in6 *local)
{
    const int off = 0;
    const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    const struct in6_addr *address = &listener->address;
    *local = (struct sockaddr_in6){.sin6_family = AF_INET6,
                                   .sin6_port = htons((uint16_t)listener->port),
                                   .sin6_addr = *address};
    int fd = socket(AF_INET6, type, 0);
    if (fd >= 0) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    } else if (source_is_mapped(address) || memcmp(address, &in6addr_any, sizeof(*address)) == 0) {
        /* The port has the same offset in both structs. */
        struct sockaddr_in *local4 = (struct sockaddr_in *)(void *)local;
        local4->sin_family = AF_INET;
        memcpy(&local4->sin_addr, &address->s6_addr[SOURCE_MAPPED_BYTES], sizeof(local4->sin_addr));
        fd = socket(AF_INET, type, 0);
    }
    return fd;
}

static void log_failure(const struct listener *listener, const char *reason)
{
    char what[sizeof("can't listen on port 65535 of any address") + INET6_ADDRSTRLEN];
    const char *address = listener->address_text;
    snprintf(what, sizeof(what), "can't listen on port %u of %s", listener->port,
             address != NULL ? address : "any address");
    log_trouble(what, listener->interface, reason);
}

static int bind_port(const struct listener *listener)
{
    const int on = 1;
    const char *interface = listener->interface;
    struct sockaddr_in6 local;
    int fd = open_socket(listener, &local);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        (interface != NULL && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface,
                                         (socklen_t)strlen(interface) + 1) != 0) ||
        bind(fd, (struct sockaddr *)&local, sizeof(local)) != 0 || listen(fd, SOMAXCONN) != 0) {
        log_failure(listener, strerror(errno));
        return -1;
    }
    return fd;
}

/* ---- the log --------------------------------------------------------------------------------- */

/* Logs the port, which the kernel chooses for 0, and the limits, which may depend on the memory. */
static void log_start(const struct listener *listener)
{
    struct log_line line;
    struct sockaddr_in6 bound = {.sin6_port = 0};
    socklen_t bytes = sizeof(bound);
    getsockname(listener->socket, (struct sockaddr *)&bound, &bytes);
    log_begin(&line, "listen");
    log_number(&line, "port", ntohs(bound.sin6_port)); /* the same offset in both families */
    log_number(&line, "most", listener->clients.limit);
    log_number(&line, "from_one", listener->clients.limit_per_source);
    if (!listener->clients.no_early_drop) {
        log_number(&line, "before_login", listener->clients.drop.full);
    }
    log_end(&line, LOG_EVENT);
}

static void log_refusal(struct listener *listener, int connection, const char *reason)
{
    static struct peer peer;
    struct log_line line;
    if (!rate_limit_allow(&listener->refusal_lines, clock_now_ms())) {
        return;
    }
    peer_learn(&peer, connection);
    log_begin(&line, "refused");
    log_text(&line, "from", peer.address);
    log_text(&line, "port", peer.port);
    log_text(&line, "reason", reason);
    log_end(&line, LOG_EVENT);
}

static void log_penalty(struct listener *listener, const struct in6_addr *source, int64_t left_ms)
{
    char address[SOURCE_TEXT_BYTES];
    struct log_line line;
    if (!rate_limit_allow(&listener->penalty_lines, clock_now_ms())) {
        return;
    }
    source_write(address, source);
    log_begin(&line, "penalty");
    log_text(&line, "from", address);
    log_number(&line, "seconds", (uint64_t)(left_ms + 999) / 1000);
    log_end(&line, LOG_EVENT);
}

static void log_count(const char *event, struct rate_limit *limit, bool at_once)
{
    struct log_line line;
    uint64_t count = rate_limit_summary(limit, clock_now_ms(), at_once);
    if (count > 0) {
        log_begin(&line, event);
        log_text(&line, "reason", "not logged one by one");
        log_number(&line, "count", count);
        log_end(&line, LOG_EVENT);
    }
}

static void log_counts(struct listener *listener, bool at_once)
{
    log_count("refused", &listener->refusal_lines, at_once);
    log_count("penalty", &listener->penalty_lines, at_once);
}

/* ---- connections ----------------------------------------------------------------------------- */

/* After an error that would return at once. A signal ends the pause. */
static void log_and_pause(const struct listener *listener, const char *what, int error)
{
    struct pollfd watched = {.fd = listener->signals, .events = POLLIN};
    log_trouble(what, NULL, strerror(error));
    poll(&watched, 1, LIMIT_LISTEN_PAUSE_MS);
}

/* A number from 0 to 99 that clients can't predict. Early in the boot getrandom() would block, and
 * old kernels lack it. Without any source the number is 0, which drops the most clients. */
static unsigned random_percent(void)
{
    uint32_t number = 0;
    ssize_t got = syscall(SYS_getrandom, &number, sizeof(number), RANDOM_NONBLOCK);
    if (got != (ssize_t)sizeof(number)) {
        int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
        got = read(fd, &number, sizeof(number));
        close(fd);
    }
    return got == (ssize_t)sizeof(number) ? number % 100 : 0;
}

static const char *find_refusal(const struct listener *listener, const struct in6_addr *source)
{
    return penalty_refuses(&listener->penalties, source, clock_now_ms())
               ? "penalty"
               : clients_refuse(&listener->clients, source, random_percent());
}

/* Called only below the limit: otherwise the socket is not polled. */
static void accept_client(struct listener *listener)
{
    struct sockaddr_in6 client = {.sin6_family = AF_UNSPEC};
    socklen_t bytes = sizeof(client);
    struct in6_addr source;
    int status_pipe;
    int connection = accept(listener->socket, (struct sockaddr *)&client, &bytes);
    if (connection < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            log_and_pause(listener, "accept", errno);
        }
        return;
    }
    source_read(&source, &client);
    const char *refusal = find_refusal(listener, &source);
    if (refusal != NULL) {
        log_refusal(listener, connection, refusal);
        close(connection);
        return;
    }
    pid_t child = children_start(listener->program, connection, &status_pipe);
    int error = errno;
    close(connection); /* the child has it; after an error the client sees the end at once */
    if (child < 0) {
        log_and_pause(listener, "fork", error);
        return;
    }
    clients_add(&listener->clients, &source, child, status_pipe);
}

static void add_penalty(struct listener *listener, const struct client *client)
{
    int64_t seconds = client->outcome == STATUS_REFUSED    ? LIMIT_LISTEN_REFUSED_SECONDS
                      : client->outcome == STATUS_DEADLINE ? LIMIT_LISTEN_DEADLINE_SECONDS
                                                           : LIMIT_LISTEN_NOTHING_SECONDS;
    int64_t refused_ms =
        penalty_add(&listener->penalties, &client->source, seconds * 1000, clock_now_ms());
    if (refused_ms > 0) {
        log_penalty(listener, &client->source, refused_ms);
    }
}

/* Reads what a child has reported. `ended` if it has been reaped. */
static void update_client(struct listener *listener, struct client *client, bool ended)
{
    enum client_state before = client->state;
    ended = clients_read_status(&listener->clients, client) || ended;
    if (client->state == CLIENT_LOGGED_IN && before != CLIENT_LOGGED_IN) {
        penalty_forgive(&listener->penalties, &client->source);
    }
    if (ended) {
        if (client->state == CLIENT_BEFORE_LOGIN) {
            add_penalty(listener, client);
        }
        clients_remove(&listener->clients, client);
    }
}

static void reap_children(struct listener *listener)
{
    pid_t child;
    while ((child = waitpid(-1, NULL, WNOHANG)) > 0) {
        struct client *client = clients_find(&listener->clients, child);
        if (client != NULL) {
            update_client(listener, client, true);
        }
    }
}

/* Returns true if the signal asks the listener to end. */
static bool read_signal(struct listener *listener)
{
    struct signalfd_siginfo signal;
    if (read(listener->signals, &signal, sizeof(signal)) != sizeof(signal)) {
        return false;
    }
    reap_children(listener);
    return signal.ssi_signo != SIGCHLD && (signal.ssi_signo != SIGHUP || listener->ends_by_hangup);
}

/* ---- the loop and its end -------------------------------------------------------------------- */

static int end_listening(struct listener *listener)
{
    close(listener->socket);
    log_counts(listener, true);
    if (!listener->ends_all) {
        return 0;
    }
    struct pollfd watched = {.fd = listener->signals, .events = POLLIN};
    int64_t end = clock_now_ms() + (int64_t)listener->last_seconds * 1000;
    int64_t left;
    while (listener->clients.count > 0 && (left = end - clock_now_ms()) > 0) {
        /* A second signal ends the waiting. */
        if (poll(&watched, 1, (int)left) > 0 && read_signal(listener)) {
            break;
        }
    }
    if (!children_end()) {
        log_trouble("processes may be left", "/proc", NULL);
        return EXIT_TROUBLE;
    }
    return 0;
}

/* Polls signals, the socket while below the limit, and the open status pipes. Only open descriptors
 * are listed: poll() accepts no more than RLIMIT_NOFILE. */
static nfds_t list_watched(struct listener *listener)
{
    struct clients *clients = &listener->clients;
    nfds_t count = 2;
    bool full = clients->count >= clients->limit;
    listener->watched[0] = (struct pollfd){.fd = listener->signals, .events = POLLIN};
    listener->watched[1] = (struct pollfd){.fd = full ? -1 : listener->socket, .events = POLLIN};
    for (unsigned i = 0; i < clients->limit; i++) {
        struct client *client = &clients->table[i];
        if (client->state != CLIENT_NONE && client->status_pipe >= 0) {
            listener->watched_clients[count] = client;
            listener->watched[count++] =
                (struct pollfd){.fd = client->status_pipe, .events = POLLIN};
        }
    }
    return count;
}

static void update_clients(struct listener *listener, nfds_t count)
{
    for (nfds_t i = 2; i < count; i++) {
        struct client *client = listener->watched_clients[i];
        /* Reaping may have removed the client since poll(). */
        if (listener->watched[i].revents != 0 && client->state != CLIENT_NONE) {
            update_client(listener, client, false);
        }
    }
}

static int serve_clients(struct listener *listener)
{
    for (;;) {
        bool counting = listener->refusal_lines.suppressed + listener->penalty_lines.suppressed > 0;
        nfds_t count = list_watched(listener);
        if (poll(listener->watched, count, counting ? LIMIT_LISTEN_LINE_MS : -1) < 0) {
            if (errno != EINTR) {
                log_and_pause(listener, "poll", errno);
            }
            continue;
        }
        log_counts(listener, false);
        if (listener->watched[0].revents != 0 && read_signal(listener)) {
            return end_listening(listener);
        }
        update_clients(listener, count);
        if (listener->watched[1].revents != 0) {
            accept_client(listener);
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
        log_trouble("can't run", listener.program[0], "no program");
        return EXIT_USAGE;
    }
    listener.ends_by_hangup = signal(SIGHUP, SIG_DFL) != SIG_IGN; /* nohup(1) */
    signals_reset(); /* with an ignored SIGCHLD, waitpid() would not report children */
    listener.signals = signals_watch(true);
    if (listener.signals < 0) {
        log_trouble("signals", NULL, strerror(errno));
        return EXIT_TROUBLE;
    }
    const char *missing = listener.ends_all ? children_adopt() : NULL;
    if (missing != NULL) {
        log_trouble("-k can't find what it would have to end", NULL, missing);
        return EXIT_TROUBLE;
    }
    log_connect();
    listener.socket = bind_port(&listener);
    if (listener.socket < 0) {
        return EXIT_TROUBLE;
    }
    log_start(&listener);
    return serve_clients(&listener);
}
