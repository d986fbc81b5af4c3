/* ids_list.h - reads a list of ids in one parameter, "a,b,c". */
#ifndef GPUFL_SERVER_REQUEST_IDS_LIST_H
#define GPUFL_SERVER_REQUEST_IDS_LIST_H

#include "meta/meta.h"
#include "server/request/call.h"

/* Takes the next id of the list; false at the end, or if the list is malformed (*bad). */
bool ids_next(const char **list, char id[META_ID_MAX], bool *bad);

/* Answers the problem for a malformed list. */
void ids_bad(struct call *c, const char *parameter);

#endif
