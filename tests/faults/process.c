#include "process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_PROCESSES 256
#define FRAMES         4
#define STACK_WORDS    1024

static struct process processes[MOST_PROCESSES];

/* The first process's program: its file, and its code as it stands in memory. */
static struct {
    struct stat file;
    uint64_t start, end;
    uint64_t base; /* where the file's first byte would be */
    uint8_t *bytes;
} program;

struct process *process_find(pid_t pid)
{
    for (size_t i = 0; i < MOST_PROCESSES; i++) {
        if (processes[i].pid == pid) {
            return &processes[i];
        }
    }
    return NULL;
}

struct process *process_add(pid_t pid)
{
    struct process *process = process_find(0);
    if (process == NULL) {
        fputs("inject: too many processes\n", stderr);
        exit(125);
    }
    memset(process, 0, sizeof(*process));
    process->pid = pid;
    return process;
}

void process_remove(struct process *process)
{
    process->pid = 0;
}

void process_first(struct process *process)
{
    snprintf(process->role, sizeof(process->role), "0");
    process->outside = true; /* until it has started the program */
}

void process_inherit(struct process *child, struct process *parent)
{
    char role[ROLE_BYTES];
    snprintf(role, sizeof(role), "%.56s.%u", parent->role, ++parent->children);
    memcpy(child->role, role, sizeof(role));
    child->outside = parent->outside;
    child->ran = parent->ran;
}

/* Reads the code between two addresses. */
static void load_code(pid_t pid)
{
    size_t size = (size_t)(program.end - program.start);
    program.bytes = malloc(size);
    struct iovec here = {.iov_base = program.bytes, .iov_len = size};
    struct iovec there = {.iov_base = (void *)(uintptr_t)program.start, .iov_len = size};
    if (program.bytes == NULL || process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)size) {
        fputs("inject: the program's code can't be read\n", stderr);
        exit(125);
    }
}

static void find_code(pid_t pid)
{
    char path[64];
    char line[512];
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps != NULL && program.end == 0 && fgets(line, sizeof(line), maps) != NULL) {
        unsigned long start, end, offset, inode = 0;
        char rights[8];
        if (sscanf(line, "%lx-%lx %7s %lx %*s %lu", &start, &end, rights, &offset, &inode) == 5 &&
            rights[2] == 'x' && inode == program.file.st_ino) {
            program.start = start;
            program.end = end;
            program.base = start - offset;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    if (program.end != 0) {
        load_code(pid);
    }
}

void process_after_exec(struct process *process)
{
    char path[64];
    struct stat found;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)process->pid);
    bool known = stat(path, &found) == 0;
    if (known && program.end == 0) {
        program.file = found;
        find_code(process->pid);
    }
    process->outside =
        !known || found.st_dev != program.file.st_dev || found.st_ino != program.file.st_ino;
    if (process->ran && strlen(process->role) + 1 < sizeof(process->role)) {
        strcat(process->role, "x");
    }
    process->ran = true;
}

/* Whether a call instruction ends there. */
static bool is_after_call(uint64_t address)
{
    if (address < program.start + 6 || address >= program.end) {
        return false;
    }
    const uint8_t *code = program.bytes + (address - program.start);
    bool direct = code[-5] == 0xe8;
    bool by_register = code[-2] == 0xff && (code[-1] & 0xf8) == 0xd0;
    bool by_memory =
        (code[-6] == 0xff && code[-5] == 0x15) || (code[-3] == 0xff && (code[-2] & 0x38) == 0x10);
    return direct || by_register || by_memory;
}

void process_site(const struct process *process, uint64_t stack, char site[static SITE_BYTES])
{
    uint64_t words[STACK_WORDS];
    struct iovec here = {.iov_base = words, .iov_len = sizeof(words)};
    struct iovec there = {.iov_base = (void *)(uintptr_t)stack, .iov_len = sizeof(words)};
    ssize_t bytes = -1;
    /* The stack may end before. */
    while (bytes < 0 && there.iov_len >= sizeof(words[0])) {
        bytes = process_vm_readv(process->pid, &here, 1, &there, 1, 0);
        there.iov_len = bytes < 0 ? there.iov_len / 2 : there.iov_len;
    }
    size_t count = bytes > 0 ? (size_t)bytes / sizeof(words[0]) : 0;
    size_t used = 0;
    unsigned frames = 0;
    snprintf(site, SITE_BYTES, "-");
    for (size_t i = 0; i < count && frames < FRAMES; i++) {
        if (is_after_call(words[i])) {
            used +=
                (size_t)snprintf(site + used, SITE_BYTES - used, "%s%llx", frames > 0 ? "+" : "",
                                 (unsigned long long)(words[i] - program.base));
            frames++;
        }
    }
}

void process_descriptor(const struct process *process, uint64_t number, char *out, size_t room)
{
    char path[64];
    ssize_t length = -1;
    if (number < 65536) {
        snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)process->pid, (unsigned)number);
        length = readlink(path, out, room - 1);
    }
    if (length <= 0) {
        length = room > 1 ? 1 : 0;
        out[0] = '-';
    }
    out[length] = '\0';
    for (ssize_t i = 0; i < length; i++) {
        out[i] = out[i] == ' ' ? '_' : out[i];
    }
}

void process_rights(const struct process *process, FILE *record)
{
    static const char *const names[] = {
        "Uid:", "Gid:", "Groups:", "CapPrm:", "CapEff:", "NoNewPrivs:", "Seccomp:"};
    char path[64];
    char line[4096];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)process->pid);
    FILE *file = fopen(path, "re");
    fprintf(record, "rights %s", process->role);
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            if (strncmp(line, names[i], strlen(names[i])) == 0) {
                fprintf(record, ";%s", line);
            }
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    fprintf(record, "\n");
    fflush(record);
}
