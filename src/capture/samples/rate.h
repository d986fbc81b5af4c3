/* rate.h - decides when the program's threads are sampled.
 *
 * Time is divided into cells of equal length, and each cell has one look at a random moment, so
 * that a loop of the program with the period of the looks is not always seen at one place. Cells
 * lie on a grid, so that the mean rate is the one asked for, however late single looks are. A cell
 * that was missed is not made up for.
 *
 * The rate falls when looking costs more than 1 % of a core, to one that costs 0.9 %, and rises
 * again, up to the one asked for, below 0.75 %. What was used beyond 0.9 % before the rate fell is
 * saved within seconds, by a rate that costs at least 0.6 %. There is no I/O and no clock: the
 * caller gives the times. Called by one thread only. */
#ifndef GPUFL_CAPTURE_SAMPLES_RATE_H
#define GPUFL_CAPTURE_SAMPLES_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct rate {
    int64_t asked;            /* length of a cell, ns, at the rate asked for */
    int64_t cell;             /* length of a cell now, ns */
    int64_t begin;            /* of the cell of the next look, steady ns */
    int64_t begun, begun_cpu; /* when looking began, steady ns, and the CPU time then, ns */
    int64_t measured;         /* when the cost was measured last, steady ns */
    int64_t cpu;              /* CPU time of the looking thread at that time, ns */
    uint64_t random;          /* state of the random numbers */
};

/* Begins at `now` (steady ns) with the looking thread's CPU time `cpu` (ns). hz: 1 to 1000. */
void rate_begin(struct rate *r, int64_t hz, int64_t now, int64_t cpu, uint64_t seed);

/* Returns the time, steady ns, of the next look. It may have passed by less than a cell. */
int64_t rate_next(struct rate *r, int64_t now);

/* Measures the cost, which is the CPU time since the last measurement: once a second, or as soon as
 * 2 ms were used at a rate that costs more than 1 %. Call this function after each look. True: the
 * rate has changed. */
bool rate_measure(struct rate *r, int64_t now, int64_t cpu);

#endif
