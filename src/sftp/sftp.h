/*
 * wrensshd-sftp: the SFTP server, version 3 (draft-ietf-secsh-filexfer-02), on descriptors 0 and 1.
 * It runs as the user, in an image of its own that never held a key. This header has what its files
 * share.
 */
#ifndef WREN_SFTP_H
#define WREN_SFTP_H

#include "base.h"
#include "grant.h"
#include "log.h"
#include "paths.h"
#include "wire.h"

/* ---- numbers of the protocol ----------------------------------------------------------------- */

/* Numbers of the SSH File Transfer Protocol, version 3 (draft-ietf-secsh-filexfer-02). */

#define SFTP_VERSION 3

/* Section 3. */
enum sftp_type {
    SFTP_INIT = 1,
    SFTP_VERSION_REPLY = 2,
    SFTP_OPEN = 3,
    SFTP_CLOSE = 4,
    SFTP_READ = 5,
    SFTP_WRITE = 6,
    SFTP_LSTAT = 7,
    SFTP_FSTAT = 8,
    SFTP_SETSTAT = 9,
    SFTP_FSETSTAT = 10,
    SFTP_OPENDIR = 11,
    SFTP_READDIR = 12,
    SFTP_REMOVE = 13,
    SFTP_MKDIR = 14,
    SFTP_RMDIR = 15,
    SFTP_REALPATH = 16,
    SFTP_STAT = 17,
    SFTP_RENAME = 18,
    SFTP_READLINK = 19,
    SFTP_SYMLINK = 20,
    SFTP_STATUS = 101,
    SFTP_HANDLE = 102,
    SFTP_DATA = 103,
    SFTP_NAME = 104,
    SFTP_ATTRS = 105,
    SFTP_EXTENDED = 200,
    SFTP_EXTENDED_REPLY = 201,
};

/* Section 7. */
enum sftp_status {
    SFTP_OK = 0,
    SFTP_EOF = 1,
    SFTP_NO_SUCH_FILE = 2,
    SFTP_PERMISSION_DENIED = 3,
    SFTP_FAILURE = 4,
    SFTP_BAD_MESSAGE = 5,
    SFTP_NO_CONNECTION = 6,
    SFTP_CONNECTION_LOST = 7,
    SFTP_UNSUPPORTED = 8,
    SFTP_STATUSES,
    SFTP_ANSWERED = SFTP_STATUSES, /* what a handler returns after another answer than STATUS */
};

/* Section 6.3. */
enum sftp_open_flag {
    SFTP_OPEN_READ = 1 << 0,
    SFTP_OPEN_WRITE = 1 << 1,
    SFTP_OPEN_APPEND = 1 << 2,
    SFTP_OPEN_CREATE = 1 << 3,
    SFTP_OPEN_TRUNCATE = 1 << 4,
    SFTP_OPEN_EXCLUSIVE = 1 << 5,
};

/* Section 5. */
#define SFTP_ATTR_SIZE        0x00000001U
#define SFTP_ATTR_OWNERS      0x00000002U
#define SFTP_ATTR_PERMISSIONS 0x00000004U
#define SFTP_ATTR_TIMES       0x00000008U
#define SFTP_ATTR_EXTENDED    0x80000000U

/* Serves until the client's end. Returns the exit code, as the commands of tools.h do; a client
 * that breaks the protocol is trouble. */
__attribute__((noinline)) int sftp_main(char **argv);

/* Open files and directories. On the wire a handle is 8 bytes: the number of its row and a
 * generation, so that a handle that was closed never names a later file. */
struct handle {
    int fd; /* 0: the row is free */
    uint32_t generation;
    bool is_directory;
    bool appends; /* a WRITE's offset does not count */
};

/* What is reported of an open file. */
struct handle_report {
    struct sftp_counts counts;
    char name[LIMIT_NOTE_BYTES + 1];
};

struct sftp {
    bool read_only;
    bool reports_files; /* -v: a report for each file */
    uint32_t allowed;   /* requests, by their bit in sftp_requests.c */
    bool started;       /* INIT has come */
    bool may_write;     /* WRITE is allowed; known from INIT on */
    uint32_t layers;
    uint32_t most_handles; /* that RLIMIT_NOFILE allows */
    struct sftp_counts counts;
    const char *ended;     /* why the session ends, or NULL */
    bool failed;           /* it ends for an error */
    bool client_was_there; /* when the wait for the next request ended */
    bool was_full;         /* it is reported that no more files could be opened */

    /* The request that is answered, and all answers that are not sent yet. */
    uint32_t id;
    int flag; /* of its row in sftp_requests.c */
    struct reader message;
    struct writer answers;

    size_t input_start; /* input[input_start..input_end) holds requests */
    size_t input_end;

    struct paths paths; /* here its small members share the page of those above */
    struct handle handles[LIMIT_SFTP_HANDLES];

