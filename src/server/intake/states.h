/* states.h - merges the states of a host or GPU that several sessions send.
 *
 * A monitor knows more about a GPU than a traced program that takes samples itself. If the newest
 * state simply replaced the other one, values that only the monitor has would become unknown with
 * each sample of the program, and alerts about them would end. So the newest state keeps such
 * values, each with its time and session, under "kept", as long as a session's own value counts
 * (NEWEST_KEPT_S):
 *
 *   {"time":"9","session":"b","power":1,"sm_active":2,"kept":{"sm_active":["8","a"]}} */
#ifndef GPUFL_SERVER_INTAKE_STATES_H
#define GPUFL_SERVER_INTAKE_STATES_H

/* Merges two states: all members of the newer one, and those members of the older one that the
 * newer one's session does not have. Either may have kept members; "": no state. Returns a text
 * that the caller frees with mem_free; NULL: `state` needs no change, or there is no memory. If one
 * state is not an object, or the result is too long for a row, only the newer one counts. */
char *states_join(const char *state, const char *other);

#endif
