/*
 * Sessions: channels of the connection protocol (RFC 4254) with a command behind each. What they
 * send us is counted and dropped; what we send them is zeros.
 */
#ifndef LEAN_SESSION_H
#define LEAN_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct reader;

#define SESSION_MAX 64

struct session {
    bool open;           /* confirmed */
    unsigned unanswered; /* requests of ours */
    bool eof_sent;
    bool close_received, close_sent;
    uint32_t remote; /* the channel's number on the server's side; ours is its index */
    uint32_t remote_window, remote_packet;
    uint32_t window;  /* what the server may send before it hears from us */
    uint32_t owed;    /* taken in since the last WINDOW_ADJUST */
    uint64_t to_send; /* zeros; then EOF if `eof_due` */
    bool eof_due;
    uint64_t bytes, error_bytes; /* received */
    bool has_status;
    uint32_t status;
    char signal[16];   /* of a command that was killed, else "" */
    uint64_t asked_ns; /* when the command was asked for; nothing is sent before */
    uint64_t closed_ns;
    void (*take)(const struct reader *data); /* gets what else is dropped, or NULL */
};

/* Asks for a channel and returns it; it is not open yet. */
struct session *session_ask(struct client *client);

/* Waits until the channel is open, and asks for the command, before that for a terminal if `pty`
 * is set. */
void session_run(struct client *client, struct session *session, const char *command, bool pty);

/* Waits for the command's end; fails if it was not a good one. */
void session_finish(struct client *client, struct session *session);

/* Adds what is due on all sessions to the output. True if there will be more as soon as that is
 * written. */
bool session_send_due(struct client *client);

/* Handlers. */
void session_on_confirmation(struct client *client, struct reader *message);
void session_on_open_failure(struct client *client, struct reader *message);
void session_on_window_adjust(struct client *client, struct reader *message);
void session_on_data(struct client *client, struct reader *message);
void session_on_extended_data(struct client *client, struct reader *message);
void session_on_eof(struct client *client, struct reader *message);
void session_on_close(struct client *client, struct reader *message);
void session_on_request(struct client *client, struct reader *message);
void session_on_success(struct client *client, struct reader *message);
void session_on_failure(struct client *client, struct reader *message);

#endif
