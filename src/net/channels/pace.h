/*
 * How much output may be on its way to the client while sessions share the connection: all that one
 * has sent ahead stands in front of what the others say, even of a keystroke's echo.
 *
 * What waits in the client's kernel can't be seen from here, and a fast server fills whatever there
 * is. But clients give window back for what they have taken. The time that takes tells near from
 * far, and how much must be under way so that nobody is kept waiting for lack of it.
 */
#ifndef WREN_PACE_H
#define WREN_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* All zero is a channel that has sent nothing. */
struct pace {
    uint32_t under_way; /* sent, and no window given back for it */
    uint32_t step;      /* of the last WINDOW_ADJUST: clients wait until there is enough for one */
    bool known;         /* how long the client takes: `delay_ms` at best */
    uint32_t delay_ms;
    uint32_t awaited;  /* of what is under way, still to come back until a delay is known; or 0 */
    uint64_t sent_ms;  /* when that was sent */
    uint64_t moved_ms; /* when anything was sent or came back */
};

void pace_sent(struct pace *pace, uint32_t count, uint64_t now_ms);

/* The client's WINDOW_ADJUST. */
void pace_returned(struct pace *pace, uint32_t count, uint64_t now_ms);

/* True if so much is under way that more would only wait. */
bool pace_holds(const struct pace *pace);

/* When a client that gives nothing back is to be sent more all the same. */
uint64_t pace_patience_ends_ms(const struct pace *pace);

/* Forgets what is known of the client's delay: holds no more until it has been seen again. */
void pace_give_up(struct pace *pace);

#endif
