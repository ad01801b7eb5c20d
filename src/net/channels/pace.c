#include "pace.h"

/* What a link of 1 Gbit/s carries in a millisecond. */
#define BYTES_A_MS 131072

/* What a client on this machine needs in addition. */
#define NEAR_BYTES 65536

/* A client may return no window for reasons of its own: its program reads slowly, or it collects
 * more before each WINDOW_ADJUST. Any other client returns window much sooner than this. */
#define STALL_MS 100

void pace_sent(struct pace *pace, uint32_t count, uint64_t now_ms)
{
    pace->in_flight += count;
    pace->moved_ms = now_ms;
    if (pace->unmeasured == 0) {
        pace->unmeasured = pace->in_flight;
        pace->sent_ms = now_ms;
    }
}

static void note_delay(struct pace *pace, uint64_t delay_ms)
{
    if (!pace->delay_known || delay_ms < pace->delay_ms) {
        pace->delay_ms = (uint32_t)delay_ms;
        pace->delay_known = true;
    }
}

void pace_returned(struct pace *pace, uint32_t count, uint64_t now_ms)
{
    pace->adjust_bytes = count;
    pace->moved_ms = now_ms;
    pace->in_flight -= count < pace->in_flight ? count : pace->in_flight;
    if (pace->unmeasured > count) {
        pace->unmeasured -= count;
    } else if (pace->unmeasured > 0) {
        pace->unmeasured = 0;
        note_delay(pace, now_ms - pace->sent_ms);
    }
}

bool pace_holds(const struct pace *pace)
{
    /* A client holds back less than one WINDOW_ADJUST, and needs data until ours arrives. */
    uint64_t most =
        (uint64_t)pace->adjust_bytes + NEAR_BYTES + (uint64_t)BYTES_A_MS * pace->delay_ms;
    return pace->delay_known && pace->in_flight >= most;
}

uint64_t pace_deadline_ms(const struct pace *pace)
{
    return pace->moved_ms + STALL_MS + 2 * (uint64_t)pace->delay_ms;
}

void pace_forget_delay(struct pace *pace)
{
    pace->delay_known = false;
    pace->unmeasured = 0;
}
