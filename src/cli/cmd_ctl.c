/* cmd_ctl.c - `gpufl ctl`: tells a running session what to do, through its control socket. */
#include "capture/windows/control.h"
#include "cli/cmd.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { NAME_MOST = 256, PATIENCE_S = 10 };

static const struct cmd_text text = {
    .name = "ctl",
    .synopsis = "PID window open|close|status [NAME]\n",
    .about = "Opens and closes windows of capture in a running program whose session has them\n"
             "(gpufl trace --windows, --after, --in-scope, ...), and says what is open.\n"
             "Prints the session's answer, a line of JSON. Only the user whose program it is\n"
             "can do that.\n",
    .more = "Examples:\n"
            "  gpufl ctl 4711 window open           record from here on\n"
            "  gpufl ctl 4711 window close          and stop\n"
            "  gpufl ctl 4711 window status\n",
};

/* Says why nobody answers at a socket: the process is gone, its number belongs to another process,
 * or it accepts no commands. */
static int no_answer(pid_t pid, int error, const char *path, struct err *e)
{
    bool lives = kill(pid, 0) == 0 || errno == EPERM;
    if (error == ECONNREFUSED) /* nobody listens any more */
        unlink(path);
    if (!lives)
        return err_set(e, GPUFL_E_NOENT,
                       "there is no process %d: it has ended, or runs in another container",
                       (int)pid);
    if (error == ECONNREFUSED)
        return err_set(e, GPUFL_E_NOENT,
                       "the session of process %d has ended; the process that has this number now "
                       "accepts no commands",
                       (int)pid);
    if (error == ENOENT)
        return err_set(e, GPUFL_E_NOENT,
                       "process %d accepts no commands at %.100s: its session has to have windows "
                       "(gpufl trace --windows), and to be of this user",
                       (int)pid, path);
    return err_set_vendor(e, err_from_errno(error), error, "process %d does not answer at %.100s",
                          (int)pid, path);
}

static int reach(pid_t pid, struct err *e)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct timeval most = {.tv_sec = PATIENCE_S};
    int rc = control_path(pid, false, at.sun_path, sizeof at.sun_path, e);
    if (rc)
        return rc;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && !connect(fd, (const struct sockaddr *)&at, sizeof at) &&
        !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most))
        return fd;
    rc = errno;
    if (fd >= 0)
        close(fd);
    return no_answer(pid, rc, at.sun_path, e);
}

/* Prints the answer; CMD_FAILED if the answer is an error. */
static int ask(int fd, const char *request)
{
    char line[2048];
    size_t n = 0;
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
        return cmd_fail("ctl", "the session does not listen: %s", strerror(errno));
    for (ssize_t got = 1; n + 1 < sizeof line && got > 0; n += got > 0 ? (size_t)got : 0)
        got = recv(fd, line + n, sizeof line - 1 - n, 0);
    line[n] = '\0';
    if (!strchr(line, '\n'))
        return cmd_fail("ctl", "the session did not answer: it serves this user and root only, and "
                               "ends with its program");
    fputs(line, stdout);
    int rc = cmd_finish_output("ctl");
    return rc ? rc : strncmp(line, "{\"code\":0,", 10) == 0 ? CMD_OK : CMD_FAILED;
}

int cmd_ctl(int argc, char **argv)
{
    static const char *const verbs[] = {"open", "close", "status"};
    const struct opt table[] = {{0}};
    char request[NAME_MOST + 32], *end;
    struct err e = {0};
    int operands = 0, verb = 0;
    if (argc > 1 && argv[1][0] == '-' && isdigit((unsigned char)argv[1][1]))
        return cmd_usage("ctl", "'%s' is no process id", argv[1]);
    int rc = cmd_parse(&text, table, 0, argc, argv, &operands);
    if (rc != CMD_CONTINUE)
        return rc;
    if (operands < 3 || operands > 4 || strcmp(argv[2], "window") != 0)
        return cmd_usage("ctl", "it takes PID window open|close|status [NAME]");
    long pid = strtol(argv[1], &end, 10);
    while (verb < 3 && strcmp(argv[3], verbs[verb]) != 0)
        verb++;
    const char *name = operands == 4 ? argv[4] : "";
    if (*end || pid < 1 || pid > INT32_MAX)
        return cmd_usage("ctl", "'%s' is no process id", argv[1]);
    if (verb == 3 || (verb == 2 && *name))
        return cmd_usage("ctl", "window takes open [NAME], close [NAME] or status, not '%s'",
                         argv[3]);
    if (strlen(name) >= NAME_MOST || strchr(name, '\n'))
        return cmd_usage("ctl", "a window's name is one line of less than %d bytes", NAME_MOST);
    int fd = reach((pid_t)pid, &e);
    if (fd < 0)
        return cmd_fail("ctl", "%s", e.text);
    snprintf(request, sizeof request, "window %s%s%s\n", verbs[verb], *name ? " " : "", name);
    rc = ask(fd, request);
    close(fd);
    return rc;
}
