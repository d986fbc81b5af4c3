/* gate.h - holds the one word that every public function reads first.
 *
 * While the gate is off, a public function costs a load and a branch. The owner writes
 * the gate (session.c, copies.c, fork.c; release), at the end also collector.c and
 * closing.c; every thread reads it (acquire). A thread that passes the gate late
 * finds its own memory and ring, which outlive every session, and each slot has the
 * number of its session, by which the collector recognizes it. */
#ifndef GPUFL_CAPTURE_THREADS_GATE_H
#define GPUFL_CAPTURE_THREADS_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum gate {
    GATE_OFF,     /* no session */
    GATE_ENDING,  /* the session ends: no new scopes; ends of scopes and launches are still taken */
    GATE_ON,      /* a session runs */
    GATE_FORWARD, /* another copy of the library holds this process's session */
};

struct capture_gate {
    _Atomic uint32_t gate;    /* enum gate */
    _Atomic uint32_t session; /* counts sessions of this process, from 1 */
    _Atomic bool floor;       /* benchmark: launches are only counted */
    _Atomic bool scoped;      /* a scope has been opened in this session */
    _Atomic bool ranged;      /* the backend receives outermost scopes; release, acquire */
    _Atomic uint32_t looks; /* number of the period in which threads are sampled, from 1; relaxed */
};

/* This is hidden, so that reading it takes one load relative to the code. */
extern struct capture_gate capture_gate __attribute__((visibility("hidden")));

/* Returns true if a session records what the program's threads do. */
static inline bool gate_is_on(void)
{
    uint32_t gate = atomic_load_explicit(&capture_gate.gate, memory_order_acquire);
    return gate - GATE_ENDING <= GATE_ON - GATE_ENDING;
}

static inline uint32_t gate_session(void)
{
    return atomic_load_explicit(&capture_gate.session, memory_order_relaxed);
}

#endif
