/* fleet.h - takes the states of hosts and GPUs from the loader's threads to the small tables.
 *
 * Hundreds of hosts say something every second, and the small tables sync the disk for each
 * transaction. So their states are kept here, the newest of each host and GPU, and written soon
 * after they came, at most once a period, in one transaction a workspace; those who follow the
 * workspace get the rows then. A write that fails is tried again with the states that are newest
 * by then; what is lost on the way, the sessions' columns still have. */
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
    /* Rows were written: {"hosts":[…],"gpus":[…],"more":[…]}, rows of meta.def; more: names of
     * hosts of which there was no room for the rows. [fleet's thread] NULL: nobody asks. */
    void (*event)(void *arg, const char *workspace, const char *json, size_t len);
};

int fleet_open(struct fleet **out, const struct fleet_config *c, struct err *e);
void fleet_close(struct fleet *f); /* writes what there is first; NULL: nothing */

/* The newest of a host or GPU; texts are copied, and cut where they are longer than any should be.
 * Where memory is out it is dropped: the next one comes soon. [any] */
void fleet_host(struct fleet *f, const char *workspace, const struct meta_host *h);
void fleet_gpu(struct fleet *f, const char *workspace, const struct meta_gpu *g);

#endif
