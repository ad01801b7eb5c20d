/*
 * wrensshd: one SSH connection on descriptors 0 and 1. This file does the set-up, forks, and is the
 * only one that knows both sides: the network process (net/) and the monitor (monitor/).
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "connection.h"
#include "descriptors.h"
#include "entropy.h"
#include "exits.h"
#include "identity.h"
#include "launcher_environment.h"
#include "limit.h"
#include "log.h"
#include "loop.h"
#include "monitor.h"
#include "oom.h"
#include "options.h"
#include "peer.h"
#include "relro.h"
#include "sandbox.h"
#include "status.h"
#include "tools.h"

/* linux/keyctl.h, which a musl toolchain need not have. */
#define KEYCTL_JOIN_SESSION_KEYRING 1

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
    if (fd < 0) {
        trouble("/dev/null");
        return false;
    }
    close(fd);
    return true;
}

/* S_IFIFO and the like; 0 if it can't be told. */
static mode_t type_of(int fd)
{
    struct stat found;
    return fstat(fd, &found) == 0 ? found.st_mode & S_IFMT : 0;
}

/* What a client can be behind. */
static bool is_stream(int fd)
{
    mode_t type = type_of(fd);
    return type == S_IFSOCK || type == S_IFIFO;
}

static bool is_same_stream(int one, int other)
{
    struct stat first, second;
    return is_stream(one) && fstat(one, &first) == 0 && fstat(other, &second) == 0 &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/* Some inetds make the connection stderr as well: what is said there would go to the client. No
 * client is where nothing can come from, and output and errors are a pipe, to a person's pager. */
static bool take_stderr_off_connection(void)
{
    if (!is_same_stream(STDIN_FILENO, STDERR_FILENO) &&
        (!is_same_stream(STDOUT_FILENO, STDERR_FILENO) ||
         (type_of(STDERR_FILENO) == S_IFIFO && !is_stream(STDIN_FILENO)))) {
        return false;
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDERR_FILENO) < 0) {
        _exit(EXIT_TROUBLE);
    }
    close(null);
    return true;
}

/* What the launcher's session keyring holds is not for the users who log in (keyrings(7)); kernels
 * without keys have none to leak, and a container's filter, which says EPERM as this call does not
 * otherwise, keeps users from them as well. An ordinary user's own is that user's. */
static bool leave_keyring(void)
{
    return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0 || errno == ENOSYS ||
           errno == EPERM || geteuid() != 0;
}

/* Closes what the launcher has left open, all but the host key's descriptor and the status pipe,
 * each of which can have the other's number. */
static bool close_descriptors(struct options *options)
{
    int key = options->key_descriptor;
    status_take();
    bool there = key == KEY_DESCRIPTOR ? fcntl(key, F_SETFD, FD_CLOEXEC) == 0
                                       : key == 0 || dup3(key, KEY_DESCRIPTOR, O_CLOEXEC) >= 0;
    if (!there) {
        log_trouble("host key", options->keydir, strerror(errno));
        return false;
    }
    options->key_descriptor = key == 0 ? 0 : KEY_DESCRIPTOR;
    for (int fd = IPC_DESCRIPTOR; fd < KEY_DESCRIPTOR + (key == 0); fd++) {
        close(fd);
    }
    status_place();
    descriptors_close_from(STATUS_DESCRIPTOR + 1);
    return true;
}

static bool make_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

/* Gives a descriptor the number that it is expected under. */
static void place(int fd, int number)
{
    if (fd != number) {
        dup3(fd, number, O_CLOEXEC);
        close(fd);
    }
}

/* The network process from fork to exit. */
static void serve(const struct options *options, const struct peer *peer,
                  const struct identity *identity)
{
    /* Not static: the compiler would write its address into every function that it is given to. */
    struct connection *connection =
        mmap(NULL, sizeof(*connection), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (connection == MAP_FAILED) {
        _exit(trouble("no memory for the connection"));
    }
    /* Quiet sessions need a few pages of it; a huge page would be 2 MiB for each. Kernels without
     * them refuse. */
    madvise(connection, sizeof(*connection), MADV_NOHUGEPAGE);
    uint32_t layers = sandbox_enter(identity);
    connection_init(connection, options, IPC_DESCRIPTOR, SESSION_DESCRIPTOR, peer->tcp);
    loop_run(connection, layers);
}

/* What both sides of the fork expect to be open: /dev/null, and one end of each of two socket
 * pairs. Expects that their numbers are free. monitor[0] and session[0] stay with the monitor. */
static bool open_descriptors(int monitor[2], int session[2])
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) {
        return false;
    }
    place(null, NULL_DESCRIPTOR);
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, monitor) == 0 &&
           socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, session) == 0;
}

/* Both pairs are above their numbers or at them, in any order: what is in the way is moved. */
static void place_ends(int monitor, int session, const int others[2])
{
    close(others[0]);
    close(others[1]);
    int moved = fcntl(session, F_DUPFD_CLOEXEC, STATUS_DESCRIPTOR + 1);
    close(session);
    place(monitor, IPC_DESCRIPTOR);
    place(moved, SESSION_DESCRIPTOR);
}

/* How long a reply may take before ask.c looks whether the client is still there; and room for the
 * longest request, where the system's default has been lowered. */
