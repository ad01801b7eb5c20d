/*
 * The fixed numbers of the descriptors above 0, 1 and 2, in each process of a connection. Later
 * files get numbers from FREE_DESCRIPTOR_MIN on.
 */
#ifndef WREN_DESCRIPTOR_NUMBERS_H
#define WREN_DESCRIPTOR_NUMBERS_H

#include <unistd.h>

enum descriptor_number {
    IPC_DESCRIPTOR = STDERR_FILENO + 1, /* the socket between network process and monitor */
    /* That between network process and session process. Until the login the monitor keeps the
     * session process's end. */
    SESSION_DESCRIPTOR,
    /* /dev/null, with which network process and monitor replace descriptors that they must not
     * keep. */
    NULL_DESCRIPTOR,
    ENTROPY_DESCRIPTOR, /* /dev/urandom in the network process, without getrandom() */
    KEY_DESCRIPTOR,     /* the host key's (keydir "fd:N"), which the monitor reads */
    PROGRAM_DESCRIPTOR, /* our own program's file: the session process starts the SFTP server */
    FREE_DESCRIPTOR_MIN,
};

#endif
