/* A plugin for qemu-user: how many instructions the guest has executed.
 *
 *     qemu-aarch64 -plugin libcount_guest.so PROGRAM...
 *     qemu-aarch64 -plugin libcount_guest.so,counts=FILE PROGRAM...
 *
 * The first form writes the number to standard error when the process ends. The second form is for
 * programs that fork, or end by a signal or by an exec. FILE has pages of 4096 bytes, all zero
 * before the first process starts. Each process counts in a page of its own; the first page counts
 * the processes. Each number has 64 bits and is at the start of its page, in this machine's order
 * of bytes. A process for which there is no page left ends at once.
 *
 * An emulator's time says nothing of a processor's, but what is executed is what would be executed
 * there. The interface is QEMU's plugin API, version 1; its header is in no package, so what is
 * used of it is declared here. */
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct block;

enum {
    ADD_U64, /* the only operation that needs no call into this file */
    PAGE = 4096,
};

extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin,
                                                  void (*translated)(uint64_t, struct block *));
extern size_t qemu_plugin_tb_n_insns(const struct block *block);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct block *block, int operation,
                                                     void *counter, uint64_t operand);
extern void qemu_plugin_register_atexit_cb(uint64_t plugin, void (*ended)(uint64_t, void *),
                                           void *context);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;
int qemu_plugin_install(uint64_t plugin, const void *info, int count, char **arguments);

/* Where this process counts. The address is in translated code, which a fork inherits, so it never
 * changes: another page comes to be there. */
static _Alignas(PAGE) union {
    uint64_t executed;
    uint8_t whole[PAGE];
} here;

static uint8_t *pages;
static size_t page_count;

static _Noreturn void fail(const char *what)
{
    perror(what);
    _exit(111);
}

/* A mapping of no bytes, moved, is a second mapping of the same shared page. No descriptor is
 * needed: the guest may have closed all of them, and its sandbox may forbid to open any. */
static void take_page(void)
{
    size_t number = __atomic_add_fetch((uint64_t *)(void *)pages, 1, __ATOMIC_RELAXED);

    if (number >= page_count || mremap(pages + number * PAGE, 0, PAGE,
                                       MREMAP_MAYMOVE | MREMAP_FIXED, &here) == MAP_FAILED) {
        fail("count_guest: no page for a process");
    }
}

static void count_in_file(const char *path)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    struct stat status;

    if (file < 0 || fstat(file, &status) != 0) {
        fail(path);
    }
    page_count = (size_t)status.st_size / PAGE;
    pages = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (pages == MAP_FAILED || pthread_atfork(NULL, NULL, take_page) != 0) {
        fail(path);
    }
    close(file);
    take_page();
}

/* Whenever the block runs, all of its instructions are counted: one that leaves it in the middle is
 * a rare fault. */
static void count_block(uint64_t plugin, struct block *block)
{
    (void)plugin;
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &here.executed,
                                             qemu_plugin_tb_n_insns(block));
}

static void tell(uint64_t plugin, void *context)
{
    (void)plugin;
    (void)context;
    fprintf(stderr, "guest instructions: %llu\n", (unsigned long long)here.executed);
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t plugin, const void *info,
                                                               int count, char **arguments)
{
    static const char option[] = "counts=";

    (void)info;
    if (count == 1 && strncmp(arguments[0], option, sizeof(option) - 1) == 0) {
        count_in_file(arguments[0] + sizeof(option) - 1);
    } else {
        qemu_plugin_register_atexit_cb(plugin, tell, NULL);
    }
    qemu_plugin_register_vcpu_tb_trans_cb(plugin, count_block);
    return 0;
}
