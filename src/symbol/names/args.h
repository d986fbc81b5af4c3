/* args.h - splits demangled names and their template arguments. [any] */
#ifndef GPUFL_SYMBOL_NAMES_ARGS_H
#define GPUFL_SYMBOL_NAMES_ARGS_H

#include "symbol/names/span.h"

/* Splits "head<args>tail" at the first outermost angle brackets. False: there are none, and
 * nothing is written. */
bool args_split(struct span s, struct span *head, struct span *args, struct span *tail);

/* Takes the first argument off the list, without the spaces around it. */
struct span args_next(struct span *args);

/* Returns the number of arguments in the list. */
size_t args_count(struct span args);

/* Returns the name without return type, parameters, a requires-clause and what compilers append to
 * the parts of a function (" (.cold)"). A text that is no name, "epoch (warm up)", stays whole. */
struct span args_core(struct span s);

#endif
