#ifndef WREN_ETC_ELSEWHERE_H
#define WREN_ETC_ELSEWHERE_H

/* The folder that is used instead of /etc. */
extern const char *etc_elsewhere;

#endif
