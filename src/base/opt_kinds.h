/* opt_kinds.h - has macros that turn a program's options.def into rows of struct opt. The file that
 * makes the table includes them.
 *
 * OPTION(kind, field, ...) becomes {..., KIND_##kind, ..., WORDS_##kind(field), ...}. A CHOICE has
 * its words in <field>_words. */
#ifndef GPUFL_BASE_OPT_KINDS_H
#define GPUFL_BASE_OPT_KINDS_H

#include "base/opt.h"

#define KIND_TEXT     OPT_STRING
#define KIND_LIST     OPT_LIST
#define KIND_INT      OPT_INT
#define KIND_SIZE     OPT_SIZE
#define KIND_DURATION OPT_DURATION
#define KIND_MILLIS   OPT_MILLIS
#define KIND_FLAG     OPT_FLAG
#define KIND_CHOICE   OPT_CHOICE

#define WORDS_TEXT(field)     NULL
#define WORDS_LIST(field)     NULL
#define WORDS_INT(field)      NULL
#define WORDS_SIZE(field)     NULL
#define WORDS_DURATION(field) NULL
#define WORDS_MILLIS(field)   NULL
#define WORDS_FLAG(field)     NULL
#define WORDS_CHOICE(field)   field##_words

#endif
