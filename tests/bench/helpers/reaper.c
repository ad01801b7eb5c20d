/* Runs a server as a launcher would, and writes down what it cost once all its processes are gone.
 *
 *     reaper [--root FOLDER] FILE PROGRAM [ARGUMENT...]
 *
 * A server may leave processes behind that are not its children when they end. As their subreaper
 * we get them all, so RUSAGE_CHILDREN is the whole bill: every process from the exec to the last
 * session's program. One line is appended to FILE: user and system time in microseconds, wall time
 * in nanoseconds, the largest process's resident memory in kB, and of all of them the instructions
 * outside of the kernel and the processor's cycles with the kernel: 0 where the machine does not
 * count; and the bytes that they have read from the disk. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCK_BYTES 512LL /* of getrusage(2), whatever the disk's are */

static long long microseconds(struct timeval time)
{
    return time.tv_sec * 1000000LL + time.tv_usec;
}

static long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Counts from the server's exec on, in it and in all that it starts. Many virtual machines can't.
 */
static int count(unsigned event, bool with_kernel)
{
    struct perf_event_attr wanted;

    memset(&wanted, 0, sizeof(wanted));
    wanted.size = sizeof(wanted);
    wanted.type = PERF_TYPE_HARDWARE;
    wanted.config = event;
    wanted.inherit = 1;
    wanted.disabled = 1;
    wanted.enable_on_exec = 1;
    wanted.exclude_kernel = !with_kernel;
    wanted.exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static long long counted_by(int counter)
{
    long long counted = 0;

    if (counter < 0 || read(counter, &counted, sizeof(counted)) != sizeof(counted)) {
        return 0;
    }
    return counted;
}

static void write_bill(int file, long long wall_ns, long long instructions, long long cycles)
{
    struct rusage usage;
    char line[192];
    int length;

    getrusage(RUSAGE_CHILDREN, &usage);
    length = snprintf(line, sizeof(line), "%lld %lld %lld %ld %lld %lld %lld\n",
                      microseconds(usage.ru_utime), microseconds(usage.ru_stime), wall_ns,
                      usage.ru_maxrss, instructions, cycles, usage.ru_inblock * BLOCK_BYTES);
    /* One write with O_APPEND: connections that end together don't mix. */
    if (write(file, line, (size_t)length) != length) {
        perror("reaper: write");
    }
}

static _Noreturn void become_server(const char *root, char **command)
{
    if (root != NULL && (chroot(root) != 0 || chdir("/") != 0)) {
        perror(root);
        _exit(111);
    }
    execv(command[0], command);
    perror(command[0]);
    _exit(111);
}

int main(int words, char **arguments)
{
    const char *root = NULL;
    char **rest = arguments + 1;
    long long start_ns = now_ns();
    pid_t server;
    int file, instructions, cycles;

    if (words > 2 && strcmp(rest[0], "--root") == 0) {
        root = rest[1];
        rest += 2;
    }
    if (rest[0] == NULL || rest[1] == NULL) {
        fputs("usage: reaper [--root FOLDER] FILE PROGRAM [ARGUMENT...]\n", stderr);
        return 100;
    }
    file = open(rest[0], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        perror(rest[0]);
        return 111;
    }
    /* Inherited by the child, where the exec sets them going; we ourselves never exec. */
    instructions = count(PERF_COUNT_HW_INSTRUCTIONS, false);
    cycles = count(PERF_COUNT_HW_CPU_CYCLES, true);
    server = fork();
    if (server == 0) {
        become_server(root, rest + 1);
    }
    /* The connection is the server's alone: it ends when the server closes it. */
    close(0);
    close(1);
    while (wait(NULL) > 0 || errno == EINTR) {
    }
    write_bill(file, now_ns() - start_ns, counted_by(instructions), counted_by(cycles));
    return server < 0 ? 111 : 0;
}
