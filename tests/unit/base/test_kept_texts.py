"""Texts that come again are remembered, unless they are too long to."""

from fleetqueue.base.kept_texts import LENGTH_MAX, kept_texts


def test_what_was_made_of_a_short_text_is_kept() -> None:
    made: list[str] = []

    @kept_texts(2)
    def shout(text: str) -> str:
        made.append(text[:1])
        return text.upper()

    long = "c" * (LENGTH_MAX + 1)
    for text in ("a", "b", "a", long, long):
        assert shout(text) == text.upper()
    assert made == ["a", "b", "c", "c"]
