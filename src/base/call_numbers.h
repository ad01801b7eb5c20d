/*
 * System calls since Linux 5.1, by their numbers, as the C library may be older than the kernel.
 * Every architecture has the same ones, which MIPS counts from the first call of its ABI. (Alpha
 * has others.)
 */
#ifndef WREN_CALL_NUMBERS_H
#define WREN_CALL_NUMBERS_H

#include <sys/syscall.h>

/* read(2) is among the first calls: 4003 and 5000 on MIPS, below 100 elsewhere. */
#define CALL_NUMBER(number) (SYS_read / 1000 * 1000 + (number))

#define CALL_PIDFD_SEND_SIGNAL       CALL_NUMBER(424)
#define CALL_PIDFD_OPEN              CALL_NUMBER(434)
#define CALL_CLOSE_RANGE             CALL_NUMBER(436)
#define CALL_OPENAT2                 CALL_NUMBER(437)
#define CALL_LANDLOCK_CREATE_RULESET CALL_NUMBER(444)
#define CALL_LANDLOCK_ADD_RULE       CALL_NUMBER(445)
#define CALL_LANDLOCK_RESTRICT_SELF  CALL_NUMBER(446)

#endif