static void set_sockets(void)
{
    const int bytes = IPC_SESSION_REQUEST_BYTES;
    const struct timeval wait = {.tv_sec = LIMIT_REPLY_WAIT_MS / 1000,
                                 .tv_usec = LIMIT_REPLY_WAIT_MS % 1000 * 1000};
    setsockopt(IPC_DESCRIPTOR, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    setsockopt(SESSION_DESCRIPTOR, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    setsockopt(SESSION_DESCRIPTOR, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

/* The monitor from fork to exit; returns its exit code. The connection is the network process's:
 * the monitor keeps a copy only to count its bytes and to shut it down. */
static int monitor(struct monitor_setup *setup)
{
    /* The monitor signs and verifies: neither takes random bytes. */
    entropy_stop();
    setup->connection = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STATUS_DESCRIPTOR + 1);
    dup2(NULL_DESCRIPTOR, STDIN_FILENO);
    dup2(NULL_DESCRIPTOR, STDOUT_FILENO);
    close(NULL_DESCRIPTOR);
    log_connect();
    return monitor_run(setup);
}

static int part(const struct options *options, const struct peer *peer)
{
    int monitors[2];
    int sessions[2];
    const struct identity identity = identity_find();
    struct oom oom;
    oom_raise(&oom, STATUS_DESCRIPTOR + 1);
    if (!open_descriptors(monitors, sessions)) {
        return trouble("/dev/null or a socket pair");
    }
    pid_t network = fork();
    if (network < 0) {
        return trouble("fork");
    }
    int mine = network == 0 ? 1 : 0;
    const int others[] = {monitors[1 - mine], sessions[1 - mine]};
    place_ends(monitors[mine], sessions[mine], others);
    if (network == 0) {
        if (options->key_descriptor != 0) {
            close(options->key_descriptor);
        }
        set_sockets();
        serve(options, peer, &identity);
        _exit(0);
    }
    struct monitor_setup setup = {.options = options,
                                  .peer = peer,
                                  .identity = &identity,
                                  .oom = &oom,
                                  .ipc = IPC_DESCRIPTOR,
                                  .network = network};
    /* Nothing waits for exit()'s handlers, which would only visit each library once more. */
    _exit(monitor(&setup));
}

/* Where the kernel takes none of these, the system's times hold. */
static void find_dead_links(int fd)
{
    static const struct {
        int level, option, value;
    } settings[] = {
        {IPPROTO_TCP, TCP_KEEPIDLE, LIMIT_KEEPALIVE_IDLE_SECONDS},
        {IPPROTO_TCP, TCP_KEEPINTVL, LIMIT_KEEPALIVE_INTERVAL_SECONDS},
        {IPPROTO_TCP, TCP_KEEPCNT, LIMIT_KEEPALIVE_PROBES},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        setsockopt(fd, settings[i].level, settings[i].option, &settings[i].value,
                   sizeof(settings[i].value));
    }
}

static int daemon_main(char **argv)
{
    static struct options options;
    int status = 0;
    bool misused_stderr = take_stderr_off_connection();
    if (options_parse(&options, argv, &status) != 0) {
        if (misused_stderr && status == EXIT_USAGE) {
            log_open(true, LOG_EVENT);
            log_trouble("wrong command line", NULL, "start wrensshd by hand to see what is wrong");
        }
        return status;
    }
    log_open(options.syslog || misused_stderr, (enum log_level)(LOG_EVENT + options.verbosity));
    if (isatty(STDIN_FILENO)) {
        log_trouble("descriptor 0 is a terminal, not a connection", NULL,
                    "start wrensshd from a launcher: systemd, tcpserver or inetd");
        return EXIT_USAGE;
    }
    /* Launchers hand over what they please: SIGCHLD ignored (busybox), SIGPIPE ignored (Python). */
    signals_reset();
    if (!close_descriptors(&options)) {
        return EXIT_USAGE;
    }
    umask(umask(0077) | 0022);

    static struct peer peer;
    peer_learn(&peer, STDIN_FILENO);
    log_peer(peer.address, peer.port);
    if (peer.tcp) {
        find_dead_links(STDIN_FILENO);
    }
    if (!make_nonblocking(STDIN_FILENO) || !make_nonblocking(STDOUT_FILENO)) {
        return trouble("the connection can't be made non-blocking");
    }
    launcher_environment_wipe();
    if (!leave_keyring()) {
        return trouble("the launcher's keyring can't be left");
    }
    /* Nobody counts the login's seconds yet. */
    if (!entropy_start(ENTROPY_DESCRIPTOR, options.login_seconds)) {
        return EXIT_TROUBLE;
    }
    if (sodium_init() < 0) {
        return trouble("libsodium");
    }
    return part(&options, &peer);
}

int main(int argc, char **argv)
{
    if (!relro_protect()) {
        return trouble("what the loader has filled in can't be made read-only");
    }
    if (!have_standard_descriptors()) {
        return EXIT_TROUBLE;
    }
    if (argc < 1) {
        log_trouble("no name and no arguments given", NULL, NULL);
        return EXIT_USAGE;
    }
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash != NULL ? slash + 1 : argv[0];
    if (strcmp(name, "wrensshd-makekey") == 0) {
        return makekey_main(argv);
    }
    if (strcmp(name, "wrensshd-printkey") == 0) {
        return printkey_main(argv);
    }
    if (strcmp(name, "wrensshd-listen") == 0) {
        return listen_main(argv);
    }
    return daemon_main(argv);
}
