/*
 * The commands that are links to wrensshd's binary: their names choose what it does. Two are rooms
 * of their own: listen_main() is in listen.h, sftp_main() in sftp.h.
 */
#ifndef WREN_TOOLS_H
#define WREN_TOOLS_H

#include "base.h"

/* Each returns the exit code: 0; EXIT_USAGE for a wrong command line, or a wrong file that it
 * names; EXIT_TROUBLE for other failures, such as a failed write to stdout. Trick: own frame; in
 * main()'s it would lie above the stack of each process of a connection. */

/* wrensshd-makekey: makes or repairs the host key (hostkey_make), or imports one. An OpenSSH key
 * that the server uses is not changed. Unless -q is given, it prints on stdout what it did. */
__attribute__((noinline)) int makekey_main(char **argv);

/* wrensshd-printkey: prints for each host key its public line and its fingerprint, as ssh-keygen -l
 * does; or with -r an SSHFP record, as ssh-keygen -r does. */
__attribute__((noinline)) int printkey_main(char **argv);

/* Answers any FLAGS_* of flags_next() but FLAGS_END: prints the page, or refuses the letter.
 * Returns -1, with the exit code in *flags->status. */
int tool_answer(const struct flags *flags, int returned);

/* For what dprintf(3) to stdout has returned. Returns 0, or EXIT_TROUBLE after logging the error.
 */
int tool_printed(int result);

#endif
