/* owner.c - see owner.h. */
#include "monitord/owner.h"

#include "wire/record.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONTAINER_ID = 64, UID_LEN = 36, CGROUP_MOST = 8192, ENVIRONMENT_MOST = 64 << 10 };

static ssize_t read_file(const char *proc, int64_t pid, const char *file, char *out, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%" PRId64 "/%s", proc, pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t have = 0;
    ssize_t n;
    while (have < size - 1 && (n = read(fd, out + have, size - 1 - have)) > 0)
        have += (size_t)n;
    close(fd);
    out[have] = '\0';
    return (ssize_t)have;
}

/* ---- control groups ------------------------------------------------------------------------ */

static size_t hex_run(const char *s)
{
    size_t n = 0;
    while (isxdigit((unsigned char)s[n]) && !isupper((unsigned char)s[n]))
        n++;
    return n;
}

/* Finds the 64 hexadecimal digits of a container, wherever they stand in a component: after
 * "docker-", "cri-containerd-", "crio-", "libpod-", before ".scope". */
static void find_container(struct owner *o, const char *part, size_t len)
{
    for (size_t i = 0; i + CONTAINER_ID <= len; i++) {
        size_t n = hex_run(part + i);
        if (n == CONTAINER_ID) {
            memcpy(o->container, part + i, CONTAINER_ID);
            o->container[CONTAINER_ID] = '\0';
            return;
        }
        i += n;
    }
}

/* Reads the UID at a place, with or without a sign between its groups of digits; false: there is
 * none. */
static bool read_uid(const char *at, char uid[UID_LEN + 1])
{
    static const unsigned char groups[] = {8, 4, 4, 4, 12};
    enum { GROUPS = sizeof groups, DIGITS = 32 };
    bool plain = hex_run(at) == DIGITS;
    size_t out = 0;
    for (size_t g = 0; g < GROUPS; g++) {
        if (hex_run(at) < groups[g])
            return false;
        memcpy(uid + out, at, groups[g]);
        out += groups[g];
        at += groups[g];
        if (g + 1 == GROUPS || plain)
            continue;
        if (*at != '-' && *at != '_')
            return false;
        uid[out++] = '-';
        at++;
    }
    uid[out] = '\0';
    return true;
}

/* Finds "pod1234abcd-…" or, by systemd, "kubepods-burstable-pod1234abcd_….slice". The UID of a
 * static pod, which the node's kubelet reads from a file, has no signs between its digits. */
static void find_pod(struct owner *o, const char *part, size_t len)
{
    char uid[UID_LEN + 1];
    for (size_t i = 0; i + 3 < len; i++)
        if (strncmp(part + i, "pod", 3) == 0 && read_uid(part + i + 3, uid)) {
            memcpy(o->pod, uid, sizeof uid);
            return;
        }
}

/* Finds "job_1234" below a component with "slurm". */
static void find_job(struct owner *o, const char *path, const char *part, size_t len)
{
    const char *slurm = strstr(path, "slurm");
    size_t digits = len > 4 ? strspn(part + 4, "0123456789") : 0;
    if (slurm && slurm < part && strncmp(part, "job_", 4) == 0 && digits && digits == len - 4 &&
        digits < sizeof o->job) {
        memcpy(o->job, part + 4, digits);
        o->job[digits] = '\0';
    }
}

static void read_path(struct owner *o, const char *path)
{
    for (const char *at = path; *at;) {
        size_t len = strcspn(at, "/");
        if (!*o->container)
            find_container(o, at, len);
        if (!*o->pod)
            find_pod(o, at, len);
        if (!*o->job)
            find_job(o, path, at, len);
        at += len + (at[len] == '/');
    }
}

void owner_cgroup(struct owner *o, const char *text)
{
    char line[1024];
    while (*text) {
        size_t len = strcspn(text, "\n");
        size_t n = len < sizeof line - 1 ? len : sizeof line - 1;
        memcpy(line, text, n);
        line[n] = '\0';
        char *path = strchr(line, ':');
        path = path ? strchr(path + 1, ':') : NULL; /* "number:controllers:path" */
        if (path)
            read_path(o, path + 1);
        text += len + (text[len] == '\n');
    }
}

/* ---- the environment ----------------------------------------------------------------------- */

static const char *variable(const char *text, size_t len, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < len; i += strlen(text + i) + 1)
        if (strncmp(text + i, name, n) == 0 && text[i + n] == '=')
            return text + i + n + 1;
    return "";
}

static void clean(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f || *text == '"' ||
            *text == '\\')
            *text = '?';
}

void owner_environment(struct owner *o, const char *text, size_t len)
{
    const char *job = variable(text, len, "SLURM_JOB_ID");
    const char *pod = variable(text, len, "POD_NAME"),
               *space = variable(text, len, "POD_NAMESPACE");
    size_t digits = strspn(job, "0123456789");
    if (!*o->job && digits && !job[digits] && digits < sizeof o->job)
        memcpy(o->job, job, digits + 1);
    if (*pod && strlen(pod) + strlen(space) + 2 < sizeof o->pod_name)
        snprintf(o->pod_name, sizeof o->pod_name, "%.63s%s%.253s", space, *space ? "/" : "", pod);
    clean(o->pod_name);
}

/* ---- the process --------------------------------------------------------------------------- */

/* Returns when the process started, ns since the machine's start: field 22 of stat, which counts
 * ticks. text: with the name in brackets. */
static int64_t start_of(const char *text)
{
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    int64_t second = sysconf(_SC_CLK_TCK);
    return at && second > 0 ? strtoll(at, NULL, 10) * (1000000000 / second) : CELL_NULL;
}

int64_t owner_start(const char *proc, int64_t pid)
{
    char text[1024];
    return read_file(proc, pid, "stat", text, sizeof text) > 0 ? start_of(text) : CELL_NULL;
}

bool owner_read(struct owner *o, const char *proc, int64_t pid)
{
    char text[CGROUP_MOST], path[256];
    struct stat st;
    *o = (struct owner){.start = CELL_NULL, .uid = CELL_NULL};
    if (read_file(proc, pid, "stat", text, sizeof text) <= 0)
        return false;
    o->start = start_of(text);
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (open && close > open)
        snprintf(o->name, sizeof o->name, "%.*s", (int)(close - open - 1), open + 1);
    clean(o->name);
    snprintf(path, sizeof path, "%s/%" PRId64, proc, pid);
    if (stat(path, &st) == 0)
        o->uid = st.st_uid;
    if (read_file(proc, pid, "cgroup", text, sizeof text) > 0)
        owner_cgroup(o, text);
    static _Thread_local char environment[ENVIRONMENT_MOST];
    ssize_t n = read_file(proc, pid, "environ", environment, sizeof environment);
    if (n > 0)
        owner_environment(o, environment, (size_t)n);
    (void)traced_session(proc, pid, o->session, NULL, 0);
    return true;
}