    /* Of each handle, only with reports_files: else these pages stay untouched. */
    struct handle_report files[LIMIT_SFTP_HANDLES];

    /* From here on, pages of their own, which an idle session gives back. */
    uint8_t entries[LIMIT_SFTP_ENTRIES_BYTES] __attribute__((aligned(4096))); /* of getdents64(2) */
    uint8_t input[LIMIT_SFTP_PACKET_BYTES + 4];
    uint8_t output[LIMIT_SFTP_OUTPUT_BYTES];
};

/* Serves the client until the session ends. */
void sftp_run(struct sftp *sftp);

/* ---- answers, answer.c ----------------------------------------------------------------------- */

/* Sends all answers. False if the client has gone: then the session has ended. */
bool sftp_send(struct sftp *sftp);

/* True if the client has closed its end, even if some of its requests are unanswered. Ask before
 * each request but the one that was waited for, and during a request that takes long. */
bool sftp_client_has_gone(void);

/* Ends the session after this request; the first reason counts. The text must stay valid. */
void sftp_end(struct sftp *sftp, const char *reason);

/* Begins an answer of this type to the request, and returns the mark for answer_end(), which
 * returns SFTP_ANSWERED. Every function that answers writes less than LIMIT_SFTP_ANSWER_BYTES; so
 * much room is free. */
size_t answer_begin(struct sftp *sftp, enum sftp_type type);
enum sftp_status answer_end(struct sftp *sftp, size_t mark);

/* STATUS. PERMISSION_DENIED counts as refused. */
void answer_status(struct sftp *sftp, enum sftp_status status);

/* The status of an errno, as OpenSSH's server maps them; 0 is success. The second function is for
 * what a system call has returned. */
enum sftp_status answer_status_of(int error);
enum sftp_status answer_result(int result);

/* NAME with one name and no attributes, or the status of an errno. */
enum sftp_status answer_name(struct sftp *sftp, int error, const char *name);

/* A uint64 of RFC 4251 section 5. */
void answer_u64(struct writer *answers, uint64_t value);

/* ---- handles, handles.c ---------------------------------------------------------------------- */

/* Sets RLIMIT_NOFILE to what is needed, or to the hard limit. To be called before the sandbox. */
void handles_begin(struct sftp *sftp);

/* Opens a file, or with O_DIRECTORY a directory, and answers with its handle. Reports the first
 * time that too many are open. */
enum sftp_status handle_open(struct sftp *sftp, const char *path, int flags, mode_t mode);

/* Reads a string from the message. Returns the handle that it names, or NULL if it names none. */
struct handle *handle_read(struct sftp *sftp);

/* ---- ATTRS, attributes.c --------------------------------------------------------------------- */

/* The attributes of a file on the wire (draft-ietf-secsh-filexfer-02 section 5). What a client asks
 * for: only what `flags` names is set. */
struct attributes {
    uint32_t flags; /* SFTP_ATTR_* */
    uint64_t size;
    uint32_t uid;
    uint32_t gid;
    uint32_t permissions;
    uint32_t accessed; /* seconds since 1970 */
    uint32_t modified;
};

/* Skips extended pairs. Their number needs no limit, as each takes 8 bytes of the packet. */
struct attributes attributes_read(struct reader *message);

/* The permissions for a new file: those that the client asks for, or `otherwise`. */
mode_t attributes_mode(const struct attributes *wanted, mode_t otherwise);

/* Writes size, owners, mode with the file's type, and times. A jail may name these owners later. */
void attributes_write(struct writer *answers, const struct stat *status);

/* Sets what `wanted` names, in the order size, permissions, times, owners. With `found` NULL it
 * changes the open file; else the named one, whose size it leaves. It continues after an error.
 * Returns 0, or the errno of the last error. */
int attributes_set(const struct attributes *wanted, int fd, const struct found_name *found);

/* ---- reports, handles.c ---------------------------------------------------------------------- */

/* Reports go to the session process, which makes the lines of the log, or else to our own log. */

/* Looks for the session process's socket. False if this process logs by itself. */
bool sftp_log_begin(void);

/* There may be more reports at once than the socket holds. If the session process has not read for
 * LIMIT_SFTP_ROOM_MS, reports are lost, and we do not wait again until it reads. */
void sftp_log_send(const struct sftp_report *report);

/* With reports_files: reports a file that was closed. */
void sftp_log_file(const struct sftp *sftp, const struct handle *handle);

/* ---- requests, sftp_requests.c --------------------------------------------------------------- */

/* Answers one whole request: the bytes after the packet's length. */
void sftp_request(struct sftp *sftp, const uint8_t *packet, size_t bytes);

/* Sets the bits of sftp->allowed for a list of names, separated by commas. False if one of them is
 * no request. */
bool sftp_requests_named(uint32_t *bits, const char *names);

/* Prints the names, one on a line. */
void sftp_requests_print(void);

