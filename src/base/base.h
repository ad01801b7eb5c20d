/*
 * What every room may use: numbers and text, time, exit codes, fixed descriptors, calls that the C
 * library lacks, files with a lease, the environment, the command line, and who is at the other
 * end; and headers of the C library, which other files need not repeat. The limits are in limit.h,
 * and those of admission in limit_slots.h.
 */
#ifndef WREN_BASE_H
#define WREN_BASE_H

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "limit.h"

/* ---- numbers --------------------------------------------------------------------------------- */

/* The smaller of two sizes, the earlier of two times. */

static inline size_t smaller(size_t one, size_t other)
{
    return one < other ? one : other;
}

static inline uint64_t earlier(uint64_t one_ms, uint64_t other_ms)
{
    return one_ms < other_ms ? one_ms : other_ms;
}

/* Numbers of 32 bits in network byte order (the uint32 of RFC 4251 section 5). */

static inline uint32_t big_endian_read(const uint8_t bytes[static 4])
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static inline void big_endian_write(uint8_t bytes[static 4], uint32_t value)
{
    bytes[0] = (uint8_t)(value >> 24);
    bytes[1] = (uint8_t)(value >> 16);
    bytes[2] = (uint8_t)(value >> 8);
    bytes[3] = (uint8_t)value;
}

/* ---- letters, text.c ------------------------------------------------------------------------- */

/* True for a letter or a digit of ASCII. */
bool is_alphanumeric(char byte);

/* ---- decimal numbers, text.c ----------------------------------------------------------------- */

/* In options, environment variables, /proc and files. Only digits count: no sign, no blank. */

/* The most digits that number_read() takes. Every number of this length fits an int. */
#define NUMBER_MOST_DIGITS 9

/* Reads one to NUMBER_MOST_DIGITS digits, up to the NUL. False if `text` is anything else; then
 * `number` keeps its value. */
bool number_read(unsigned *number, const char *text);

/* Reads exactly `count` digits, one or more. False if one of the bytes is not a digit or if the
 * number is greater than `most`; then `number` keeps its value. */
bool number_parse(uint64_t *number, const void *digits, size_t count, uint64_t most);

/* ---- base64 of key files (RFC 4648 section 4) ------------------------------------------------ */

/*
 * Decodes all of `text`, except bytes in `ignored`, which may be NULL. `variant` is libsodium's.
 * False if anything else than base64 stands there, or there is no room. The time does not depend on
 * the letters.
 */
bool base64_decode(uint8_t *out, size_t room, size_t *bytes, const char *text, size_t count,
                   const char *ignored, int variant);

/* ---- fingerprints, text.c -------------------------------------------------------------------- */

/* "SHA256:" and 43 characters of unpadded base64: the SHA-256 of a key blob, as ssh-keygen -lf
 * shows it. */
#define FINGERPRINT_BYTES 51
void fingerprint_write(char out[static FINGERPRINT_BYTES], const uint8_t hash[static 32]);

/* ---- paths, text.c --------------------------------------------------------------------------- */

/* Copies a pattern with %u (the user), %h (the home directory) and %% replaced; with `has_d`, %d is
 * OpenSSH's word for %h. Returns NULL, or what is wrong. */
const char *expand_path(char *out, size_t room, const char *pattern, const char *user,
                        const char *home, bool has_d);

/* ---- systemd's credentials, text.c ----------------------------------------------------------- */

/* `credential:NAME` names a file in $CREDENTIALS_DIRECTORY (systemd.exec(5)). */

/* What follows the label, or NULL if `text` names no credential. */
const char *credential_name(const char *text);

/* Neither empty nor hidden nor below a directory. */
bool credential_is_valid(const char *name);

/* Writes the path. False with errno: EINVAL if the name is not valid, ENOENT if systemd has handed
 * over no credentials, ENAMETOOLONG. */
bool credential_path(char *path, size_t room, const char *name);

/* The mode bits that a credential must not have. systemd's ACL for the user of a service shows as
 * the group's right to read. */
