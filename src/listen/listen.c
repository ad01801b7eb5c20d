/*
 * wrensshd-listen: a launcher for places without one. It reads nothing from a connection and gives
 * each to a program of its own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "descendants.h"
#include "descriptors.h"
#include "exits.h"
#include "limit.h"
#include "listen.h"
#include "listen_source.h"
#include "log.h"
#include "peer.h"
#include "tools.h"

/* linux/random.h: GRND_NONBLOCK. */
#define DRAW_WITHOUT_WAITING 1

/* ---- the socket ------------------------------------------------------------------------------ */

/* One for both families; for IPv4 alone where the kernel has no IPv6. */
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
        /* The port is at the same place in both. */
        struct sockaddr_in *local4 = (struct sockaddr_in *)(void *)local;
        local4->sin_family = AF_INET;
        memcpy(&local4->sin_addr, &address->s6_addr[SOURCE_MAPPED_BYTES], sizeof(local4->sin_addr));
        fd = socket(AF_INET, type, 0);
    }
    return fd;
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
        log_trouble("can't listen", interface, strerror(errno));
        return -1;
    }
    return fd;
}

/* ---- the log --------------------------------------------------------------------------------- */

/* The port that the kernel chose for 0, and what the memory chose. */
static void log_start(const struct listener *listener)
{
    struct log_line line;
    struct sockaddr_in6 bound = {.sin6_port = 0};
    socklen_t bytes = sizeof(bound);
    getsockname(listener->socket, (struct sockaddr *)&bound, &bytes);
    log_begin(&line, "listen");
    log_number(&line, "port", ntohs(bound.sin6_port)); /* at the same place in both families */
    log_number(&line, "most", listener->places.most);
    log_number(&line, "from_one", listener->places.most_from_one);
    if (!listener->places.alike) {
        log_number(&line, "before_login", listener->places.drop.full);
    }
    log_end(&line, LOG_EVENT);
}

