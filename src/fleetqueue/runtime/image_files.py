"""The image table as users write it: a YAML file with `images`, `environments` and `default`."""

from fleetqueue.base import documents
from fleetqueue.errors import InvalidInput
from fleetqueue.runtime.images import ImageTable

FIELDS = ("default", "environments", "images")


def read_images(text: str, source: str = "the file") -> ImageTable:
    """Raises InvalidInput that names the file and the place in it."""
    try:
        settings = documents.load(text.encode()) or {}
    except ValueError as error:
        raise InvalidInput(f"{source} is no YAML: {error}") from error
    if not isinstance(settings, dict):
        raise InvalidInput(f"{source} must have the fields {', '.join(FIELDS)}")
    for unknown in sorted(set(settings) - set(FIELDS)):
        raise InvalidInput(
            f'{source} has the unknown field "{unknown}": it may have {", ".join(FIELDS)}'
        )
    try:
        return ImageTable.load(settings)
    except InvalidInput as error:
        raise InvalidInput(f"{source}: {error}") from error
