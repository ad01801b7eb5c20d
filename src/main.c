/*
 * wrensshd: one SSH connection on descriptors 0 and 1. This file has the set-up and the fork. Only
 * it and check.c include headers of both processes: the network process (net/) and the monitor
 * (monitor/).
 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "admission.h"
#include "listen.h"
#include "log.h"
#include "main.h"
#include "monitor.h"
#include "net.h"
#include "options.h"
#include "process.h"
#include "sandbox.h"
#include "sftp.h"
#include "tools.h"
#include "users.h"

static int trouble(const char *what)
{
    log_trouble(what, NULL, strerror(errno));
    return EXIT_TROUBLE;
}

#define STANDARD_DESCRIPTORS (STDERR_FILENO + 1)

/* Finds out what descriptors 0 to 2 are. Opens /dev/null for each that is closed, so that no later
 * file gets one of these numbers. An unknown one is all zeros. */
static bool have_standard_descriptors(struct stat files[static STANDARD_DESCRIPTORS])
{
    memset(files, 0, STANDARD_DESCRIPTORS * sizeof(*files));
    for (int fd = 0; fd < STANDARD_DESCRIPTORS; fd++) {
        /* All below are open, so that a new one gets this number. */
        if (fstat(fd, &files[fd]) != 0 && errno == EBADF &&
            openat(AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC) < 0) {
            trouble("/dev/null");
            return false;
        }
    }
    return true;
}

/* Whether the file can carry a connection. */
static bool is_stream(const struct stat *file)
{
    return S_ISSOCK(file->st_mode) || S_ISFIFO(file->st_mode);
}

static bool is_same_stream(const struct stat *one, const struct stat *other)
{
    return is_stream(one) && lease_is_same(one, other);
}

/* Some inetds use the connection as stderr too, and the log would go to the client. Then replaces
 * stderr by /dev/null and returns true. There is no client if stdin is not a stream: a person may
 * have piped stdout and stderr into a pager. */
static bool take_stderr_off_connection(const struct stat files[static STANDARD_DESCRIPTORS])
{
    const struct stat *in = &files[STDIN_FILENO];
    const struct stat *out = &files[STDOUT_FILENO];
    const struct stat *err = &files[STDERR_FILENO];
    if (!is_same_stream(in, err) &&
        (!is_same_stream(out, err) || (S_ISFIFO(err->st_mode) && !is_stream(in)))) {
        return false;
    }
    int null = openat(AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDERR_FILENO) < 0) {
        _exit(EXIT_TROUBLE);
    }
    close(null);
    return true;
}

/* Closes the descriptors that the launcher has left open, except the host key's. */
static bool close_descriptors(struct options *options)
{
    int key = options->key_descriptor;
    if (key == 0) {
        descriptors_close_from(IPC_DESCRIPTOR);
        return true;
    }
    if (key == KEY_DESCRIPTOR ? fcntl(key, F_SETFD, FD_CLOEXEC) != 0
                              : dup3(key, KEY_DESCRIPTOR, O_CLOEXEC) < 0) {
        log_trouble("host key", options->keydir, strerror(errno));
        return false;
    }
    options->key_descriptor = KEY_DESCRIPTOR;
    descriptors_close_between(IPC_DESCRIPTOR, KEY_DESCRIPTOR - 1);
    descriptors_close_from(KEY_DESCRIPTOR + 1);
    return true;
}

/* Moves a descriptor to `number`. */
static void place(int fd, int number)
{
    if (fd != number) {
        dup3(fd, number, O_CLOEXEC);
        close(fd);
    }
}

/* Takes from the group and others the right to write new files. */
static void set_mask(void)
{
    const mode_t forbidden = 0022;
    mode_t launchers = umask(forbidden);
    if ((launchers & ~forbidden) != 0) {
        umask(launchers | forbidden);
    }
}

/* Opens our own program's file for the SFTP server, as the user may lack the right to. Without
 * /proc it uses the path by which the kernel started us. If neither works, there is no SFTP.
 * By openat(), as each file of a login: musl's open() makes a second call, for close-on-exec. */
static void open_program(void)
{
    int fd = openat(AT_FDCWD, "/proc/self/exe", O_PATH | O_CLOEXEC);
    if (fd < 0) {
        const union {
            unsigned long number;
            const char *text;
        } path = {getauxval(AT_EXECFN)};
        fd = path.text != NULL ? openat(AT_FDCWD, path.text, O_PATH | O_CLOEXEC) : -1;
    }
    if (fd >= 0) {
        place(fd, PROGRAM_DESCRIPTOR);
    }
}

static bool make_nonblocking(int fd)
{
    int on = 1;
    return ioctl(fd, FIONBIO, &on) == 0;
}

