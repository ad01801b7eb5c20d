/*
 * The fixed numbers of descriptors above 0, 1 and 2. A process has each as long as it needs it;
 * then the kernel gives the number to another file, such as a program's pipe. A file that is opened
 * while a fixed number is still free moves to a number from FREE_DESCRIPTOR_MIN on.
 */
#ifndef WREN_DESCRIPTOR_NUMBERS_H
#define WREN_DESCRIPTOR_NUMBERS_H

#include <unistd.h>

enum descriptor_number {
    /* The socket between network process and monitor, in both. */
    IPC_DESCRIPTOR = STDERR_FILENO + 1,
    /* The socket between network process and session process, in both. Until the login the monitor
     * keeps the session process's end. */
    SESSION_DESCRIPTOR,
    /* /dev/null, with which network process and monitor replace the descriptors that they must not
     * keep. */
    NULL_DESCRIPTOR,
    ENTROPY_DESCRIPTOR, /* /dev/urandom in the network process, without getrandom() */
    KEY_DESCRIPTOR,     /* the host key's (keydir "fd:N"), until the monitor has read it */
    /* Our own program's file, from which the session process starts the SFTP server. Until the
     * login the monitor keeps it. */
    PROGRAM_DESCRIPTOR,
    FREE_DESCRIPTOR_MIN,
};

#endif
