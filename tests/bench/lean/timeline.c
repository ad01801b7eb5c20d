#include "timeline.h"

#include <stdbool.h>

#include "measure.h"

const char *const mark_names[MARKS] = {
    "connected", "identification", "kexinit", "kex_reply", "newkeys", "service",
    "login",     "channel",        "output",  "exit",      "closed",  "ended",
};

void timeline_start(struct timeline *timeline)
{
    *timeline = (struct timeline){.start_ns = measure_now_ns()};
}

void timeline_mark(struct timeline *timeline, enum mark mark)
{
    if (timeline->marks_ns[mark] == 0) {
        timeline->marks_ns[mark] = measure_now_ns() - timeline->start_ns;
    }
}

static bool has_output(const struct timeline *timeline)
{
    return timeline->marks_ns[MARK_OUTPUT] != 0 || timeline->marks_ns[MARK_EXIT] != 0;
}

void timeline_wait(struct timeline *timeline, uint64_t waited_ns)
{
    timeline->waited_ns += has_output(timeline) ? 0 : waited_ns;
}

void timeline_ask(struct timeline *timeline, enum question question)
{
    timeline->asked[question] = timeline->depth;
}

void timeline_answer(struct timeline *timeline, enum question question)
{
    unsigned depth = timeline->asked[question] + 1;
    if (depth > timeline->depth && !has_output(timeline)) {
        timeline->depth = depth;
    }
}
