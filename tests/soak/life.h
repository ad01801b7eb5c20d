/*
 * The life that the soak leads: guests who log in and work, guests who vanish, and strangers.
 *
 * A kind makes one connection, or several if it is a crowd. It returns if all went as it should. If
 * not, fail() leaves it, and a tally says what that was.
 */
#ifndef SOAK_LIFE_H
#define SOAK_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client.h"

enum outcome {
    OUTCOME_DONE,    /* as it should be */
    OUTCOME_EVICTED, /* a vanishing guest or a stranger was refused, or ended, before its time; the
                      * log may say that of a guest, too */
    OUTCOME_WRONG,   /* a guest could not work, or a stranger could log in */
    OUTCOMES,
};

struct kind {
    const char *name;
    unsigned weight;      /* of 1000 */
    unsigned connections; /* that it makes */
    bool is_guest;        /* must succeed */
    void (*live)(const struct options *options);
};

extern const struct kind kinds[];
extern const size_t kind_count;

/* guests.c */
void guest_command(const struct options *options);
void guest_download(const struct options *options);
void guest_upload(const struct options *options);
void guest_rekey(const struct options *options);
void guest_terminal(const struct options *options);
void guest_sessions(const struct options *options);
void guest_sftp(const struct options *options);
void guest_quiet(const struct options *options);

/* vanishing.c: at each stage of a connection, in each way. */
void vanish(const struct options *options);

/* strangers.c */
void stranger_wrong_key(const struct options *options);
void stranger_wrong_user(const struct options *options);
void stranger_garbage(const struct options *options);
void stranger_late_garbage(const struct options *options);
void stranger_bad_packet(const struct options *options);
void stranger_scan(const struct options *options);
void stranger_drip(const struct options *options);
void stranger_crowd(const struct options *options);

#define CROWD 40

/* sftp.c: a session with the SFTP server. */
struct sftp {
    struct client *client;
    struct session *session;
    uint8_t handle[64];
    size_t handle_bytes;
};
void sftp_begin(struct sftp *sftp, struct client *client);
void sftp_open(struct sftp *sftp, const char *name, uint32_t flags);
void sftp_write(struct sftp *sftp, uint32_t offset, const uint8_t *bytes, uint32_t count);
void sftp_read(struct sftp *sftp, uint32_t offset, const uint8_t *expected, uint32_t count);
void sftp_close(struct sftp *sftp);
void sftp_remove(struct sftp *sftp, const char *name);
void sftp_end(struct sftp *sftp);

#define SFTP_READ      1U
#define SFTP_WRITE_NEW 26U /* WRITE, CREAT and TRUNC */

/* ---- what they share: main.c, dial.c ----------------------------------------------------------
 */

uint32_t chance(uint32_t below);
void chance_seed(uint64_t seed);

/* The source of the next connections, an address of 10.0.0.0/8: guests have a half, strangers the
 * other one. Each /24 is a group of its own for the admission. */
void come_from(bool guest);

/* Of a connection that stays open after its kind has returned: silent, until so many milliseconds
 * are over. */
void hold_link(int fd, unsigned milliseconds);

/* The connection that was made last, or -1 if it is held or closed, and where it comes from: its
 * address and port as the log has them. */
extern int soak_fd;
extern char soak_source[32];

/* Closes soak_fd: in order, with a reset, or without a packet, as a machine that loses its power.
 */
enum leaving {
    LEAVE_IN_ORDER,
    LEAVE_WITH_RESET,
    LEAVE_WITHOUT_A_WORD,
};
void leave(enum leaving way);

/* Begins a connection of the lean client, ends it as it should be, or frees what is left of it. */
struct client *meet(const struct options *options);
void part(struct client *client);
void forget(void);

/* fail.c: where fail() leads, and what it said. */
#include <setjmp.h>
extern jmp_buf soak_failed;
extern char soak_said[200];

#endif
