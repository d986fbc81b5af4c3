/* fleet.h - collects the states of hosts and GPUs from the loader's threads, and writes them to the
 * small tables.
 *
 * Hundreds of hosts send a state every second, and the small tables sync the disk for each
 * transaction. So the newest state of each host and GPU is kept here, and written soon after it
 * came, at most once in a period, in one transaction for each workspace; then the listeners of the
 * workspace get the rows. A failed write is tried again with the states that are newest at that
 * time. A state that is lost is still in the session's columns. */
#ifndef GPUFL_SERVER_INTAKE_FLEET_H
#define GPUFL_SERVER_INTAKE_FLEET_H

#include "base/err.h"
#include "meta/meta.h"

#include <stdint.h>

struct fleet;

struct fleet_config {
    struct meta *meta;
    int64_t period_ns; /* 0: 250 ms */
    void *arg;
    /* Called after rows were written, with {"hosts":[…],"gpus":[…],"more":[…]}, rows of meta.def;
     * more: names of hosts whose rows did not fit. [fleet's thread] May be NULL. */
    void (*event)(void *arg, const char *workspace, const char *json, size_t len);
};

int fleet_open(struct fleet **out, const struct fleet_config *c, struct err *e);
void fleet_close(struct fleet *f); /* writes the remaining states first; NULL: nothing */

/* The functions give the newest state of a host or GPU. Texts are copied, and cut if they are too
 * long. Without memory a state is dropped, since the next one comes soon. [any] */
void fleet_host(struct fleet *f, const char *workspace, const struct meta_host *h);
void fleet_gpu(struct fleet *f, const char *workspace, const struct meta_gpu *g);

#endif
