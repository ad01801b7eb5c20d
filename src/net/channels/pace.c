#include "pace.h"

/* What a link of 1 Gbit/s carries in a millisecond. */
#define BYTES_A_MS 131072

/* What a client on this machine needs beside. */
#define NEAR_BYTES 65536

/* A client may have reasons of its own to give no window back: a program behind it that reads
 * slowly, or steps that have grown. This is much longer than any that has none. */
#define PATIENCE_MS 100

void pace_sent(struct pace *pace, uint32_t count, uint64_t now_ms)
{
    pace->under_way += count;
    pace->moved_ms = now_ms;
    if (pace->awaited == 0) {
        pace->awaited = pace->under_way;
        pace->sent_ms = now_ms;
    }
}

static void note_delay(struct pace *pace, uint64_t delay_ms)
{
    if (!pace->known || delay_ms < pace->delay_ms) {
        pace->delay_ms = (uint32_t)delay_ms;
        pace->known = true;
    }
}

void pace_returned(struct pace *pace, uint32_t count, uint64_t now_ms)
{
    pace->step = count;
    pace->moved_ms = now_ms;
    pace->under_way -= count < pace->under_way ? count : pace->under_way;
    if (pace->awaited > count) {
        pace->awaited -= count;
    } else if (pace->awaited > 0) {
        pace->awaited = 0;
        note_delay(pace, now_ms - pace->sent_ms);
    }
}

bool pace_holds(const struct pace *pace)
{
    /* A client gives back all but less than a step, and has something to do until it hears of us.
     */
    uint64_t most = (uint64_t)pace->step + NEAR_BYTES + (uint64_t)BYTES_A_MS * pace->delay_ms;
    return pace->known && pace->under_way >= most;
}

uint64_t pace_patience_ends_ms(const struct pace *pace)
{
    return pace->moved_ms + PATIENCE_MS + 2 * (uint64_t)pace->delay_ms;
}

void pace_give_up(struct pace *pace)
{
    pace->known = false;
    pace->awaited = 0;
}
