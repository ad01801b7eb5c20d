/*
 * A program behind a channel, played by the test: it holds the other ends of the pipes or the
 * terminal's slave.
 */
#ifndef WREN_UNIT_PROGRAM_H
#define WREN_UNIT_PROGRAM_H

#include "channels.h"
#include "rig.h"

struct program {
    uint32_t channel, remote;
    /* The program's ends; -1 when closed. */
    int in, out, err, exit;
    int slave;
};

/* Opens a session channel whose number on the client's side is `remote`, with these limits for what
 * the server may send; its number on our side is returned. */
uint32_t program_channel(struct rig *rig, uint32_t remote, uint32_t window, uint32_t packet);

/* Starts a program on an open channel that the client numbers `remote`: on pipes; on a terminal. */
void program_start(struct rig *rig, struct program *program, uint32_t channel, uint32_t remote);
void program_start_on_terminal(struct rig *rig, struct program *program, uint32_t channel,
                               uint32_t remote);

/* All three in one: a program on pipes on a channel with ample limits. */
void program_run(struct rig *rig, struct program *program, uint32_t remote);

void program_write(int fd, const void *bytes, size_t count);
/* Reads what there is, up to `room`. */
size_t program_read(int fd, void *bytes, size_t room);
void program_close(int *fd);

/* Reports the end and closes the exit pipe. */
void program_exit(struct program *program, uint32_t signaled, uint32_t status, uint32_t core);
void program_close_all(struct program *program);

/* What the loop would wait for now. */
struct channel_plan program_plan(const struct rig *rig);

/* The loop's part: polls for the channels, for `timeout_ms` at most, and gives them their turn.
 * Returns what poll() did. */
int program_turn(struct rig *rig, int timeout_ms);

/* With nothing to do poll() must wait: after a few turns, which handle what is new, it reports
 * nothing. */
void program_expect_idle(struct rig *rig);

/* The invariant of channels.h, for all channels. */
void program_check_windows(const struct rig *rig);

/* Fills the output so that less than LIMIT_REPLY_BYTES are free; then throws it all away. */
void program_fill_output(struct rig *rig);
void program_drop_output(struct rig *rig);

#endif
