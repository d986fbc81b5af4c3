/* opt_fields.h - has the C type of each kind of option in a program's options.def: OPTION_C_<kind>.
 * The header with the program's struct of options includes this file. */
#ifndef GPUFL_BASE_OPT_FIELDS_H
#define GPUFL_BASE_OPT_FIELDS_H

#include "base/opt.h"

#include <stdbool.h>
#include <stdint.h>

#define OPTION_C_TEXT     const char *
#define OPTION_C_LIST     struct opt_list
#define OPTION_C_INT      int64_t
#define OPTION_C_SIZE     int64_t
#define OPTION_C_DURATION int64_t
#define OPTION_C_MILLIS   int64_t
#define OPTION_C_FLAG     bool
#define OPTION_C_CHOICE   int

#endif
