/* states.h - one state of a host or GPU out of those that several sessions tell.
 *
 * A monitor knows more of a GPU than a traced program that samples by itself. Whoever spoke last
 * would make the other's members unknown, and with them every rule of alerts about one. So
 * the newest state keeps the members that only another session knows, each with its time and
 * session under "kept", for as long as a value counts in a session's own state (NEWEST_KEPT_S):
 *
 *   {"time":"9","session":"b","power":1,"sm_active":2,"kept":{"sm_active":["8","a"]}} */
#ifndef GPUFL_SERVER_INTAKE_STATES_H
#define GPUFL_SERVER_INTAKE_STATES_H

/* Joins two states: all members of the newer one, and those of the older one that the newer one's
 * session does not know. Either may hold kept members; "": no state. Returns a text to be freed
 * with mem_free; NULL: `state` needs no change, or memory is out. Where one is no object, or both
 * together are longer than a row should be, the newer one stands alone. */
char *states_join(const char *state, const char *other);

#endif
