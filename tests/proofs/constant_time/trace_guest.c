/* A plugin for qemu-user: a fingerprint of the addresses of all instructions that the guest
 * executes and of all memory that it touches, in their order, on standard error when it ends.
 *
 *     qemu-aarch64 -plugin libtrace_guest.so[,file=PATH] PROGRAM...
 *
 * With a file, each address goes there too, as 8 bytes. The interface is QEMU's plugin API, version
 * 1; its header is in no package, so what is used of it is declared here.
 *
 * To go on living, this needs a qemu-user with plugins of that version: Debian 12 has one, Debian
 * 13's takes none, and run.sh skips the traces there. If it dies, valgrind's memcheck is left, for
 * x86_64 alone; `valgrind --tool=lackey --trace-mem=yes` prints the same addresses there. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct block;
struct instruction;

enum { NO_REGISTERS = 0, READ_AND_WRITE = 3 };

extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin,
                                                  void (*translated)(uint64_t, struct block *));
extern size_t qemu_plugin_tb_n_insns(const struct block *block);
extern uint64_t qemu_plugin_tb_vaddr(const struct block *block);
extern struct instruction *qemu_plugin_tb_get_insn(const struct block *block, size_t index);
extern void qemu_plugin_register_vcpu_tb_exec_cb(struct block *block,
                                                 void (*executed)(unsigned, void *), int flags,
                                                 void *context);
extern void qemu_plugin_register_vcpu_mem_cb(struct instruction *instruction,
                                             void (*touched)(unsigned, uint32_t, uint64_t, void *),
                                             int flags, int access, void *context);
extern void qemu_plugin_register_atexit_cb(uint64_t plugin, void (*ended)(uint64_t, void *),
                                           void *context);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;
int qemu_plugin_install(uint64_t plugin, const void *info, int count, char **arguments);

static uint64_t fingerprint = 14695981039346656037U, events;
static FILE *file;

static void note(uint64_t address)
{
    fingerprint = (fingerprint ^ address) * 1099511628211U;
    fingerprint ^= fingerprint >> 29;
    events++;
    if (file != NULL) {
        fwrite(&address, sizeof(address), 1, file);
    }
}

static void on_block(unsigned cpu, void *address)
{
    (void)cpu;
    note((uintptr_t)address);
}

static void on_memory(unsigned cpu, uint32_t info, uint64_t address, void *context)
{
    (void)cpu;
    (void)info;
    (void)context;
    note(address);
}

/* A block has no branch but its last instruction, so the address of each block says which
 * instructions were executed. */
static void watch_block(uint64_t plugin, struct block *block)
{
    (void)plugin;
    void *address = (void *)(uintptr_t)qemu_plugin_tb_vaddr(block);
    qemu_plugin_register_vcpu_tb_exec_cb(block, on_block, NO_REGISTERS, address);
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(block, i), on_memory, NO_REGISTERS,
                                         READ_AND_WRITE, NULL);
    }
}

static void tell(uint64_t plugin, void *context)
{
    (void)plugin;
    (void)context;
    fprintf(stderr, "trace: %llu %016llx\n", (unsigned long long)events,
            (unsigned long long)fingerprint);
    if (file != NULL) {
        fclose(file);
    }
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t plugin, const void *info,
                                                               int count, char **arguments)
{
    (void)info;
    if (count > 0 && strncmp(arguments[0], "file=", 5) == 0) {
        file = fopen(arguments[0] + 5, "wb");
    }
    qemu_plugin_register_vcpu_tb_trans_cb(plugin, watch_block);
    qemu_plugin_register_atexit_cb(plugin, tell, NULL);
    return 0;
}