static void log_refusal(struct listener *listener, int connection, const char *reason)
{
    static struct peer peer;
    struct log_line line;
    if (!lines_take(&listener->refused, clock_now_ms())) {
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
    if (!lines_take(&listener->penalized, clock_now_ms())) {
        return;
    }
    source_write(address, source);
    log_begin(&line, "penalty");
    log_text(&line, "from", address);
    log_number(&line, "seconds", (uint64_t)(left_ms + 999) / 1000);
    log_end(&line, LOG_EVENT);
}

static void log_count(const char *event, struct lines *lines, bool at_once)
{
    struct log_line line;
    uint64_t count = lines_summary(lines, clock_now_ms(), at_once);
    if (count > 0) {
        log_begin(&line, event);
        log_text(&line, "reason", "not logged one by one");
        log_number(&line, "count", count);
        log_end(&line, LOG_EVENT);
    }
}

static void log_counts(struct listener *listener, bool at_once)
{
    log_count("refused", &listener->refused, at_once);
    log_count("penalty", &listener->penalized, at_once);
}

/* ---- connections ----------------------------------------------------------------------------- */

/* What is lacking would be met again at once. A signal may tell of a child's end, or want ours. */
static void wait_a_moment(const struct listener *listener, const char *what, int error)
{
    struct pollfd watched = {.fd = listener->signals, .events = POLLIN};
    log_trouble(what, NULL, strerror(error));
    poll(&watched, 1, LIMIT_LISTEN_PAUSE_MS);
}

/* A number from 0 to 99 that no client can foresee. getrandom() would wait early in the boot, and
 * old kernels lack it. Without any source everybody is dropped who can be. */
static unsigned draw(void)
{
    uint32_t number = 0;
    ssize_t got = syscall(SYS_getrandom, &number, sizeof(number), DRAW_WITHOUT_WAITING);
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
               : places_refuse(&listener->places, source, draw());
}

/* There is a free place: the socket is not watched otherwise. */
static void take_connection(struct listener *listener)
{
    struct sockaddr_in6 client = {.sin6_family = AF_UNSPEC};
    socklen_t bytes = sizeof(client);
    struct in6_addr source;
    int status;
    int connection = accept(listener->socket, (struct sockaddr *)&client, &bytes);
    if (connection < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            wait_a_moment(listener, "accept", errno);
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
    pid_t child = listen_start(listener->program, connection, &status);
    int error = errno;
    close(connection); /* its client need not wait, whatever has come of it */
    if (child < 0) {
        wait_a_moment(listener, "fork", error);
        return;
    }
    places_take(&listener->places, &source, child, status);
}

static void punish(struct listener *listener, const struct place *place)
{
    int64_t seconds = place->ending == STATUS_REFUSED    ? LIMIT_LISTEN_REFUSED_SECONDS
                      : place->ending == STATUS_DEADLINE ? LIMIT_LISTEN_DEADLINE_SECONDS
                                                         : LIMIT_LISTEN_NOTHING_SECONDS;
    int64_t refused_ms =
        penalty_add(&listener->penalties, &place->source, seconds * 1000, clock_now_ms());
    if (refused_ms > 0) {
        log_penalty(listener, &place->source, refused_ms);
    }
}

/* What a child has said; `over` if it has ended, too. */
static void hear(struct listener *listener, struct place *place, bool over)
{
    enum place_state before = place->state;
    over = places_hear(&listener->places, place) || over;
    if (place->state == PLACE_LOGGED_IN && before != PLACE_LOGGED_IN) {
        penalty_forgive(&listener->penalties, &place->source);
    }
    if (over) {
        if (place->state == PLACE_BEFORE_LOGIN) {
            punish(listener, place);
        }
        places_free(&listener->places, place);
    }
}

static void reap(struct listener *listener)
{
    pid_t child;
    while ((child = waitpid(-1, NULL, WNOHANG)) > 0) {
        struct place *place = places_find(&listener->places, child);
        if (place != NULL) {
            hear(listener, place, true);
        }
    }
}

/* True if it was told to end. */
static bool take_signal(struct listener *listener)
{
    struct signalfd_siginfo signal;
    if (read(listener->signals, &signal, sizeof(signal)) != sizeof(signal)) {
        return false;
    }
    reap(listener);
    return signal.ssi_signo != SIGCHLD && (signal.ssi_signo != SIGHUP || listener->hears_hangup);
}

/* ---- the loop and its end -------------------------------------------------------------------- */

static int finish(struct listener *listener)
{
    close(listener->socket);
    log_counts(listener, true);
    if (!listener->ends_all) {
        return 0;
    }
    struct pollfd watched = {.fd = listener->signals, .events = POLLIN};
    int64_t end = clock_now_ms() + (int64_t)listener->last_seconds * 1000;
    int64_t left;
    while (listener->places.open > 0 && (left = end - clock_now_ms()) > 0) {
        /* A second SIGTERM is impatience. */
        if (poll(&watched, 1, (int)left) > 0 && take_signal(listener)) {
            break;
        }
    }
    if (!descendants_end()) {
        log_trouble("processes may be left", "/proc", NULL);
        return EXIT_TROUBLE;
    }
    return 0;
}

/* Signals, the socket if there is a free place, and all status pipes. Nothing that is not open:
 * poll() takes no more than RLIMIT_NOFILE. */
static nfds_t watch(struct listener *listener)
{
    struct places *places = &listener->places;
    nfds_t count = 2;
    bool full = places->open >= places->most;
    listener->watched[0] = (struct pollfd){.fd = listener->signals, .events = POLLIN};
    listener->watched[1] = (struct pollfd){.fd = full ? -1 : listener->socket, .events = POLLIN};
    for (unsigned i = 0; i < places->most; i++) {
        struct place *place = &places->table[i];
        if (place->state != PLACE_FREE && place->status >= 0) {
            listener->watched_places[count] = place;
            listener->watched[count++] = (struct pollfd){.fd = place->status, .events = POLLIN};
        }
    }
    return count;
}

static void hear_all(struct listener *listener, nfds_t count)
{
    for (nfds_t i = 2; i < count; i++) {
        struct place *place = listener->watched_places[i];
        /* A signal that was taken first may have freed it. */
        if (listener->watched[i].revents != 0 && place->state != PLACE_FREE) {
            hear(listener, place, false);
        }
    }
}

static int serve(struct listener *listener)
{
    for (;;) {
        bool counting = listener->refused.left_out + listener->penalized.left_out > 0;
        nfds_t count = watch(listener);
        if (poll(listener->watched, count, counting ? LIMIT_LISTEN_LINE_MS : -1) < 0) {
            if (errno != EINTR) {
                wait_a_moment(listener, "poll", errno);
            }
            continue;
        }
        log_counts(listener, false);
        if (listener->watched[0].revents != 0 && take_signal(listener)) {
            return finish(listener);
        }
        hear_all(listener, count);
        if (listener->watched[1].revents != 0) {
            take_connection(listener);
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
    static struct listener listener; /* without initial values: the file would hold its zeros */
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
    if (!S_ISREG(program.st_mode)) { /* X_OK lets a folder be searched */
        log_trouble("can't run", listener.program[0], "no program");
        return EXIT_USAGE;
    }
    listener.hears_hangup = signal(SIGHUP, SIG_DFL) != SIG_IGN; /* nohup(1) */
    signals_reset(); /* an inherited SIGCHLD that is ignored would hide ends */
    listener.signals = signals_watch(true);
    if (listener.signals < 0) {
        log_trouble("signals", NULL, strerror(errno));
        return EXIT_TROUBLE;
    }
    const char *lacking = listener.ends_all ? descendants_adopt() : NULL;
    if (lacking != NULL) {
        log_trouble("-k can't find what it would have to end", NULL, lacking);
        return EXIT_TROUBLE;
    }
    log_connect();
    listener.socket = bind_port(&listener);
    if (listener.socket < 0) {
        return EXIT_TROUBLE;
    }
    log_start(&listener);
    return serve(&listener);
}
