/*
 * wrensshd: one SSH connection on descriptors 0 and 1. This file parts the process in two and is
 * the only one that knows both: the network process (net/) and the monitor (priv/).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "connection.h"
#include "descriptors.h"
#include "log.h"
#include "loop.h"
#include "monitor.h"
#include "options.h"
#include "peer.h"
#include "sandbox.h"
#include "tools.h"

#define EXIT_USAGE   100
#define EXIT_TROUBLE 111

/* Where a host key's descriptor (keydir "fd:N") waits for the monitor. */
#define KEY_DESCRIPTOR (IPC_DESCRIPTOR + 1)

static int trouble(const char *what)
{
    log_trouble(what, NULL, strerror(errno));
    return EXIT_TROUBLE;
}

/* Descriptors 0 to 2 exist from here on, so that nothing we open can become one of them. */
static bool have_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

/* Launchers hand over what they please: SIGCHLD ignored (busybox), SIGPIPE ignored (Python), masks.
 */
static void set_signals(void)
{
    signals_reset();
    /* A closed pipe is an error of write(), not the end of us. */
    signal(SIGPIPE, SIG_IGN);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD); /* the monitor reads it from a signalfd */
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

/* Some inetds make the connection stderr as well: a log there would go to the client. */
static bool stderr_is_connection(void)
{
    struct stat connection, log;
    return fstat(STDIN_FILENO, &connection) == 0 && fstat(STDERR_FILENO, &log) == 0 &&
           S_ISSOCK(log.st_mode) && connection.st_dev == log.st_dev &&
           connection.st_ino == log.st_ino;
}

/* Closes what the launcher has left open, all but the host key's descriptor. */
static bool close_descriptors(struct options *options)
{
    if (options->key_descriptor == 0) {
        descriptors_close_from(IPC_DESCRIPTOR);
        return true;
    }
    bool there = options->key_descriptor == KEY_DESCRIPTOR
                     ? fcntl(KEY_DESCRIPTOR, F_SETFD, FD_CLOEXEC) == 0
                     : dup3(options->key_descriptor, KEY_DESCRIPTOR, O_CLOEXEC) >= 0;
    if (!there) {
        log_trouble("host key", options->keydir, strerror(errno));
        return false;
    }
    options->key_descriptor = KEY_DESCRIPTOR;
    close(IPC_DESCRIPTOR);
    descriptors_close_from(KEY_DESCRIPTOR + 1);
    return true;
}

static bool make_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/* The network process from fork to exit. */
static int serve(const struct options *options, const struct peer *peer, int null)
{
    static struct connection connection;
    uint32_t layers = sandbox_enter(null);
    connection_init(&connection, options, IPC_DESCRIPTOR, peer->tcp);
    loop_run(&connection, layers);
    return 0;
}

static int part(const struct options *options, const struct peer *peer, int null)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        return trouble("socketpair");
    }
    pid_t network = fork();
    if (network < 0) {
        return trouble("fork");
    }
    bool is_network = network == 0;
    if (is_network && options->key_descriptor != 0) {
        close(options->key_descriptor);
    }
    int own = is_network ? pair[1] : pair[0];
    close(is_network ? pair[0] : pair[1]);
    if (own != IPC_DESCRIPTOR) {
        if (null == IPC_DESCRIPTOR) {
            null = fcntl(null, F_DUPFD_CLOEXEC, IPC_DESCRIPTOR + 1);
        }
        dup3(own, IPC_DESCRIPTOR, O_CLOEXEC);
        close(own);
    }
    if (is_network) {
        _exit(serve(options, peer, null));
    }
    /* The connection is the network process's alone: it closes when that ends. */
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    close(null);
    return monitor_run(options, peer, IPC_DESCRIPTOR, network);
}

static int daemon_main(int argc, char **argv)
{
    static struct options options;
    int status = 0;
    if (options_parse(&options, argc, argv, &status) != 0) {
        return status;
    }
    bool misused_stderr = stderr_is_connection();
    log_open(options.syslog || misused_stderr, (enum log_level)(LOG_EVENT + options.verbosity));
    if (isatty(STDIN_FILENO)) {
        log_trouble("descriptor 0 is a terminal, not a connection", NULL,
                    "start wrensshd from a launcher: systemd, tcpserver or inetd");
        return EXIT_USAGE;
    }
    set_signals();
    if (!close_descriptors(&options)) {
        return EXIT_USAGE;
    }
    umask(umask(0077) | 0022);

    static struct peer peer;
    peer_learn(&peer, STDIN_FILENO);
    log_peer(peer.address, peer.port);
    const int on = 1;
    setsockopt(STDIN_FILENO, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    if (!make_nonblocking(STDIN_FILENO) || !make_nonblocking(STDOUT_FILENO)) {
        return trouble("the connection can't be made non-blocking");
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || (misused_stderr && dup2(null, STDERR_FILENO) < 0)) {
        return trouble("/dev/null");
    }
    if (sodium_init() < 0) {
        return trouble("libsodium");
    }
    return part(&options, &peer, null);
}

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = argc == 0 ? "" : slash != NULL ? slash + 1 : argv[0];
    if (!have_standard_descriptors()) {
        return EXIT_TROUBLE;
    }
    if (strcmp(name, "wrensshd-makekey") == 0) {
        return makekey_main(argc, argv);
    }
    if (strcmp(name, "wrensshd-printkey") == 0) {
        return printkey_main(argc, argv);
    }
    return daemon_main(argc, argv);
}
