/*
 * The commands that are links to wrensshd's binary: their names choose what it does.
 */
#ifndef WREN_TOOLS_H
#define WREN_TOOLS_H

/*
 * wrensshd-makekey [-q] [-i FILE] [-h] [-V] keydir: makes or repairs the host key (hostkey_make),
 * or imports the key in FILE. Unless -q is given, it prints on stdout what it did. Returns the exit
 * code: 0; 100 for wrong usage or a wrong FILE; 111 for trouble, such as a failed write to stdout.
 */
int makekey_main(char **argv);

/*
 * wrensshd-printkey [-r NAME] [-h] [-V] keydir: prints for each host key its public line and its
 * fingerprint, as ssh-keygen -l does; or with -r an SSHFP record, as ssh-keygen -r does. Returns
 * the exit code, as above; 100 also for a key directory without a good public key.
 */
int printkey_main(char **argv);

/*
 * wrensshd-listen [-c N] [-s N] [-m N:N:N] [-p N:N] [-b ADDRESS] [-i INTERFACE] [-k SECONDS] [-h]
 * [-V] port program [argument ...]: runs the program for each connection to a TCP port, until
 * SIGTERM, SIGINT or SIGHUP. Returns the exit code: 0, 100 for wrong usage or a program that can't
 * be run, 111 for trouble.
 */
int listen_main(char **argv);

/*
 * wrensshd-sftp [-eRv] [-d DIR] [-j DIR] [-u UMASK] [-p NAMES] [-P NAMES] [-l LEVEL] [-f FACILITY]
 * [-h] [-V] [-Q requests]: serves SFTP on descriptors 0 and 1. Returns the exit code: 0, 100 for
 * wrong usage, 111 for trouble and for a client that breaks the protocol.
 */
int sftp_main(char **argv);

#endif
