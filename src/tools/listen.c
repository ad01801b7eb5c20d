/*
 * wrensshd-listen: a launcher for places without one. It reads nothing from a connection and gives
 * each to a program of its own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "descriptors.h"
#include "exits.h"
#include "flags.h"
#include "limit.h"
#include "log.h"
#include "number.h"
#include "offspring.h"
#include "peer.h"
#include "tools.h"

static const char help[] =
    "usage: wrensshd-listen [-c most at once (64)] [-s most from one address (24)]\n"
    "                       [-b address] [-i interface]\n"
    "                       [-k seconds before all is killed at the end] [-h] [-V]\n"
    "                       port program [argument ...]\n";

/* What an IPv4 address has in front where it stands as one of IPv6: RFC 4291 section 2.5.5.2. */
static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

struct listener {
    unsigned most, most_from_one, last_seconds, port;
    bool ends_all; /* -k */
    bool hears_hangup;
    struct in6_addr address; /* to listen on; all of them if it is zero */
    const char *interface;
    char **program;
    int socket, signals;
    unsigned open;
    int children[LIMIT_LISTEN_CONNECTIONS]; /* 0 where there is none */
    struct in6_addr sources[LIMIT_LISTEN_CONNECTIONS];
};

static const struct tool tool = {.name = "wrensshd-listen", .help = help};

/* ---- the command line ------------------------------------------------------------------------ */

static bool read_number(unsigned *number, const char *text, unsigned least, unsigned most)
{
    return number_read(number, text) && *number >= least && *number <= most;
}

static bool read_address(struct in6_addr *address, const char *text)
{
    memcpy(address, mapped, sizeof(mapped));
    return inet_pton(AF_INET, text, &address->s6_addr[sizeof(mapped)]) == 1 ||
           inet_pton(AF_INET6, text, address) == 1;
}

static const char *set_value(struct listener *listener, int flag, const char *text)
{
    switch (flag) {
    case 'c':
    case 's':
        return read_number(flag == 'c' ? &listener->most : &listener->most_from_one, text, 1,
                           LIMIT_LISTEN_CONNECTIONS)
                   ? NULL
                   : "-c and -s take 1 to 1024";
    case 'k':
        listener->ends_all = true;
        return read_number(&listener->last_seconds, text, 0, LIMIT_LISTEN_LAST_SECONDS)
                   ? NULL
                   : "-k takes 0 to 3600";
    case 'b':
        return read_address(&listener->address, text) ? NULL : "-b takes an IP address";
    case 'i':
        listener->interface = text;
        return text[0] != '\0' && strlen(text) < IF_NAMESIZE ? NULL : "-i takes an interface";
    default:
        return "unknown flag, or one without its argument";
    }
}

/* Returns 0 to go on, or -1: *status is the exit code. */
static int parse(struct listener *listener, char **argv, int *status)
{
    struct flags flags = {.known = "c:s:b:i:k:hV", .rest = argv + 1};
    const char *wrong = NULL;
    int flag;
    while (wrong == NULL && (flag = flags_next(&flags)) != FLAGS_END) {
        if (flag == 'h' || flag == 'V') {
            *status = tool_print(flag == 'h' ? help : "wrensshd " WREN_VERSION "\n");
            return -1;
        }
        wrong = set_value(listener, flag, flags.value);
    }
    if (wrong == NULL && (flags.rest[0] == NULL || flags.rest[1] == NULL)) {
        wrong = "no port or no program";
    }
    if (wrong == NULL && !read_number(&listener->port, flags.rest[0], 0, 65535)) {
        wrong = "the port must be 0 to 65535";
    }
    if (wrong == NULL && flags.rest[1][0] != '/') {
        wrong = "the program must be a path from /";
    }
    if (wrong != NULL) {
        *status = tool_refuse(&tool, wrong);
        return -1;
    }
    listener->program = flags.rest + 1;
    return 0;
}

/* ---- the socket ------------------------------------------------------------------------------ */