/* Each reads its fields from sftp->message, and returns the status that answers the request, or
 * SFTP_ANSWERED. If a field was cut off, the status is BAD_MESSAGE, whatever it returns. Bytes
 * after the last field do not count, as with OpenSSH's server. */
typedef enum sftp_status sftp_handler(struct sftp *sftp);

/* files.c */
sftp_handler on_open, on_close, on_read, on_write, on_fsync, on_copy_data;
sftp_handler on_stat, on_fstat, on_setstat, on_fsetstat;

/* directory.c */
sftp_handler on_opendir, on_readdir;

/* names.c */
sftp_handler on_remove, on_mkdir, on_realpath, on_readlink, on_symlink;
sftp_handler on_rename, on_posix_rename, on_hardlink;

/* Reads a path. False for the status BAD_MESSAGE: it is longer than PATH_BYTES or holds a NUL. */
bool sftp_read_path(struct sftp *sftp, char path[static PATH_BYTES]);

/* extensions.c */
sftp_handler on_statvfs, on_fstatvfs, on_limits, on_expand_path, on_home_directory;
sftp_handler on_users_groups;

/* ---- the long name of READDIR, directory.c --------------------------------------------------- */

/* The long name is a line as `ls -l` shows it. Clients print it as it is. */

/* The longest columns before a name: a mode, two owners, two numbers and a date, each with a blank.
 */
#define LISTING_COLUMNS_BYTES (11 + 2 * OWNER_NAME_BYTES + 2 * 21 + 13)

/* The longest line: a name of 255 bytes. */
#define LISTING_BYTES 512

/* Reads the time zone. To be called before the sandbox, and after all that needs the environment.
 */
void listing_begin(void);

/* Writes the line, without a NUL, and returns its length. A file that is older than half a year is
 * listed with its year. */
size_t listing_write(char line[static LISTING_BYTES], const char *name, const struct stat *status);

/* ---- names of owners, owners.c --------------------------------------------------------------- */

/* Names of users and groups by their numbers, from /etc/passwd and /etc/group alone: other name
 * services need programs and sockets, which the sandbox forbids. */

/* A name with its NUL. Linux's useradd takes 32 letters; a longer name counts as none. */
#define OWNER_NAME_BYTES 33

/* Opens both files, and learns the process's own numbers. To be called before the sandbox. */
void owners_open(void);

/* Writes the name, or the number in digits and returns false. A client in a jail must not learn who
 * else has an account: with `jailed` they return false, too, unless the number is the process's
 * own, or one of the last LIMIT_SFTP_OWNERS that owners_show() was given. */
bool owners_user(char name[static OWNER_NAME_BYTES], uint32_t uid, bool jailed);
bool owners_group(char name[static OWNER_NAME_BYTES], uint32_t gid, bool jailed);

/* To be called when an answer shows these numbers. */
void owners_show(uint32_t uid, uint32_t gid);

/* Writes the home directory of the user of this name; HOME, or what the file has for the own user,
 * if the name is empty. False if there is no such user, or if the path is too long. */
bool owners_home(char home[static PATH_BYTES], const char *user);

/* ---- the command line, sftp_options.c -------------------------------------------------------- */

/* The flags of OpenSSH's server, and a few of ours. */
struct sftp_options {
    bool read_only;     /* -R */
    bool log_to_stderr; /* -e */
    int facility;       /* -f, of syslog(3) */
    enum log_level level;
    bool has_umask;
    mode_t umask;               /* -u */
    uint32_t allowed;           /* -p and -P: requests, by their bit in sftp_requests.c */
    char jail[PATH_BYTES];      /* -j, expanded; empty without it */
    char directory[PATH_BYTES]; /* -d, likewise */
};

/*
 * Parses argv, which ends with NULL, into `options`, which is all zeros. Operands are
 * ignored, as by OpenSSH's server: `scp -D` adds some. After one of them a flag is wrong. So is any
 * operand after internal-sftp, with which the daemon starts us: those words restrict a key. Returns
 * 0 if the server may start. With -h, -V or -Q, or if the command line is wrong, prints a text,
 * sets *status to the exit code (0 or EXIT_USAGE) and returns -1.
 */
int sftp_options_parse(struct sftp_options *options, char **argv, bool by_daemon, int *status);

/* ---- the sandbox, sftp_sandbox.c ------------------------------------------------------------- */

/*
 * The server has the user's rights already, so it gives up what a file server does not need: new
 * privileges, core dumps and being traced; child processes; with Landlock the execution of files,
 * devices, all files outside of the directory `jail` (an O_PATH descriptor; -1 is "/"), and with
 * `read_only` all changes; with seccomp all system calls but those of files. Outside of the jail
 * only files that are open already can be used.
 *
 * Returns the layers that are in force (process.h). Landlock's first version, of Linux 5.13
 * to 5.18, forbids to move files between directories: there only a read-only server uses it.
 */
uint32_t sftp_sandbox_enter(int jail, bool read_only);

#endif
