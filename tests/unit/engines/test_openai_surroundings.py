"""Proxies, certificates and keys of the environment, each of which is named if it is at fault."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from known_unknowns.errors import ConfigError, MachineError
from tests.servers.client import ask, turn
from tests.servers.endpoint import Endpoint, answer_to

ELSEWHERE = "https://endpoint.invalid/v1"


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in ("all_proxy", "http_proxy", "https_proxy", "no_proxy", "ssl_cert_file"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("HTTPS_PROXY", "gopher://user:hidden@host", "proxy in HTTPS_PROXY is no address"),
        ("ALL_PROXY", "gopher://user:hidden@host", "proxy in ALL_PROXY is no address"),
        ("SSL_CERT_FILE", "/nonexistent/file", "certificates in SSL_CERT_FILE cannot be read .*No such file"),
        ("SSL_CERT_FILE", "/dev/null", "certificates in SSL_CERT_FILE cannot be read"),
    ],
)
@pytest.mark.parametrize("check_served", [True, False])
def test_a_variable_that_no_client_can_use_is_named(variable, value, told, check_served, monkeypatch):
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=told) as raised:
        ask(ELSEWHERE, [turn("q1")], check_served=check_served, max_retries=0)
    assert "hidden" not in str(raised.value)


def test_a_socks_proxy_without_its_package_is_named(monkeypatch):
    try:
        import socksio  # noqa: F401
    except ImportError:
        monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
        with pytest.raises(ConfigError, match=r"ALL_PROXY is a SOCKS proxy.*pip install socksio"):
            ask(ELSEWHERE, [turn("q1")])
    else:
        pytest.skip("the package is installed")


@pytest.mark.parametrize("check_served", [True, False])
def test_a_dead_proxy_is_named(check_served, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with pytest.raises(MachineError, match="through the proxy in HTTPS_PROXY"):
        ask(ELSEWHERE, [turn("q1")], check_served=check_served, max_retries=0, patience=0.2)


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9", "gopher://x"])
def test_an_endpoint_of_this_machine_is_reached_without_a_proxy(proxy, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("ALL_PROXY", proxy)
    with Endpoint() as server:
        assert ask(server.url, [turn("q1")])[0].text == answer_to("q1")
        assert ask(server.url.replace("127.0.0.1", "localhost"), [turn("q1")])[0].text == answer_to("q1")


@pytest.mark.parametrize("check_served", [True, False])
def test_a_certificate_that_is_not_accepted_is_named_at_once(check_served, tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "1"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(ConfigError, match=r"certificate of the endpoint is not accepted .*SSL_CERT_FILE"):
            ask(f"https://127.0.0.1:{server.server_port}/v1", [turn("q1")], check_served=check_served)
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("space", ["\n", " ", "\r\n"])
def test_space_around_a_key_is_no_part_of_it(space, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f"{space}sk-test-0123456789{space}")
    with Endpoint() as server:
        ask(server.url, [turn("q1")])
        assert {request.headers["authorization"] for request in server.log} == {"Bearer sk-test-0123456789"}


@pytest.mark.parametrize("key", ["\u201csk-test\u201d", "sk-test\nsk-other", "sk-t\u00e9st"])
def test_a_character_that_no_key_has_is_named(key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with Endpoint() as server, pytest.raises(ConfigError, match="key in OPENAI_API_KEY has a character") as raised:
        ask(server.url, [turn("q1")])
    assert "sk-t" not in str(raised.value)