static bool is_mapped(const struct in6_addr *address)
{
    return memcmp(address, mapped, sizeof(mapped)) == 0;
}

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
    } else if (is_mapped(address) || memcmp(address, &in6addr_any, sizeof(*address)) == 0) {
        /* The port is at the same place in both. */
        struct sockaddr_in *local4 = (struct sockaddr_in *)(void *)local;
        local4->sin_family = AF_INET;
        memcpy(&local4->sin_addr, &address->s6_addr[sizeof(mapped)], sizeof(local4->sin_addr));
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

/* The port that the kernel chose for 0, for the log. */
static void log_start(const struct listener *listener)
{
    struct log_line line;
    struct sockaddr_in6 bound = {.sin6_port = 0};
    socklen_t bytes = sizeof(bound);
    getsockname(listener->socket, (struct sockaddr *)&bound, &bytes);
    log_begin(&line, "listen");
    log_number(&line, "port", ntohs(bound.sin6_port)); /* at the same place in both families */
    log_end(&line, LOG_EVENT);
}

/* ---- connections ----------------------------------------------------------------------------- */

/* What is counted as one address: of IPv6 a network of 64 bits, which is what one subscriber has at
 * the least. */
static void read_source(struct in6_addr *source, const struct sockaddr_in6 *client)
{
    memset(source, 0, sizeof(*source));
    if (client->sin6_family == AF_INET) {
        memcpy(source, &((const struct sockaddr_in *)(const void *)client)->sin_addr, 4);
    } else if (is_mapped(&client->sin6_addr)) {
        memcpy(source, &client->sin6_addr.s6_addr[sizeof(mapped)], 4);
    } else {
        memcpy(source, &client->sin6_addr, 8);
        source->s6_addr[15] = 6; /* no IPv4 address looks like that */
    }
}

static unsigned count_from(const struct listener *listener, const struct in6_addr *source)
{
    unsigned count = 0;
    for (unsigned i = 0; i < listener->most; i++) {
        count += listener->children[i] != 0 &&
                 memcmp(&listener->sources[i], source, sizeof(*source)) == 0;
    }
    return count;
}

static void log_refusal(int connection)
{
    static struct peer peer;
    struct log_line line;
    peer_learn(&peer, connection);
    log_begin(&line, "refused");
    log_text(&line, "from", peer.address);
    log_text(&line, "port", peer.port);
    log_text(&line, "reason", "too many from one address");
    log_end(&line, LOG_EVENT);
}

/* What is lacking would be met again at once. A signal may tell of a child's end, or want ours. */
static void wait_a_moment(const struct listener *listener, const char *what, int error)
{
    struct pollfd watched = {.fd = listener->signals, .events = POLLIN};
    log_trouble(what, NULL, strerror(error));
    poll(&watched, 1, LIMIT_LISTEN_PAUSE_MS);
}

/* As fork(2). */
static pid_t start(const struct listener *listener, int connection)
{
    pid_t child = fork();
    if (child == 0) {
        signals_hand_on();
        if (dup2(connection, STDIN_FILENO) >= 0 && dup2(connection, STDOUT_FILENO) >= 0) {
            close(connection);
            execv(listener->program[0], listener->program);
        }
        log_trouble("can't run", listener->program[0], strerror(errno));
        _exit(EXIT_TROUBLE);
    }
    return child;
}

/* There is a free place: the socket is not watched otherwise. */
static void take_connection(struct listener *listener)
{
    struct sockaddr_in6 client = {.sin6_family = AF_UNSPEC};
    socklen_t bytes = sizeof(client);
    struct in6_addr source;
    int connection = accept(listener->socket, (struct sockaddr *)&client, &bytes);
    if (connection < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            wait_a_moment(listener, "accept", errno);
        }
        return;
    }
    read_source(&source, &client);
    if (count_from(listener, &source) >= listener->most_from_one) {
        log_refusal(connection);
        close(connection);
        return;
    }
    pid_t child = start(listener, connection);
    int error = errno;
    close(connection); /* its client need not wait, whatever has come of it */
    if (child < 0) {
        wait_a_moment(listener, "fork", error);
        return;
    }
    int place = 0;
    while (listener->children[place] != 0) {
        place++;
    }
    listener->children[place] = child;
    listener->sources[place] = source;
    listener->open++;
}

static void reap(struct listener *listener)
{
    pid_t child;
    while ((child = waitpid(-1, NULL, WNOHANG)) > 0) {
        for (unsigned i = 0; i < listener->most; i++) {
            if (listener->children[i] == child) {
                listener->children[i] = 0;
                listener->open--;
            }
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

static bool start_signals(struct listener *listener)
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGHUP);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    listener->signals = signalfd(-1, &mask, SFD_CLOEXEC);
    return listener->signals >= 0;
}

static int finish(struct listener *listener)
{
    close(listener->socket);
    if (!listener->ends_all) {
        return 0;
    }
    struct pollfd watched = {.fd = listener->signals, .events = POLLIN};
    int64_t end = clock_now_ms() + (int64_t)listener->last_seconds * 1000;
    int64_t left;
    while (listener->open > 0 && (left = end - clock_now_ms()) > 0) {
        /* A second SIGTERM is impatience. */
        if (poll(&watched, 1, (int)left) > 0 && take_signal(listener)) {
            break;
        }
    }
    if (!offspring_end()) {
        log_trouble("processes may be left", "/proc", NULL);
        return EXIT_TROUBLE;
    }
    return 0;
}

static int serve(struct listener *listener)
{
    for (;;) {
        bool full = listener->open >= listener->most;
        struct pollfd watched[] = {{.fd = listener->signals, .events = POLLIN},
                                   {.fd = full ? -1 : listener->socket, .events = POLLIN}};
        if (poll(watched, 2, -1) < 0) {
            continue;
        }
        if (watched[0].revents != 0 && take_signal(listener)) {
            return finish(listener);
        }
        if (watched[1].revents != 0) {
            take_connection(listener);
        }
    }
}

int listen_main(char **argv)
{
    static struct listener listener; /* without initial values: the file would hold its zeros */
    int status = 0;
    listener.most = LIMIT_LISTEN_DEFAULT;
    listener.most_from_one = LIMIT_LISTEN_DEFAULT_FROM_ONE;
    log_name(tool.name);
    if (parse(&listener, argv, &status) != 0) {
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
    if (!start_signals(&listener)) {
        log_trouble("signals", NULL, strerror(errno));
        return EXIT_TROUBLE;
    }
    const char *lacking = listener.ends_all ? offspring_adopt() : NULL;
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