/* A socket has one open file description, however many descriptors: setting one sets the other. */
static bool make_connection_nonblocking(const struct stat files[static STANDARD_DESCRIPTORS])
{
    bool one_socket = S_ISSOCK(files[STDIN_FILENO].st_mode) &&
                      is_same_stream(&files[STDIN_FILENO], &files[STDOUT_FILENO]);
    return make_nonblocking(STDIN_FILENO) && (one_socket || make_nonblocking(STDOUT_FILENO));
}

/* The network process, from fork to exit. */
static void serve(const struct options *options, const struct peer *peer,
                  const struct identity *identity, const uint8_t cookie[static SSH_COOKIE_BYTES])
{
    /* Not static: each function would contain its address, which makes the program larger, and the
     * banner would part the other variables into two pages. */
    struct {
        struct connection connection;
        struct banner banner;
    } *memory = memory_beside_data(sizeof(*memory));
    if (memory == NULL) {
        trouble("no memory for the connection");
        _exit(EXIT_FAILURE); /* not ENTROPY_EXIT, which means another trouble */
    }
    struct connection *connection = &memory->connection;
    options_banner(&memory->banner, options);
    const struct net_options needed = {.verbosity = options->verbosity,
                                       .no_sntrup = options->no_sntrup,
                                       .no_curve25519 = options->no_curve25519,
                                       .forced = options->forced_command != NULL,
                                       .anybody = options->anybody != NULL,
                                       .banner = &memory->banner,
                                       .login_seconds = options->login_seconds,
                                       .idle_seconds = options->idle_seconds,
                                       .life_seconds = options->life_seconds,
                                       .keepalive_seconds = options->keepalive_seconds};
    uint32_t layers = sandbox_enter(identity);
    connection_init(connection, &needed, IPC_DESCRIPTOR, SESSION_DESCRIPTOR, peer->tcp);
    memcpy(connection->kex.cookie, cookie, SSH_COOKIE_BYTES);
    loop_run(connection, layers);
}

/* Opens what both processes need: /dev/null, and two socket pairs, of which each process keeps one
 * end. The monitor keeps monitor[0] and session[0]. The fixed numbers from IPC_DESCRIPTOR to
 * NULL_DESCRIPTOR are free, and the kernel gives the lowest, so these calls get them in order. */
static bool open_descriptors(int monitor[2], int session[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, monitor) != 0) {
        return false;
    }
    int null = openat(AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) {
        return false;
    }
    place(null, NULL_DESCRIPTOR);
    return monitor[0] == IPC_DESCRIPTOR && monitor[1] == SESSION_DESCRIPTOR &&
           socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, session) == 0;
}

/* Copies our ends to their fixed numbers. These belong to the pair with the monitor: dup3() closes
 * the other process's end there. */
static void place_ends(int monitor, int session)
{
    if (monitor != IPC_DESCRIPTOR) {
        dup3(monitor, IPC_DESCRIPTOR, O_CLOEXEC);
    }
    dup3(session, SESSION_DESCRIPTOR, O_CLOEXEC);
}

/* Sets how long ask.c waits for a reply before it checks whether the client is still there, and a
 * buffer for the longest request, in case the system's default was lowered. */