#define CREDENTIAL_FORBIDDEN 0037

/* ---- tables, text.c -------------------------------------------------------------------------- */

/* The index of an element of an array. Trick: libgcc's division of signed numbers, which a
 * difference of pointers would need, has 660 bytes on ARMv7. */
#define INDEX_IN(array, element) (((uintptr_t)(element) - (uintptr_t)(array)) / sizeof((array)[0]))

/* A table of texts is one string. Trick: no pointers. */

/* In "TEXT\0TEXT\0..." returns the one with this index, counted from 0. An empty text stands for
 * the next one. The table must have the index, and its last text must not be empty. */
const char *texts_at(const char *table, size_t index);

/* ---- time ------------------------------------------------------------------------------------ */

/* Time for deadlines: milliseconds of CLOCK_MONOTONIC, which no administrator sets. */

static inline int64_t clock_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + (uint32_t)now.tv_nsec / 1000000;
}

/* The time until `deadline_ms` as poll(2) takes it: rounded up, at least 0, at most an hour. */
static inline int clock_timeout_ms(int64_t deadline_ms)
{
    int64_t left = deadline_ms - clock_now_ms() + 1;
    return left < 0 ? 0 : left > 3600000 ? 3600000 : (int)left;
}

/* ---- exit codes ------------------------------------------------------------------------------ */

/* The commands' exit codes besides 0: those of D. J. Bernstein's programs and TinySSH. */

/* The command line or a file that it names is wrong: another try will fail the same way. */
#define EXIT_USAGE 100

/* The system refused something or is broken: another try may succeed. */
#define EXIT_TROUBLE 111

/* ---- descriptors ----------------------------------------------------------------------------- */

/* The fixed numbers of descriptors above 0, 1 and 2. A process has each as long as it needs it;
 * then the kernel gives the number to another file, such as a program's pipe. A file that is opened
 * while a fixed number is still free moves to a number from FREE_DESCRIPTOR_MIN on. */

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

/* ---- system calls ---------------------------------------------------------------------------- */

/* System calls since Linux 5.1, by their numbers, as the C library may be older than the kernel.
 * Every architecture has the same ones, which MIPS counts from the first call of its ABI. (Alpha
 * has others.) */

/* read(2) is among the first calls: 4003 and 5000 on MIPS, below 100 elsewhere. */
#define CALL_NUMBER(number) (SYS_read / 1000 * 1000 + (number))

#define CALL_PIDFD_SEND_SIGNAL       CALL_NUMBER(424)
#define CALL_PIDFD_OPEN              CALL_NUMBER(434)
#define CALL_CLOSE_RANGE             CALL_NUMBER(436)
#define CALL_OPENAT2                 CALL_NUMBER(437)
#define CALL_LANDLOCK_CREATE_RULESET CALL_NUMBER(444)
#define CALL_LANDLOCK_ADD_RULE       CALL_NUMBER(445)
#define CALL_LANDLOCK_RESTRICT_SELF  CALL_NUMBER(446)

/* ---- writing --------------------------------------------------------------------------------- */

/* write(2) until all bytes are written. False, with errno, if it fails before. */
static inline bool write_all(int fd, const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        bytes += written;
        count -= (size_t)written;
    }
    return true;
}

/* ---- files with a lease, lease.c ------------------------------------------------------------- */

/* Files with a lease (fcntl(2)): a file server such as Samba or the kernel's NFS server is asked
 * before others open them. open(2) asks and waits, but it would also wait for a FIFO or a device
 * that somebody has put in the file's place. With O_NONBLOCK it never waits: it asks and fails with
 * EWOULDBLOCK. So these functions try again until the server gives up the lease. */

/* Waits a little, and returns true, if an open with O_NONBLOCK that has failed with `error` should
 * be tried again. `waits` counts, from 0. */
bool lease_wait(int error, unsigned *waits);

/* openat(2); `flags` hold O_NONBLOCK. */
int lease_openat(int directory, const char *path, int flags, mode_t mode);

/* Opens a file for reading, close-on-exec and non-blocking. */
int lease_open(int directory, const char *path);

