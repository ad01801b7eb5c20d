/*
 * When what of a connection happened first, and how many round trips it took.
 *
 * Round trips are counted along what answers what, so that a slow scheduler neither adds one nor
 * hides one: a message of ours leaves after `depth` of them, its answer arrives after one more.
 */
#ifndef LEAN_TIMELINE_H
#define LEAN_TIMELINE_H

#include <stdint.h>

enum mark {
    MARK_CONNECTED,
    MARK_IDENTIFICATION,
    MARK_KEXINIT,
    MARK_KEX_REPLY,
    MARK_NEWKEYS,
    MARK_SERVICE,
    MARK_LOGIN,
    MARK_CHANNEL,
    MARK_OUTPUT,
    MARK_EXIT,
    MARK_CLOSED,
    MARK_ENDED,
    MARKS
};

/* The marks' names in the output. */
extern const char *const mark_names[MARKS];

/* What we ask and the server answers. */
enum question {
    QUESTION_GREETING, /* the server greets whoever connects */
    QUESTION_EXCHANGE,
    QUESTION_SERVICE,
    QUESTION_LOGIN,
    QUESTION_CHANNEL,
    QUESTION_COMMAND,
    QUESTIONS
};

struct timeline {
    uint64_t start_ns;        /* before connecting */
    uint64_t marks_ns[MARKS]; /* since then; 0: it has not happened */
    uint64_t waited_ns; /* for the connect and for the server, until the first output or exit */
    unsigned depth;     /* round trips until now, or until the first output or exit */
    unsigned asked[QUESTIONS];
};

void timeline_start(struct timeline *timeline);

/* Only the first time counts. */
void timeline_mark(struct timeline *timeline, enum mark mark);

/* Adds to waited_ns, unless there was output before. */
void timeline_wait(struct timeline *timeline, uint64_t waited_ns);

void timeline_ask(struct timeline *timeline, enum question question);
void timeline_answer(struct timeline *timeline, enum question question);

#endif
