/* What every file of unit tests provides. */
#ifndef WREN_UNIT_H
#define WREN_UNIT_H

#include <check.h>

Suite *unit_suite(void);

#endif
