"""Generated hostile text for the tests of renderings."""

from hypothesis import strategies as st

PIECES = (
    "::", "##[", "[", "]", "(", ")", "error", " ", "\n", "\r\n", "\t", "\x1b[31m", "\x00", "\u202e", "\u200b",
    "\udcff", "\ud800", "👩", "`", "```", "~~~", "|", "\\", "<b>", "</details>", "<!--", "-->", "&#64;", "@user",
    "#1", "GH-1", "http://a.b", "www.a.b", "![x](y)", "*", "_", "~~", "$", ":smile:", "- ", "1. ", "# ", "> ", "===",
    "'", '"', "%", ",", ":", "word", "<!-- ml-audit:v1 key=x -->", "{{ 7*7 }}", "a`b", "\u2028",
)  # fmt: skip
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
)
