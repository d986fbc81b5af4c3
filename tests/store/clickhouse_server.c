/* clickhouse_server.c - runs clickhouse-server as an unprivileged user if the test runs as root,
 * with separate configuration and folders, on loopback.
 *
 * A server is a child that the kernel kills with the thread that started it, so that no test
 * leaves one behind. The ports were free a moment ago: if another process has taken one since,
 * the server does not start, and other ports are tried. */
#include "clickhouse_server.h"
#include "child_server.h"

#include "base/alloc.h"
#include "net/client/http_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SERVERS_MAX = 4, TRIES = 5 };

static struct {
    char password[CHILD_PASSWORD_SIZE];
    char binary[PATH_MAX];
    struct child_user user; /* whom they run as */
    unsigned count;
    struct server {
        char folder[PATH_MAX - 64];
        int http, tcp, between; /* ports */
        pid_t pid;              /* 0: it does not run */
    } servers[SERVERS_MAX];
} ch;

static void die(const char *what, unsigned server)
{
    fprintf(stderr, "ClickHouse of the test: %s (%s); its folder is %s\n", what, strerror(errno),
            ch.servers[server].folder);
    exit(1);
}

/* GPUFL_CLICKHOUSE_SERVER names chdb_server.py, which then runs instead, as the test's user. */
static bool binary_find(void)
{
    static const char *const places[] = {"/usr/sbin/clickhouse-server",
                                         "/usr/bin/clickhouse-server"};
    const char *instead = getenv("GPUFL_CLICKHOUSE_SERVER");
    if (instead) {
        snprintf(ch.binary, sizeof ch.binary, "%s", instead);
        if (!getenv("GPUFL_CHDB"))
            puts("GPUFL_CHDB names no libchdb.so: the tests on today's ClickHouse are left out");
        return getenv("GPUFL_CHDB") != NULL;
    }
    ch.user = child_user_find("clickhouse");
    for (size_t i = 0; i < 2; i++)
        if (access(places[i], X_OK) == 0) {
            snprintf(ch.binary, sizeof ch.binary, "%s", places[i]);
            return true;
        }
    puts("ClickHouse is not installed (package clickhouse-server): its tests are left out");
    return false;
}

/* ---- folders and files ----------------------------------------------------------------------- */

static void folder_make(unsigned server)
{
    char *folder = ch.servers[server].folder, here[PATH_MAX - 128];
    if (!getcwd(here, sizeof here))
        die("no current folder", server);
    for (int i = 0; i < 2; i++) { /* home folders of others may be closed on the way */
        snprintf(folder, sizeof ch.servers[0].folder, "%s/clickhouse-XXXXXX", i ? P_tmpdir : here);
        if (!mkdtemp(folder) || !child_own(ch.user, folder))
            die("cannot make a folder", server);
        if (child_reaches(ch.user, folder))
            return;
        rmdir(folder);
    }
    die("its user reaches no folder", server);
}

static FILE *file_make(unsigned server, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", ch.servers[server].folder, name);
    FILE *f = fopen(path, "we");
    if (!f || !child_own(ch.user, path) || chmod(path, 0600))
        die("cannot write its configuration", server);
    return f;
}

static void config_make(unsigned server)
{
    const struct server *s = &ch.servers[server];
    FILE *f = file_make(server, "config.xml");
    fprintf(
        f,
        "<?xml version=\"1.0\"?>\n<yandex>\n"
        "<logger><level>warning</level><log>%s/log</log><errorlog>%s/errors</errorlog></logger>\n"
        "<listen_host>127.0.0.1</listen_host><http_port>%d</http_port><tcp_port>%d</tcp_port>\n"
        "<interserver_http_port>%d</interserver_http_port>\n"
        "<interserver_http_host>127.0.0.1</interserver_http_host>\n"
        "<path>%s/data/</path><tmp_path>%s/data/tmp/</tmp_path>\n"
        "<users_config>%s/users.xml</users_config><timezone>UTC</timezone>\n"
        "<default_profile>default</default_profile><default_database>default</default_database>\n"
        "<mark_cache_size>67108864</mark_cache_size><keep_alive_timeout>60</keep_alive_timeout>\n",
        s->folder, s->folder, s->http, s->tcp, s->between, s->folder, s->folder, s->folder);
    fputs("<remote_servers><shards>\n", f);
    for (unsigned i = 0; i < ch.count; i++)
        fprintf(
            f,
            "<shard><internal_replication>true</internal_replication><replica><host>127.0.0.1"
            "</host><port>%d</port><user>gpufl</user><password>%s</password></replica></shard>\n",
            ch.servers[i].tcp, ch.password);
    fputs("</shards></remote_servers>\n</yandex>\n", f);
    fclose(f);
    f = file_make(server, "users.xml");
    fprintf(f,
            "<?xml version=\"1.0\"?>\n<yandex><profiles><default/><readonly><readonly>1</readonly>"
            "</readonly></profiles>\n<users><gpufl><password>%s</password><networks><ip>127.0.0.1"
            "</ip></networks><profile>default</profile><quota>default</quota></gpufl></users>\n"
            "<quotas><default/></quotas></yandex>\n",
            ch.password);
    fclose(f);
}

static int port_free(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) ||
        getsockname(fd, (struct sockaddr *)&at, &len))
        die("no free port", 0);
    close(fd);
    return ntohs(at.sin_port);
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct body {
    const char *at;
    size_t len;
};

