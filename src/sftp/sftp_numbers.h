/*
 * Numbers of the SSH File Transfer Protocol, version 3 (draft-ietf-secsh-filexfer-02).
 */
#ifndef WREN_SFTP_NUMBERS_H
#define WREN_SFTP_NUMBERS_H

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

#endif
