/* cut_proxy.c - see cut_proxy.h. A thread for the connections' arrival, and one for each. */
#include "cut_proxy.h"

#include "base/process/thread.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
    int listener, port; /* the proxy's port; the server's */
    struct thread thread;
    pthread_mutex_t lock;
    int after, times; /* guarded by lock */
    _Atomic bool stop;
    _Atomic int open; /* connections */
} proxy = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                .sin_port = htons((uint16_t)port)};
}

/* Returns true if the answer that begins now is to be lost. */
static bool is_lost(void)
{
    pthread_mutex_lock(&proxy.lock);
    bool lost = proxy.after == 0 && proxy.times > 0;
    if (lost)
        proxy.times--;
    else if (proxy.after > 0)
        proxy.after--;
    pthread_mutex_unlock(&proxy.lock);
    return lost;
}

static bool pass(int from, int to)
{
    char room[1 << 16];
    ssize_t n = read(from, room, sizeof room);
    for (ssize_t done = 0, m; n > 0 && done < n; done += m)
        if ((m = send(to, room + done, (size_t)(n - done), MSG_NOSIGNAL)) <= 0)
            return false;
    return n > 0;
}

static void *serve(void *arg)
{
    int client = (int)(intptr_t)arg, server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = loopback(proxy.port);
    bool asked = false, good = !connect(server, (struct sockaddr *)&at, sizeof at);
    while (good && !proxy.stop) {
        struct pollfd ends[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
        poll(ends, 2, 100);
        if (ends[0].revents) {
            good = pass(client, server);
            asked = true;
        } else if (ends[1].revents) {
            if (asked && is_lost())
                break; /* the server has done it, and the client does not learn so */
            asked = false;
            good = pass(server, client);
        }
    }
    close(client);
    close(server);
    proxy.open--;
    return NULL;
}

static void *take_all(void *arg)
{
    (void)arg;
    while (!proxy.stop) {
        struct pollfd end = {proxy.listener, POLLIN, 0};
        pthread_t thread;
        if (poll(&end, 1, 100) <= 0)
            continue;
        int client = accept4(proxy.listener, NULL, NULL, SOCK_CLOEXEC);
        proxy.open++;
        if (client < 0 || pthread_create(&thread, NULL, serve, (void *)(intptr_t)client))
            abort();
        pthread_detach(thread);
    }
    return NULL;
}

int cut_proxy_open(int port)
{
    struct sockaddr_in at = loopback(0);
    socklen_t len = sizeof at;
    proxy.port = port;
    proxy.after = -1;
    proxy.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(proxy.listener, (struct sockaddr *)&at, len) || listen(proxy.listener, 16) ||
        getsockname(proxy.listener, (struct sockaddr *)&at, &len) ||
        thread_start(&proxy.thread, "proxy", 0, take_all, NULL)) {
        perror("a proxy of the test");
        exit(1);
    }
    return ntohs(at.sin_port);
}

void cut_proxy_cut(int after, int times)
{
    pthread_mutex_lock(&proxy.lock);
    proxy.after = after;
    proxy.times = times;
    pthread_mutex_unlock(&proxy.lock);
}

void cut_proxy_close(void)
{
    proxy.stop = true;
    thread_join(&proxy.thread);
    while (proxy.open)
        sched_yield();
    close(proxy.listener);
}
