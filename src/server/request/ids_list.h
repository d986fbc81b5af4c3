/* ids_list.h - reads "a,b,c": ids in one parameter. */
#ifndef GPUFL_SERVER_REQUEST_IDS_LIST_H
#define GPUFL_SERVER_REQUEST_IDS_LIST_H

#include "meta/meta.h"
#include "server/request/call.h"

/* Takes the next id off the list; false at the end, or where it is malformed (*bad). */
bool ids_next(const char **list, char id[META_ID_MAX], bool *bad);

/* Answers the problem of a malformed list. */
void ids_bad(struct call *c, const char *parameter);

#endif
