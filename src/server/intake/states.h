/* states.h - the state of a host or GPU, joined from the states that several sessions send.
 *
 * A monitor knows more of a GPU than a traced program that samples by itself. If the newest state
 * replaced the other one, the members that the monitor alone knows would be unknown after each
 * sample of the program, and alerts about them would end. So the newest state keeps them, each
 * with its time and session under "kept", for as long as a session's own value counts
 * (NEWEST_KEPT_S):
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
