/*
 * Tables of texts as one string: pointers to many would take more space in the program than these.
 */
#ifndef WREN_TEXTS_H
#define WREN_TEXTS_H

#include <stddef.h>

/*
 * In "START\0WORDS\0START\0WORDS\0..." finds the first start with which the text begins, and
 * returns its words. Empty words stand for those of the next start. The last start must be "",
 * which every text begins with, and have words.
 */
const char *texts_find(const char *table, const char *text, size_t bytes);

#endif
