/* cut_proxy.h - a proxy to a server on loopback that can lose answers: the request reaches
 * the server, and the connection breaks before the answer. One request at a time on
 * a connection. */
#ifndef GPUFL_TESTS_STORE_CUT_PROXY_H
#define GPUFL_TESTS_STORE_CUT_PROXY_H

/* Returns the port to ask instead. */
int cut_proxy_open(int port);
void cut_proxy_close(void);

/* Passes so many answers from now on, then loses so many; after: -1 loses none. */
void cut_proxy_cut(int after, int times);

#endif