static int64_t read_body(void *arg, char *out, size_t size)
{
    struct body *b = arg;
    size_t n = b->len < size ? b->len : size;
    memcpy(out, b->at, n);
    b->at += n;
    b->len -= n;
    return (int64_t)n;
}

/* The answer's status; 0: no server answers. */
static int ask(unsigned server, const char *sql, struct http_client_answer *a)
{
    char url[64];
    struct http_client *c;
    struct body body = {sql, strlen(sql)};
    snprintf(url, sizeof url, "http://127.0.0.1:%d", ch.servers[server].http);
    const struct http_client_config config = {.url = url,
                                              .agent = "test",
                                              .direct = true,
                                              .connect_timeout = 2000000000,
                                              .stall_timeout = 10000000000};
    const struct http_client_call call = {
        .method = "POST",
        .path = "/",
        .fields = {{"X-ClickHouse-User", "gpufl"}, {"X-ClickHouse-Key", ch.password}},
        .read = read_body,
        .body_size = (int64_t)body.len,
        .arg = &body,
    };
    struct err e = {0};
    if (http_client_open(&c, &config, &e)) {
        fprintf(stderr, "%s\n", e.text);
        exit(1);
    }
    int rc = http_client_send(c, &call, a, &e);
    http_client_close(c);
    return rc ? 0 : a->status;
}

const char *clickhouse_sql(unsigned server, const char *sql)
{
    static char out[1 << 16];
    struct http_client_answer a;
    http_client_answer_init(&a);
    int status = ask(server, sql, &a);
    snprintf(out, sizeof out, "%s", buf_cstr(&a.body));
    size_t len = strlen(out);
    if (len && out[len - 1] == '\n')
        out[len - 1] = '\0';
    http_client_answer_fini(&a);
    if (status != 200) {
        fprintf(stderr, "%s: %s\n", sql, out);
        exit(1);
    }
    return out;
}

/* ---- running --------------------------------------------------------------------------------- */

static void launch(unsigned server)
{
    struct server *s = &ch.servers[server];
    char config[PATH_MAX], log[PATH_MAX];
    snprintf(config, sizeof config, "--config-file=%s/config.xml", s->folder);
    snprintf(log, sizeof log, "%s/output", s->folder);
    char *const argv[] = {ch.binary, config, NULL};
    s->pid = child_start(ch.user, SIGKILL, s->folder, log, ch.binary, argv);
}

/* Waits until the server answers; false if it has ended. */
static bool answers(unsigned server)
{
    struct http_client_answer a;
    bool good = false;
    http_client_answer_init(&a);
    for (time_t end = time(NULL) + 300; !good && time(NULL) < end;) {
        good = ask(server, "SELECT 1", &a) == 200;
        if (good)
            break;
        if (waitpid(ch.servers[server].pid, NULL, WNOHANG) == ch.servers[server].pid) {
            ch.servers[server].pid = 0;
            break;
        }
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    http_client_answer_fini(&a);
    return good;
}

void clickhouse_start(unsigned server)
{
    launch(server);
    if (!answers(server))
        die("it does not start", server);
}

void clickhouse_stop(unsigned server, int signal)
{
    child_end(&ch.servers[server].pid, signal);
}

static bool start_all(void)
{
    bool good = true;
    for (unsigned i = 0; i < ch.count; i++) {
        ch.servers[i].http = port_free();
        ch.servers[i].tcp = port_free();
        ch.servers[i].between = port_free();
    }
    for (unsigned i = 0; i < ch.count; i++)
        config_make(i);
    for (unsigned i = 0; i < ch.count; i++)
        launch(i);
    for (unsigned i = 0; good && i < ch.count; i++)
        good = answers(i);
    for (unsigned i = 0; !good && i < ch.count; i++)
        clickhouse_stop(i, SIGKILL);
    return good;
}

int clickhouse_open(unsigned servers)
{
    if (!binary_find())
        return 1;
    if (!child_password(ch.password))
        die("no random bytes", 0);
    ch.count = servers;
    for (unsigned i = 0; i < servers; i++)
        folder_make(i);
    for (int i = 0; i < TRIES; i++)
        if (start_all())
            return 0;
    die("it does not start", 0);
    return 1;
}

void clickhouse_close(void)
{
    for (unsigned i = 0; i < ch.count; i++) {
        clickhouse_stop(i, SIGKILL);
        child_remove(ch.servers[i].folder);
    }
}

/* ---- what it is ------------------------------------------------------------------------------ */

void clickhouse_url(unsigned n, const char *prefix, char *out, size_t size)
{
    int at = snprintf(out, size, "clickhouse://gpufl:%s@", ch.password);
    for (unsigned i = 0; i < n; i++)
        at += snprintf(out + at, size - (size_t)at, "%s127.0.0.1:%d", i ? "," : "",
                       ch.servers[i].http);
    snprintf(out + at, size - (size_t)at, "/%s%s", prefix, n > 1 ? "?cluster=shards" : "");
}

int clickhouse_pid(unsigned server)
{
    return ch.servers[server].pid;
}

const char *clickhouse_password(void)
{
    return ch.password;
}

static long long bytes;

static int add_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)path;
    (void)ftw;
    bytes += type == FTW_F ? (long long)st->st_blocks * 512 : 0;
    return 0;
}

long long clickhouse_disk(unsigned server)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/data", ch.servers[server].folder);
    bytes = 0;
    nftw(path, add_one, 32, FTW_PHYS);
    return bytes;
}
