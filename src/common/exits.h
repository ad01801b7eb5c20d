/*
 * What the commands exit with, besides 0: the numbers of djb's programs and TinySSH.
 */
#ifndef WREN_EXITS_H
#define WREN_EXITS_H

/* The command line, or what it names, is wrong: it will be next time as well. */
#define EXIT_USAGE 100

/* The system refused something, or is broken. */
#define EXIT_TROUBLE 111

#endif
