"""A turn as a chat request: interleaved text and images, with the images as data URLs."""

from __future__ import annotations

import asyncio
import base64
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from known_unknowns.engines.endpoint.settings import ImageSettings
from known_unknowns.images import open_image
from known_unknowns.records import Image, Turn

CACHE_SIZE = 8
"""Number of encoded images kept for later questions about them."""


@dataclass(frozen=True, slots=True)
class SentImage:
    """An image as sent. ``sha256`` is that of the encoded file, which the endpoint decodes."""

    url: str
    sha256: str


class ImageEncoder:
    """Encodes images outside the event loop, each once for all questions that need it meanwhile.

    At most `CACHE_SIZE` images, and those of the questions under way, are in memory. Raises DataError for an unreadable
    image.
    """

    def __init__(self, folder: Path, settings: ImageSettings) -> None:
        self._folder, self._settings = folder, settings
        self._encoded: OrderedDict[Image, asyncio.Task[SentImage]] = OrderedDict()

    async def get(self, image: Image) -> SentImage:
        task = self._encoded.get(image)
        if task is None:
            task = asyncio.create_task(asyncio.to_thread(encode, image, self._folder, self._settings))
            self._encoded[image] = task
        self._encoded.move_to_end(image)
        while len(self._encoded) > CACHE_SIZE:
            self._encoded.popitem(last=False)
        return await asyncio.shield(task)  # other questions may wait for the same image


def encode(image: Image, folder: Path, settings: ImageSettings) -> SentImage:
    """Return an image's RGB pixels, which are the same for every engine, as a PNG or JPEG file without metadata."""
    file = BytesIO()
    pixels = open_image(image, folder)
    if settings.format == "jpeg":
        pixels.save(file, "JPEG", quality=settings.quality, subsampling=0)
    else:
        pixels.save(file, "PNG")
    data = file.getvalue()
    url = f"data:image/{settings.format};base64,{base64.b64encode(data).decode('ascii')}"
    return SentImage(url, sha256(data).hexdigest())


async def messages(
    turn: Turn, encoder: ImageEncoder, *, system: str | None, detail: str | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the messages of a chat request, and the sha256 of each image as sent, in order."""
    parts: list[dict[str, Any]] = []
    hashes: list[str] = []
    for part in turn.content:
        if isinstance(part, str):
            parts.append({"type": "text", "text": part})
        else:
            sent = await encoder.get(part)
            hashes.append(sent.sha256)
            url = {"url": sent.url} | ({"detail": detail} if detail else {})
            parts.append({"type": "image_url", "image_url": url})
    # Text alone is sent as a string, which text-only endpoints accept too.
    content = parts if hashes else "\n".join(part["text"] for part in parts)
    user = {"role": "user", "content": content}
    return [*([{"role": "system", "content": system}] if system else []), user], hashes
