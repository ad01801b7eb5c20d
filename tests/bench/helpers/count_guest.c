/* A plugin for qemu-user: how many instructions the guest has executed, on standard error when it
 * ends.
 *
 *     qemu-aarch64 -plugin libcount_guest.so PROGRAM...
 *
 * An emulator's time says nothing of a processor's, but what is executed is what would be executed
 * there. The interface is QEMU's plugin API, version 1; its header is in no package, so what is
 * used of it is declared here. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct block;

enum { ADD_U64 }; /* the only operation that needs no call into this file */

extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin,
                                                  void (*translated)(uint64_t, struct block *));
extern size_t qemu_plugin_tb_n_insns(const struct block *block);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct block *block, int operation,
                                                     void *counter, uint64_t operand);
extern void qemu_plugin_register_atexit_cb(uint64_t plugin, void (*ended)(uint64_t, void *),
                                           void *context);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;
int qemu_plugin_install(uint64_t plugin, const void *info, int count, char **arguments);

static uint64_t executed;

/* Whenever the block runs, all of its instructions are counted: one that leaves it in the middle is
 * a rare fault. */
static void count_block(uint64_t plugin, struct block *block)
{
    (void)plugin;
    qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &executed,
                                             qemu_plugin_tb_n_insns(block));
}

static void tell(uint64_t plugin, void *context)
{
    (void)plugin;
    (void)context;
    fprintf(stderr, "guest instructions: %llu\n", (unsigned long long)executed);
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t plugin, const void *info,
                                                               int count, char **arguments)
{
    (void)info;
    (void)count;
    (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(plugin, count_block);
    qemu_plugin_register_atexit_cb(plugin, tell, NULL);
    return 0;
}