/* True if both are of one file. */
static inline bool lease_is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* ---- the banner, banner.c -------------------------------------------------------------------- */

/* What a client shows before the login (RFC 4252 section 5.4), with CR LF after its lines. */
struct banner {
    size_t bytes; /* 0 for none */
    uint8_t text[2 * LIMIT_BANNER_BYTES + 2];
};

/*
 * Reads a regular file that everybody may read: at most LIMIT_BANNER_BYTES of UTF-8, without
 * control characters but tab and newline. Returns NULL, also for an empty file, or what is wrong;
 * then there is no text.
 */
const char *banner_read(struct banner *banner, const char *path);

/* ---- the environment, environment.c ---------------------------------------------------------- */

/* Which environment variables a client may set for its session. */

/*
 * True for LANG, LC_*, COLORTERM, NO_COLOR and GIT_PROTOCOL with a harmless value: at most 255
 * printable ASCII bytes, without '/' (a path to locale data) and '%' (a format). The network
 * process checks a variable before it keeps it, and the session process checks it again before it
 * sets it.
 */
bool environment_allows(const char *name, size_t name_bytes, const char *value, size_t value_bytes);

/* True if every entry is NAME=VALUE with a NUL, and with `of_client` one that a client may set. */
bool environment_is_valid(const char *entries, size_t bytes, bool of_client);

/* ---- the command line, flags.c --------------------------------------------------------------- */

/* The flags of a command line, by a table, as POSIX's getopt(3) reads them: letters after a '-',
 * one or several in an argument, a value after its letter or in the next argument, "--" at the end.
 * "--help" and "--version" count as -h and -V, which all our programs have. The C library's
 * getopt() would add its messages and stdio to a static program. */

enum flag_kind {
    FLAG_SET,        /* has no value; sets a byte, such as a bool, to `least` */
    FLAG_TEXT,       /* sets a const char * to its value, of `least` to `most` bytes */
    FLAG_NUMBER,     /* sets an unsigned to its value, from `least` to `most` */
    FLAG_OWN,        /* has no value; flags_next() returns its letter */
    FLAG_OWN_VALUE,  /* the same, and has a value, in flags->value */
    FLAG_OWN_VALUES, /* and may be given several times */
};

/* A row. A table ends with a row of zeros, and lacks -h and -V. It has at most 64 rows. */
struct flag {
    char letter;
    uint8_t kind; /* enum flag_kind */
    int8_t least;
    uint16_t offset; /* of the field in flags->into */
    uint32_t most;
};

/* A program writes its table as FLAGS(ROW), one row for each flag: letter, kind, field, least,
 * most, and its part of the help. FLAG_ROW() makes a struct flag of a row, for fields of
 * FLAGS_INTO, and FLAG_HELP() the help. FLAG_OWN rows name any field. For the other kinds a field
 * of another size does not compile. */
#define FLAG_FITS(kind, bytes)                                                                     \
    ((kind) == FLAG_SET      ? (bytes) == 1                                                        \
     : (kind) == FLAG_TEXT   ? (bytes) == sizeof(const char *)                                     \
     : (kind) == FLAG_NUMBER ? (bytes) == sizeof(unsigned)                                         \
                             : true)
#define FLAG_ROW(letter, kind, field, least, most, ...)                                            \
    {letter, kind, least,                                                                          \
     offsetof(FLAGS_INTO, field) - 1 +                                                             \
         sizeof(char[FLAG_FITS(kind, sizeof(((FLAGS_INTO *)NULL)->field)) ? 1 : -1]),              \
     most},
#define FLAG_HELP(letter, kind, field, least, most, help, ...) help

struct flags {
    const char *name;         /* of the program */
    const char *help;         /* the page of -h; up to its first empty line, the usage */
    const struct flag *known; /* the table */
    void *into;               /* the struct whose fields the rows name */
    int *status;              /* what flags_refuse() sets to the exit code */
    char **rest;              /* the arguments that follow, and NULL; at the end the operands */
    const char *within;       /* the letters left in the present argument, or NULL */
    uint64_t given;           /* a bit for each row whose flag must not come again */
    int letter;               /* the last letter read, known or not */
    const struct flag *row;   /* of that letter, or NULL */
    const char *value;        /* of a letter that takes a value */
};

