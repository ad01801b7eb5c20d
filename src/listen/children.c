#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "listen.h"
#include "process.h"

/* ---- the start of a program ------------------------------------------------------------------ */

#define REMOTE "TCPREMOTE"

/* As tcpserver does, for a program whose connection is already reset. Inherited variables are about
 * another client. Without memory the environment is not changed. */
static void name_client(const struct sockaddr_in6 *client)
{
    static struct peer peer;
    static char address[sizeof(REMOTE "IP=") + PEER_ADDRESS_BYTES];
    static char port[sizeof(REMOTE "PORT=") + PEER_PORT_BYTES];
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **named = memory_beside_data((count + 3) * sizeof(*named));
    if (named == NULL) {
        return;
    }
    count = 0;
    if (peer_accepted(&peer, client)) {
        snprintf(address, sizeof(address), REMOTE "IP=%s", peer.address);
        snprintf(port, sizeof(port), REMOTE "PORT=%s", peer.port);
        named[count++] = address;
        named[count++] = port;
    }
    for (char **variable = environ; *variable != NULL; variable++) {
        if (strncmp(*variable, REMOTE, strlen(REMOTE)) != 0) {
            named[count++] = *variable;
        }
    }
    environ = named;
}

/* The child until its exec. */
__attribute__((noreturn)) static void run_program(char **program, int connection,
                                                  const struct sockaddr_in6 *client)
{
    name_client(client);
    setsid(); /* ^C, a hang-up or a supervisor's signal to the group ends the listener alone */
    signals_hand_on();
    if (dup2(connection, STDIN_FILENO) >= 0 && dup2(connection, STDOUT_FILENO) >= 0) {
        close(connection);
        execv(program[0], program);
    }
    log_trouble("can't run", program[0], strerror(errno));
    _exit(EXIT_TROUBLE);
}

pid_t children_start(char **program, int connection, const struct sockaddr_in6 *client)
{
    pid_t child = fork();
    if (child == 0) {
        run_program(program, connection, client);
    }
    return child;
}

/* ---- the end of all -------------------------------------------------------------------------- */

/* The fourth field of /proc/PID/stat. The second, in parentheses, can contain any character. */
static pid_t parent_of(pid_t pid)
{
    char path[32];
    char text[256];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[bytes > 0 ? bytes : 0] = '\0';
    char *word = strrchr(text, ')');
    unsigned parent = 0;
    if (word != NULL && strlen(word) > 4) {
        word += 4; /* ") S " */
        word[strcspn(word, " ")] = '\0';
        number_read(&parent, word);
    }
    return (pid_t)parent;
}

struct search {
    pid_t self;
    int signal; /* 0 for none, as for kill(2) */
    bool seen_self;
};

static void signal_if_child(void *context, int list, int pid)
{
    struct search *search = context;
    (void)list;
    search->seen_self = search->seen_self || pid == search->self;
    if (parent_of(pid) == search->self) {
        kill(pid, search->signal);
    }
}

/* Also signals zombies, until waitpid() has reaped them. Returns false if /proc is not mounted. */
static bool signal_children(int signal)
{
    struct search search = {.self = getpid(), .signal = signal};
    return dirs_numbers("/proc", signal_if_child, &search) && search.seen_self;
}

const char *children_adopt(void)
{
    if (!signal_children(0)) {
        return "/proc is not mounted";
    }
    return prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L) == 0 ? NULL
                                                              : "the kernel is older than 3.4";
}

bool children_end(void)
{
    /* Generation by generation: when waitpid() reports a child, its children have become ours. Many
     * are reaped before /proc is read again, which may list thousands; not all, or programs that
     * fork without end would never be signalled. */
    pid_t ended;
    do {
        if (!signal_children(SIGKILL)) {
            return false;
        }
        ended = waitpid(-1, NULL, 0);
        for (int i = 0; i < LIMIT_LISTEN_CONNECTIONS && waitpid(-1, NULL, WNOHANG) > 0; i++) {
        }
    } while (ended > 0);
    return true;
}
