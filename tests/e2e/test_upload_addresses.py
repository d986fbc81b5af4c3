"""Whereto `gpufl upload` sends, and with which key: addresses, proxies and redirects; the key goes to the named server alone.

    test_upload_addresses.py GPUFL
"""
import subprocess
import sys
import unittest

from upload_case import ENV, GPUFL, KEY, Case, Proxy


class Keys(Case):
    def test_key_from_a_file_or_the_environment_and_in_no_output(self):
        self.session(kernels=100)
        self.server.key = KEY
        file = self.dir / "key"
        file.write_text(KEY + "\nnot this\n")
        file.chmod(0o600)
        run = self.upload("--api-key-file", file)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn(KEY, run.stdout + run.stderr)
        run = self.upload("--force", env={"GPUFL_API_KEY": KEY})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn(KEY, run.stdout + run.stderr)

    def test_a_key_file_that_others_can_read_is_reported(self):
        self.session(kernels=100)
        file = self.dir / "key"
        file.write_text(KEY)
        file.chmod(0o644)
        self.assertIn("chmod 600", self.upload("--api-key-file", file).stderr)

    def test_addresses_that_are_none(self):
        self.session(kernels=10)
        for url, word in (("ftp://x", "http:// or https://"), ("http://me:secret@x", "must not contain"),
                          ("https://", "names no server"), ("http://a b", "spaces"), ("http://x/?a", "ends before")):
            run = self.upload(server=url)
            self.assertEqual(run.returncode, 2)
            self.assertIn(word, run.stderr)
            self.assertNotIn("secret", run.stderr)

    def test_https_is_meant_where_no_scheme_is_named(self):
        self.session(kernels=10)
        run = self.upload_within(server=self.server.url.removeprefix("http://"))
        self.assertEqual(run.returncode, 2)
        self.assertIn("https://127.0.0.1", run.stderr)

    def test_no_server_named(self):
        run = subprocess.run([GPUFL, "upload", self.dir], env=ENV, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertIn("GPUFL_BACKEND_URL", run.stderr)

    def test_a_redirect_gets_no_key(self):
        """The key goes to no other address, even of this machine: what listens there may be somebody else's."""
        self.session(kernels=100)
        for status in (301, 302, 303, 307, 308):
            other = Proxy()
            self.server.script = [{"status": status, "headers": {"Location": other.url + "/api/v1/events/stream"}}]
            run = self.upload(env={"GPUFL_API_KEY": KEY})
            self.assertEqual(run.returncode, 2)
            self.assertIn("sends elsewhere", run.stderr)
            self.assertEqual(other.close(), [])


class Proxies(Case):
    """The environment says which proxy is asked; for this machine none is."""

    def through(self, server, *args, status="502 Bad Gateway", login="", **env):
        """The run, and what the proxy was asked."""
        proxy = Proxy(status)
        url = proxy.url.replace("http://", "http://" + login)
        env = {"GPUFL_API_KEY": KEY, "http_proxy": url, "https_proxy": url, "all_proxy": url, **env}
        run = self.upload_within(*args, server=server, env=env)
        self.assertNotIn(KEY, run.stdout + run.stderr)
        self.shown = proxy.url
        return run, proxy.close()

    def test_a_server_on_this_machine_is_asked_directly(self):
        folder = self.session(kernels=100)
        self.server.key = KEY
        port = self.server.server_port
        for host in ("127.0.0.1", "localhost", "127.1"):
            run, asked = self.through(f"http://{host}:{port}", "--force", "--time-limit", "60s")
            self.assertEqual((run.returncode, asked), (0, []), run.stderr)
            self.assertNotIn("unencrypted", run.stderr)
        self.assert_arrived(folder)

    def test_nobody_on_this_machine_is_no_reason_to_ask_a_proxy(self):
        self.session(kernels=10)
        for url in ("http://127.0.0.1:1", "http://localhost:1", "http://gpu.localhost:1", "http://[::1]:1",
                    "https://127.0.0.1:1", "http://[::1%25lo]:1", "http://[::1%lo]:1", "http://[::ffff:127.0.0.1]:1",
                    "http://127%2e0.0.1:1", "http://loc%61lhost:1", "http://0x7f.1:1", "http://2130706433:1",
                    "http://0:1"):
            run, asked = self.through(url, "--unreachable", "200ms")
            self.assertEqual((run.returncode, asked), (2, []), run.stderr)
            self.assertNotIn("proxy", run.stderr)

    def test_letters_that_libcurl_rewrites_go_through_no_proxy(self):
        self.session(kernels=10)
        for url in ("http://ｌｏｃａｌｈｏｓｔ:1", "http://127。0。0。1:1"):
            run, asked = self.through(url)
            self.assertEqual((run.returncode, asked), (2, []), run.stderr)
            self.assertIn("through a proxy the server's name has to be written in ASCII", run.stderr)

    def test_http_through_a_proxy_is_in_the_clear_and_the_proxy_is_named(self):
        self.session(kernels=10)
        run, asked = self.through("http://gpufl.example.org", login="me:secret@")
        self.assertEqual(run.returncode, 2)
        self.assertIn(f"unencrypted, through the proxy {self.shown}; https:// would hide it", run.stderr)
        self.assertIn(f"the server or the proxy {self.shown} answers 502", run.stderr)
        self.assertNotIn("secret", run.stdout + run.stderr)
        self.assertIn("GET http://gpufl.example.org/api/v1/", asked[0])
        self.assertIn("Authorization: Bearer " + KEY, asked[0])

    def test_https_through_a_proxy_shows_it_no_key(self):
        self.session(kernels=10)
        run, asked = self.through("https://gpufl.example.org", status="403 Forbidden")
        self.assertEqual(run.returncode, 2)
        self.assertNotIn("unencrypted", run.stderr)
        self.assertIn(f"https://gpufl.example.org (through the proxy {self.shown})", run.stderr)
        self.assertTrue(asked[0].startswith("CONNECT gpufl.example.org:443 "), asked[0])
        self.assertNotIn(KEY, "".join(asked))

    def test_a_proxy_that_wants_a_password(self):
        self.session(kernels=10)
        run, _ = self.through("http://gpufl.example.org", status="407 Proxy Authentication Required")
        self.assertEqual(run.returncode, 2)
        self.assertIn(f"the proxy {self.shown} asks for a name and a password (407)", run.stderr)

    def test_a_proxy_that_is_not_there_is_named(self):
        self.session(kernels=10)
        run = self.upload_within(server="http://gpufl.example.org", env={"http_proxy": "me:secret@127.0.0.1:1"})
        self.assertEqual(run.returncode, 2)
        self.assertIn("(through the proxy http://127.0.0.1:1)", run.stderr)
        self.assertNotIn("secret", run.stderr)

    def test_hosts_that_are_excepted(self):
        self.session(kernels=10)
        run, asked = self.through("http://gpufl.invalid", no_proxy="example.org,invalid")
        self.assertEqual((run.returncode, asked), (2, []))
        self.assertIn("the key goes to http://gpufl.invalid unencrypted; ", run.stderr)


class Addresses(Case):
    def test_the_api_path_belongs_to_no_address_and_does_no_harm(self):
        """People copy the address of a request, with its path."""
        for tail in ("", "/", "/api/v1", "/api/v1/"):
            folder = self.session(kernels=100)
            code, result, err = self.result(server=self.server.url + tail)
            self.assertEqual(code, 0, err)
            self.assertEqual(result["server"], self.server.url)
            self.assert_arrived(folder)
            self.assertEqual({path.startswith("/api/v1/") and "/api/v1/api" not in path
                              for _, path, _ in self.server.requests}, {True})

    def test_another_api_path(self):
        self.session(kernels=10)
        self.upload("--api-path", "/v2/", "--time-limit", "5s", server=self.server.url + "/base/v2")
        self.assertEqual(self.server.requests[0][1].split("/sessions")[0], "/base/v2")
        self.server.requests.clear()
        self.upload("--api-path", "/v2", "--time-limit", "5s", server=self.server.url + "/api/v1")
        self.assertEqual(self.server.requests[0][1].split("/sessions")[0], "/api/v1/v2")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1)
