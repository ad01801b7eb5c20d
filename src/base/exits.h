/*
 * The commands' exit codes besides 0: those of D. J. Bernstein's programs and TinySSH.
 */
#ifndef WREN_EXITS_H
#define WREN_EXITS_H

/* The command line or a file that it names is wrong: another try will fail the same way. */
#define EXIT_USAGE 100

/* The system refused something or is broken: another try may succeed. */
#define EXIT_TROUBLE 111

#endif
