"""A turn as a chat request: interleaved text and pictures, the pictures as data URLs."""

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

KEPT = 8
"""So many encoded pictures are kept for the next questions on them: a benchmark asks several about each."""


@dataclass(frozen=True, slots=True)
class SentImage:
    """A picture as it goes out. ``sha256`` is of the encoded file, which the endpoint decodes."""

    url: str
    sha256: str


class Pictures:
    """Encodes pictures off the event loop, each once for all that ask for it meanwhile.

    At most `KEPT` and those being asked about are in memory. Raises DataError for a picture that cannot be read.
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
        while len(self._encoded) > KEPT:
            self._encoded.popitem(last=False)
        return await asyncio.shield(task)  # others may wait for it too


def encode(image: Image, folder: Path, settings: ImageSettings) -> SentImage:
    """The RGB pixels that every engine sees, as a PNG or a JPEG file without any metadata, in a data URL."""
    file = BytesIO()
    picture = open_image(image, folder)
    if settings.format == "jpeg":
        picture.save(file, "JPEG", quality=settings.quality, subsampling=0)
    else:
        picture.save(file, "PNG")
    data = file.getvalue()
    url = f"data:image/{settings.format};base64,{base64.b64encode(data).decode('ascii')}"
    return SentImage(url, sha256(data).hexdigest())


async def messages(
    turn: Turn, pictures: Pictures, *, system: str | None, detail: str | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """The messages of a chat request, and the sha256 of each picture as sent, in order."""
    parts: list[dict[str, Any]] = []
    hashes: list[str] = []
    for part in turn.content:
        if isinstance(part, str):
            parts.append({"type": "text", "text": part})
        else:
            sent = await pictures.get(part)
            hashes.append(sent.sha256)
            url = {"url": sent.url} | ({"detail": detail} if detail else {})
            parts.append({"type": "image_url", "image_url": url})
    # Text alone goes as a string, which endpoints of text models take as well.
    content = parts if hashes else "\n".join(part["text"] for part in parts)
    user = {"role": "user", "content": content}
    return [*([{"role": "system", "content": system}] if system else []), user], hashes
