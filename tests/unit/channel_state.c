/* The tables of channel_state.h, cell by cell. What leaves at each step is in channel_exit.c. */
#include "net.h"

#include "unit.h"

/* The table of the header, which leaves out FREE: no event changes it. */
#define STAYS (-1)

static const int inputs[INPUT_STATES][INPUT_EVENTS] = {
    /* START, EOF, BREAK, REPORTED, SHUT */
    {STAYS, STAYS, STAYS, STAYS, STAYS},
    {INPUT_OPEN, INPUT_WAITING_EOF, STAYS, STAYS, INPUT_DISCARDING},
    {STAYS, INPUT_DRAINING, INPUT_BROKEN, STAYS, INPUT_DISCARDING},
    {STAYS, INPUT_CLOSED, STAYS, INPUT_DISCARDING, INPUT_DISCARDING},
    {STAYS, INPUT_CLOSED, STAYS, STAYS, STAYS},
    {INPUT_DRAINING, STAYS, STAYS, STAYS, INPUT_CLOSED},
    {STAYS, STAYS, INPUT_CLOSED, STAYS, INPUT_CLOSED},
    {STAYS, STAYS, STAYS, STAYS, STAYS},
};

static const int outputs[OUTPUT_STATES][OUTPUT_EVENTS] = {
    /* START, END, EXIT, CLOSE */
    {STAYS, STAYS, STAYS, STAYS},
    {OUTPUT_OPEN, STAYS, STAYS, OUTPUT_FREE},
    {STAYS, OUTPUT_EOF_SENT, OUTPUT_EXITED, OUTPUT_FREE},
    {STAYS, OUTPUT_CLOSED, STAYS, OUTPUT_FREE},
    {STAYS, STAYS, OUTPUT_CLOSED, OUTPUT_LAST_STATUS},
    {STAYS, STAYS, OUTPUT_FREE, STAYS},
    {STAYS, STAYS, STAYS, OUTPUT_FREE},
};

static const int flows[FLOW_STATES][FLOW_EVENTS] = {
    /* NOTHING, LITTLE, MUCH, ALL, FULL */
    {STAYS, STAYS, FLOW_BULK, FLOW_COALESCING, FLOW_FLOODING},
    {STAYS, FLOW_QUIET, STAYS, FLOW_COALESCING, FLOW_FLOODING},
    {FLOW_BULK, FLOW_QUIET, FLOW_BULK, STAYS, FLOW_FLOODING},
    {STAYS, FLOW_QUIET, FLOW_BULK, FLOW_COALESCING, STAYS},
};

TEST_EACH(the_input_table, INPUT_STATES)
{
    for (int event = 0; event < INPUT_EVENTS; event++) {
        int expected = inputs[_i][event] == STAYS ? _i : inputs[_i][event];
        ck_assert_int_eq(
            (int)channel_input_after((enum channel_input)_i, (enum channel_input_event)event),
            expected);
    }
}

TEST_EACH(the_output_table, OUTPUT_STATES)
{
    for (int event = 0; event < OUTPUT_EVENTS; event++) {
        int expected = outputs[_i][event] == STAYS ? _i : outputs[_i][event];
        ck_assert_int_eq(
            (int)channel_output_after((enum channel_output)_i, (enum channel_output_event)event),
            expected);
    }
}

TEST_EACH(the_flow_table, FLOW_STATES)
{
    for (int event = 0; event < FLOW_EVENTS; event++) {
        int expected = flows[_i][event] == STAYS ? _i : flows[_i][event];
        ck_assert_int_eq(
            (int)channel_flow_after((enum channel_flow)_i, (enum channel_flow_event)event),
            expected);
    }
}

/* Whatever comes before or after it, the client's EOF is not forgotten. */
TEST_RANGE(eof_lasts, INPUT_WAITING, INPUT_STATES)
{
    for (int event = 0; event < INPUT_EVENTS; event++) {
        enum channel_input state = channel_input_after((enum channel_input)_i, INPUT_EOF);
        ck_assert(channel_input_has_eof(state));
        state = channel_input_after(state, (enum channel_input_event)event);
        ck_assert(channel_input_has_eof(state));
    }
}

TEST(states_before_eof)
{
    ck_assert(!channel_input_has_eof(INPUT_FREE));
    ck_assert(!channel_input_has_eof(INPUT_WAITING));
    ck_assert(!channel_input_has_eof(INPUT_OPEN));
    ck_assert(!channel_input_has_eof(INPUT_BROKEN));
    ck_assert(!channel_input_has_eof(INPUT_DISCARDING));
}

static bool is_live(enum channel_output state)
{
    const struct channel channel = {.output = state};
    return channel_is_live(&channel);
}

TEST(states_with_a_program)
{
    ck_assert(!is_live(OUTPUT_FREE));
    ck_assert(!is_live(OUTPUT_WAITING));
    ck_assert(is_live(OUTPUT_OPEN));
    ck_assert(is_live(OUTPUT_EXITED));
    ck_assert(is_live(OUTPUT_EOF_SENT));
    ck_assert(is_live(OUTPUT_LAST_STATUS));
    ck_assert(!is_live(OUTPUT_CLOSED));
}
