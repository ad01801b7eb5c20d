/*
 * How much output of one session may be in flight while several sessions share the connection. All
 * data goes through one TCP stream: what one session has sent ahead delays the others, even the
 * echo of a keystroke (head-of-line blocking).
 *
 * What waits in the client's kernel can't be seen from here, and a fast server fills all of it. But
 * clients return window for data that they have taken. How long that takes tells a near client from
 * a far one, and so how much must be in flight to keep the link busy.
 */
#ifndef WREN_PACE_H
#define WREN_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* All zero for a channel that has sent nothing. */
struct pace {
    uint32_t in_flight;    /* bytes sent for which no window has been returned */
    uint32_t adjust_bytes; /* of the last WINDOW_ADJUST: clients collect until it is worth one */
    bool delay_known;
    uint32_t delay_ms;   /* the shortest time that a client has taken to return window */
    uint32_t unmeasured; /* bytes to be returned until the next delay is measured, or 0 */
    uint64_t sent_ms;    /* when the last of these was sent */
    uint64_t moved_ms;   /* when data was last sent or window returned */
};

void pace_sent(struct pace *pace, uint32_t count, uint64_t now_ms);

/* The client's WINDOW_ADJUST. */
void pace_returned(struct pace *pace, uint32_t count, uint64_t now_ms);

/* True if so much is in flight that more would only wait in the client's kernel. */
bool pace_holds(const struct pace *pace);

/* When output goes on though the client has returned no window. */
uint64_t pace_deadline_ms(const struct pace *pace);

/* Forgets the client's delay: nothing is held until it has been measured again. */
void pace_forget_delay(struct pace *pace);

#endif
