"""What lies between this process and an endpoint: proxies and certificates, which variables of the environment name."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from known_unknowns.errors import ConfigError

_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_ANY_PROXY = "ALL_PROXY"


def is_loopback(address: str) -> bool:
    """Whether an address is on this machine."""
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def proxy_variable(address: str) -> str | None:
    """Return the name of the variable whose proxy is used for an address; None if none is. Its value may be secret."""
    parts = urlsplit(address)
    if is_loopback(address) or proxy_bypass(parts.hostname or ""):
        return None
    return _first_set(f"{parts.scheme}_proxy".upper(), _ANY_PROXY)


def through(address: str) -> str:
    """Return " through the proxy in VARIABLE" for a message, or nothing."""
    variable = proxy_variable(address)
    return f" through the proxy in {variable}" if variable else ""


@contextmanager
def named(path: str) -> Iterator[None]:
    """Name the variable because of which a client cannot be created, in an error for the key ``path``."""
    try:
        yield
    except ImportError:
        variable = _first_set(_ANY_PROXY, "HTTPS_PROXY", "HTTP_PROXY")
        text = f"the proxy in {variable} is a SOCKS proxy, which needs a package: pip install socksio"
        raise ConfigError(text, path=path) from None
    except OSError as error:  # that of ssl included
        variable = _first_set(*_CERTIFICATES)
        if variable is None:
            raise
        text = f"the certificates in {variable} cannot be read ({error.strerror or error}); correct or unset it"
        raise ConfigError(text, path=path) from None
    except ValueError:
        variable = _first_set(_ANY_PROXY, "HTTPS_PROXY", "HTTP_PROXY")
        if variable is None:
            raise
        text = f"the proxy in {variable} is no address such as http://HOST:PORT; correct or unset it"
        raise ConfigError(text, path=path) from None


def raise_for_certificate(error: BaseException, path: str) -> None:
    """Raise ConfigError if a connection failed because of the endpoint's certificate: it fails again every time."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise ConfigError(
                f"the certificate of the endpoint is not accepted ({cause.verify_message}); if your network or server "
                "has an authority of its own, set SSL_CERT_FILE to its certificate",
                path=path,
            ) from None
        cause = cause.__cause__ or cause.__context__


def _first_set(*names: str) -> str | None:
    spellings = (spelling for name in names for spelling in (name.lower(), name))
    return next((spelling for spelling in spellings if os.environ.get(spelling)), None)