/* What flags_next() returns, other than a letter. A flag with a value can't be given twice: a
 * second value would silently replace the first, which may be the stricter one. */
#define FLAGS_TWICE    (-6)
#define FLAGS_PAGE     (-5) /* -h or -V: the program prints flags->value and exits */
#define FLAGS_UNKNOWN  (-4)
#define FLAGS_NO_VALUE (-3)
#define FLAGS_WRONG    (-2) /* the value is no number, or out of the row's range */
#define FLAGS_END      (-1)

/* The flags of argv, which ends with NULL. The members are as in struct flags. */
struct flags flags_begin(const char *name, const char *help, const struct flag *known, void *into,
                         char **argv, int *status);

/* Reads flags, and sets their fields, up to a flag of the program's own: returns its letter. Do not
 * call again after any FLAGS_*. */
int flags_next(struct flags *flags);

/* Prints on stderr what is wrong with the command line, ": " and the argument unless that is NULL,
 * and the usage. Sets *status to EXIT_USAGE, and returns -1. */
int flags_refuse(const struct flags *flags, const char *what, const char *argument);

/* The same for an operand after the key directory. */
int flags_refuse_second(const struct flags *flags, const char *operand);

/* The same for what flags_next() returned: reports an unknown flag, a missing value, a flag given
 * twice, or a wrong value, by its letter. */
int flags_refuse_letter(const struct flags *flags, int returned);

/* ---- addresses, peer.c ----------------------------------------------------------------------- */

/* An IP address is one of IPv6. One of IPv4 is mapped, RFC 4291 section 2.5.5.2: its four bytes
 * begin at ADDRESS_IPV4_OFFSET. */
#define ADDRESS_IPV4_OFFSET 12

bool address_is_ipv4(const struct in6_addr *address);

/* Reads an address of `count` bytes, in either notation and without a zone. */
bool address_read(struct in6_addr *address, const char *text, size_t count);

/* Sets *address to that of a socket. False, with *address unchanged, for one without IP. */
bool address_of(struct in6_addr *address, const struct sockaddr_in6 *socket);

/* ---- the peer, peer.c ------------------------------------------------------------------------ */

/* The client's address and port, and our own, as text for the log and SSH_CONNECTION. */

/* Enough for an IPv6 address with a zone. Without an IP address the text is "vsock:CID",
 * "unix:UID" with the uid of the client, or the kind of connection: "unix", "vsock", "tcp" or
 * "pipe". */
#define PEER_ADDRESS_BYTES 64
#define PEER_PORT_BYTES    12 /* a port of vsock has 32 bits */

struct peer {
    char address[PEER_ADDRESS_BYTES];
    char port[PEER_PORT_BYTES]; /* "0" without an address */
    char local_address[PEER_ADDRESS_BYTES];
    char local_port[PEER_PORT_BYTES];
    bool tcp;    /* the descriptor is a TCP socket: TCP's options can be set */
    bool has_ip; /* `address` is an IP address */
};

/*
 * Fills in `peer` from descriptor `fd`. The first of these that has an address counts:
 *
 *     getpeername(2), if it is a socket
 *     TCPREMOTEIP, TCPREMOTEPORT, TCPLOCALIP, TCPLOCALPORT of an UCSPI-TCP launcher
 *     REMOTE_ADDR and REMOTE_PORT of systemd
 *
 * Values of variables must be IP addresses and port numbers. IPv4-mapped IPv6 addresses become
 * IPv4.
 */
void peer_learn(struct peer *peer, int fd);

/* Sets the client's address and port to those that accept(2) gave: the kernel forgets them when the
 * client resets the connection. Returns false, and changes nothing, without an IP address. */
bool peer_accepted(struct peer *peer, const struct sockaddr_in6 *client);

#endif