static void set_sockets(void)
{
    const int bytes = IPC_SESSION_REQUEST_BYTES;
    const struct timeval wait = {.tv_sec = LIMIT_REPLY_WAIT_MS / 1000,
                                 .tv_usec = LIMIT_REPLY_WAIT_MS % 1000 * 1000};
    setsockopt(IPC_DESCRIPTOR, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    setsockopt(SESSION_DESCRIPTOR, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    setsockopt(SESSION_DESCRIPTOR, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

/* The monitor, from fork to exit. Returns its exit code. It keeps a duplicate of the connection's
 * descriptor only to count the connection's bytes and to shut it down. */
static int monitor(struct monitor_setup *setup, const int sessions[2])
{
    /* The monitor signs and verifies, which needs no random bytes. */
    entropy_stop();
    /* The new descriptor replaces sessions[0], of which place_ends() has made a copy. */
    setup->connection = dup3(STDIN_FILENO, sessions[0], O_CLOEXEC);
    dup2(NULL_DESCRIPTOR, STDIN_FILENO);
    dup2(NULL_DESCRIPTOR, STDOUT_FILENO);
    close(NULL_DESCRIPTOR);
    close(sessions[1]);
    log_connect();
    return monitor_run(setup);
}

/* Sets TCP keepalive. If the kernel refuses, the system's times apply. */
static void set_keepalive(int fd, size_t slots)
{
    const int probes = (int)MIN(slots, LIMIT_KEEPALIVE_PROBES);
    const struct {
        int level, option, value;
    } settings[] = {
        {IPPROTO_TCP, TCP_KEEPIDLE, LIMIT_KEEPALIVE_IDLE_SECONDS},
        {IPPROTO_TCP, TCP_KEEPINTVL, LIMIT_KEEPALIVE_INTERVAL_SECONDS},
        {IPPROTO_TCP, TCP_KEEPCNT, probes},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        setsockopt(fd, settings[i].level, settings[i].option, &settings[i].value,
                   sizeof(settings[i].value));
    }
}

/* Forks the network process, and becomes the monitor. */
static int fork_processes(const struct options *options, const struct peer *peer)
{
    int monitors[2];
    int sessions[2];
    const struct identity identity = identity_find();
    struct oom oom;
    struct admission admission;
    uint8_t cookie[SSH_COOKIE_BYTES];
    randombytes_buf(cookie, sizeof(cookie));
    if (!open_descriptors(monitors, sessions)) {
        return trouble("/dev/null or a socket pair");
    }
    /* First: out of memory in a burst of new connections, the kernel ends one of these. */
    oom_raise(&oom, NULL_DESCRIPTOR + 1);
    if (!admission_enter(&admission, peer)) {
        return 0;
    }
    if (peer->tcp) {
        set_keepalive(STDIN_FILENO, admission.limit);
    }
    launcher_environment_wipe(); /* admission needs XDG_RUNTIME_DIR */
    pid_t network = fork();
    if (network < 0) {
        return trouble("fork");
    }
    place_ends(monitors[network == 0], sessions[network == 0]);
    if (network == 0) {
        /* The sandbox closes all descriptors that are not the network process's. */
        set_sockets();
        serve(options, peer, admission.uid == 0 ? &identity : NULL, cookie);
        _exit(0);
    }
    struct monitor_setup setup = {.options = options,
                                  .peer = peer,
                                  .identity = &identity,
                                  .oom = &oom,
                                  .admission = &admission,
                                  .cookie = cookie,
                                  .ipc = IPC_DESCRIPTOR,
                                  .network = network};
    /* Not exit(): there are no handlers to run, and it would only touch each library's memory. */
    _exit(monitor(&setup, sessions));
}

/* True for a launcher's listening socket. At the end of a connection it would be shut down, and the
 * port be closed for all. */
static bool is_listening(int fd)
{
    int on = 0;
    socklen_t bytes = sizeof(on);
    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &bytes) == 0 && on != 0;
}

static int daemon_main(char **argv, const struct stat files[static STANDARD_DESCRIPTORS])
{
    static struct options options;
    int status = 0;
    bool misused_stderr = take_stderr_off_connection(files);
    if (options_parse(&options, argv, &status) != 0) {
        if ((misused_stderr || options.syslog) && status == EXIT_USAGE) {
            log_open(true, LOG_EVENT);
            log_trouble("wrong command line", NULL, "start wrensshd by hand to see what is wrong");
        }
        return status;
    }
    log_open(options.syslog || misused_stderr, (enum log_level)(LOG_EVENT + options.verbosity));
    if (!options.check && S_ISCHR(files[STDIN_FILENO].st_mode) && isatty(STDIN_FILENO)) {
        log_trouble("descriptor 0 is a terminal, not a connection", NULL,
                    "try: wrensshd-listen 2222 $(command -v wrensshd) KEYDIR");
        return EXIT_USAGE;
    }
    if (options.anybody != NULL && !confine_ordinary_user()) {
        log_trouble("-N", NULL, "the launcher must become an ordinary user first");
        return EXIT_USAGE;
    }
    /* Launchers may ignore signals: busybox ignores SIGCHLD, Python SIGPIPE. */
    signals_reset();
    if (!close_descriptors(&options)) {
        return EXIT_USAGE;
    }
    if (options.check) {
        launcher_environment_wipe();
        return check_run(&options);
    }
    open_program();
    set_mask();
    static struct peer peer;
    peer_learn(&peer, STDIN_FILENO);
    if (is_listening(STDIN_FILENO)) {
        log_trouble("descriptor 0 is a listening socket, not a connection", NULL,
                    "let the launcher accept: Accept=yes, nowait");
        return EXIT_USAGE;
    }
    log_peer(peer.address, peer.port);
    if (!make_connection_nonblocking(files)) {
        return trouble("the connection can't be made non-blocking");
    }
    if (!confine_leave_keyring()) {
        return trouble("the launcher's keyring can't be left");
    }
    /* The login's deadline does not run yet, so this wait has a limit of its own. */
    if (!entropy_start(ENTROPY_DESCRIPTOR, options.login_seconds)) {
        return EXIT_TROUBLE;
    }
    if (sodium_init() < 0) {
        return trouble("libsodium");
    }
    return fork_processes(&options, &peer);
}

int main(int argc, char **argv)
{
    struct stat files[STANDARD_DESCRIPTORS];
    if (!relro_protect()) {
        return trouble("what the loader has filled in can't be made read-only");
    }
    if (!have_standard_descriptors(files)) {
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
    if (strcmp(name, "wrensshd-sftp") == 0) {
        return sftp_main(argv);
    }
    return daemon_main(argv, files);
}
