#include "channel_state.h"

#include <stdint.h>

/* 0 (FREE) means "no change" in the input table. The output table is complete: CLOSE leads to FREE.
 */
static const uint8_t input_table[INPUT_STATES][INPUT_EVENTS] = {
    [INPUT_WAITING] = {[INPUT_START] = INPUT_OPEN,
                       [INPUT_EOF] = INPUT_WAITING_EOF,
                       [INPUT_SHUT] = INPUT_DISCARDING},
    [INPUT_OPEN] = {[INPUT_EOF] = INPUT_DRAINING,
                    [INPUT_BREAK] = INPUT_BROKEN,
                    [INPUT_SHUT] = INPUT_DISCARDING},
    [INPUT_BROKEN] = {[INPUT_EOF] = INPUT_CLOSED,
                      [INPUT_REPORTED] = INPUT_DISCARDING,
                      [INPUT_SHUT] = INPUT_DISCARDING},
    [INPUT_DISCARDING] = {[INPUT_EOF] = INPUT_CLOSED},
    [INPUT_WAITING_EOF] = {[INPUT_START] = INPUT_DRAINING, [INPUT_SHUT] = INPUT_CLOSED},
    [INPUT_DRAINING] = {[INPUT_BREAK] = INPUT_CLOSED, [INPUT_SHUT] = INPUT_CLOSED},
};

/* The columns: START, END, EXIT, CLOSE. */
static const uint8_t output_table[OUTPUT_STATES][OUTPUT_EVENTS] = {
    [OUTPUT_FREE] = {OUTPUT_FREE, OUTPUT_FREE, OUTPUT_FREE, OUTPUT_FREE},
    [OUTPUT_WAITING] = {OUTPUT_OPEN, OUTPUT_WAITING, OUTPUT_WAITING, OUTPUT_FREE},
    [OUTPUT_OPEN] = {OUTPUT_OPEN, OUTPUT_EOF_SENT, OUTPUT_EXITED, OUTPUT_FREE},
    [OUTPUT_EXITED] = {OUTPUT_EXITED, OUTPUT_CLOSED, OUTPUT_EXITED, OUTPUT_FREE},
    [OUTPUT_EOF_SENT] = {OUTPUT_EOF_SENT, OUTPUT_EOF_SENT, OUTPUT_CLOSED, OUTPUT_LAST_STATUS},
    [OUTPUT_LAST_STATUS] = {OUTPUT_LAST_STATUS, OUTPUT_LAST_STATUS, OUTPUT_FREE,
                            OUTPUT_LAST_STATUS},
    [OUTPUT_CLOSED] = {OUTPUT_CLOSED, OUTPUT_CLOSED, OUTPUT_CLOSED, OUTPUT_FREE},
};

/* The columns: NOTHING, LITTLE, MUCH, ALL, FULL. */
static const uint8_t flow_table[FLOW_STATES][FLOW_EVENTS] = {
    [FLOW_QUIET] = {FLOW_QUIET, FLOW_QUIET, FLOW_BULK, FLOW_COALESCING, FLOW_FLOODING},
    [FLOW_BULK] = {FLOW_BULK, FLOW_QUIET, FLOW_BULK, FLOW_COALESCING, FLOW_FLOODING},
    [FLOW_COALESCING] = {FLOW_BULK, FLOW_QUIET, FLOW_BULK, FLOW_COALESCING, FLOW_FLOODING},
    [FLOW_FLOODING] = {FLOW_FLOODING, FLOW_QUIET, FLOW_BULK, FLOW_COALESCING, FLOW_FLOODING},
};

enum channel_input channel_input_after(enum channel_input state, enum channel_input_event event)
{
    enum channel_input next = (enum channel_input)input_table[state][event];
    return next != INPUT_FREE ? next : state;
}

enum channel_output channel_output_after(enum channel_output state, enum channel_output_event event)
{
    return (enum channel_output)output_table[state][event];
}

enum channel_flow channel_flow_after(enum channel_flow state, enum channel_flow_event event)
{
    return (enum channel_flow)flow_table[state][event];
}

bool channel_input_has_eof(enum channel_input state)
{
    return state >= INPUT_WAITING_EOF;
}
