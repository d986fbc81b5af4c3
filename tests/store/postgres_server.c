/* postgres_server.c - runs initdb and postgres from Debian's folder or PATH, as an unprivileged
 * user if the test runs as root, which PostgreSQL refuses.
 *
 * The server is a child that the kernel kills with the thread that started it, so that no test
 * leaves one behind. */
#include "postgres_server.h"
#include "child_server.h"

#include "base/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libpq-fe.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct {
    char bin[PATH_MAX]; /* folder of initdb and postgres */
    char data[PATH_MAX], log[PATH_MAX];
    char socket[64]; /* folder; short, since addresses of sockets are */
    char password[CHILD_PASSWORD_SIZE];
    struct child_user user; /* the user of the server */
    pid_t pid;              /* of the server; 0: it does not run */
} pg;

static void die(const char *what)
{
    fprintf(stderr, "PostgreSQL of the test: %s (%s); its log is %s\n", what, strerror(errno),
            pg.log);
    exit(1);
}

/* The newest of /usr/lib/postgresql/N/bin. */
static bool bin_find(void)
{
    glob_t found = {0};
    int newest = 0;
    if (glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            int version = atoi(found.gl_pathv[i] + strlen("/usr/lib/postgresql/"));
            if (version <= newest)
                continue;
            newest = version;
            snprintf(pg.bin, sizeof pg.bin, "%s", found.gl_pathv[i]);
            *strrchr(pg.bin, '/') = '\0';
        }
    globfree(&found);
    return newest > 0;
}

/* Runs a program of PostgreSQL as its user, with its output in the log. */
static pid_t program_start(const char *name, char *const argv[])
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", pg.bin, name);
    return child_start(pg.user, SIGQUIT, "/", pg.log, path, argv);
}

static void folder_make(char *template)
{
    if (!mkdtemp(template) || !child_own(pg.user, template))
        die("cannot make a folder");
}

static void folders_make(void)
{
    char here[PATH_MAX - 64];
    if (!getcwd(here, sizeof here))
        die("no current folder");
    snprintf(pg.log, sizeof pg.log, "%s/postgres-%d.log", here, (int)getpid());
    snprintf(pg.data, sizeof pg.data, "%s/postgres-XXXXXX", here);
    folder_make(pg.data);
    snprintf(pg.socket, sizeof pg.socket, "%s/gpufl-pg-XXXXXX", P_tmpdir);
    folder_make(pg.socket);
    if (child_reaches(pg.user, pg.data))
        return;
    rmdir(pg.data);
    snprintf(pg.data, sizeof pg.data, "%s/gpufl-pgdata-XXXXXX", P_tmpdir);
    folder_make(pg.data);
}

static void password_make(char *file)
{
    if (!child_password(pg.password))
        die("no random bytes");
    sprintf(file, "%s/password", pg.socket);
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, pg.password, 32) != 32 || !child_own(pg.user, file))
        die("cannot write a password");
    close(fd);
}

static void data_make(void)
{
    char file[128];
    int status = 0;
    password_make(file);
    char *const argv[] = {"initdb",   "-D", pg.data,      "-U",   "gpufl",    "-A", "scram-sha-256",
                          "--pwfile", file, "--encoding", "UTF8", "--locale", "C",  "--no-sync",
                          NULL};
    pid_t child = program_start("initdb", argv);
    if (waitpid(child, &status, 0) != child || status)
        die("initdb failed");
    unlink(file);
}

void postgres_server_url(const char *database, char *out, size_t size)
{
    snprintf(out, size, "postgres://gpufl:%s@/%s?host=%s", pg.password, database, pg.socket);
}

void postgres_server_start(void)
{
    char url[256];
    char *const argv[] = {"postgres",
                          "-D",
                          pg.data,
                          "-k",
                          pg.socket,
                          "-c",
                          "listen_addresses=",
                          "-c",
                          "fsync=off",
                          "-c",
                          "shared_buffers=16MB",
                          "-c",
                          "max_connections=60",
                          NULL};
    postgres_server_url("postgres", url, sizeof url);
    pg.pid = program_start("postgres", argv);
    for (int i = 0; i < 3000; i++) { /* half a minute */
        if (PQping(url) == PQPING_OK)
            return;
        if (waitpid(pg.pid, NULL, WNOHANG) == pg.pid)
            break;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    die("it does not start");
}

void postgres_server_stop(void)
{
    child_end(&pg.pid, SIGINT);
}

int postgres_server_open(void)
{
    if (!bin_find()) {
        puts("PostgreSQL is not installed (package postgresql): its tests are left out");
        return 1;
    }
    pg.user = child_user_find("postgres");
    folders_make();
    data_make();
    postgres_server_start();
    return 0;
}

void postgres_server_close(void)
{
    child_end(&pg.pid, SIGQUIT);
    child_remove(pg.data);
    child_remove(pg.socket);
    unlink(pg.log);
}

void postgres_server_sql(const char *sql)
{
    char url[256];
    postgres_server_url("postgres", url, sizeof url);
    PGconn *c = PQconnectdb(url);
    PQclear(PQexec(c, "SET client_min_messages = error"));
    PGresult *r = PQexec(c, sql);
    ExecStatusType status = PQresultStatus(r);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        fprintf(stderr, "%s: %s", sql, PQerrorMessage(c));
        exit(1);
    }
    PQclear(r);
    PQfinish(c);
}
