/* postgres_server.h - a PostgreSQL of the test's own: a data folder below the build, a socket in a
 * private folder, a password made for this run; it ends with the test. */
#ifndef GPUFL_TESTS_STORE_POSTGRES_SERVER_H
#define GPUFL_TESTS_STORE_POSTGRES_SERVER_H

#include <stdbool.h>
#include <stddef.h>

/* Returns 0; 1: not installed, with a message. Ends the process if the server does not start. */
int postgres_server_open(void);
void postgres_server_close(void);

void postgres_server_stop(void);  /* connections break at once */
void postgres_server_start(void); /* again */

/* Writes the address of a database; the socket's folder is in it. */
void postgres_server_url(const char *database, char *out, size_t size);

/* Runs SQL as the superuser, in the database postgres. */
void postgres_server_sql(const char *sql);

#endif
