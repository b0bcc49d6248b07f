"""Text of strangers is shown as it was said, and does nothing: in terminals, Markdown and its sites, and CI."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sshload_operator.api.inert_text import inert_markdown, inert_output, inert_paragraph, printable

NO_SPACE = "&#8203;"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("a\x1b[31mb\tc\nd\x7fe\x85f\u2028g", "a [31mb c d e f g"),
        ("caf\N{LATIN SMALL LETTER E WITH ACUTE} \N{SNOWMAN}", "caf\N{LATIN SMALL LETTER E WITH ACUTE} \N{SNOWMAN}"),
    ],
)
def test_what_is_printable_is_one_line_without_control_characters(said: str, shown: str) -> None:
    assert printable(said) == shown


@pytest.mark.parametrize(
    ("said", "parted"),
    [
        pytest.param("@team", f"@{NO_SPACE}team", id="a mention"),
        pytest.param("a@b.c", f"a@{NO_SPACE}b.c", id="a mail address"),
        pytest.param("#12", rf"\#{NO_SPACE}12", id="an issue"),
        pytest.param("#a", r"\#a", id="no issue"),
        pytest.param("!12", rf"\!{NO_SPACE}12", id="a merge request"),
        pytest.param("GH-12 gh-12", f"GH{NO_SPACE}-12 gh{NO_SPACE}-12", id="another spelling of an issue"),
        pytest.param("HIGH-12 GH-a", "HIGH-12 GH-a", id="no issue either"),
        pytest.param("https://a.b", f"https:{NO_SPACE}//a.b", id="a link"),
        pytest.param("www.a.b WWW.a.b", f"w{NO_SPACE}ww.a.b W{NO_SPACE}WW.a.b", id="a link without a scheme"),
        pytest.param("mailto:a xmpp:b", f"mailto:{NO_SPACE}a xmpp:{NO_SPACE}b", id="links of other schemes"),
        pytest.param("$x$", "&#36;x&#36;", id="a formula"),
        pytest.param("a: b", "a: b", id="a colon"),
    ],
)
def test_what_a_site_would_turn_into_a_link_is_parted(said: str, parted: str) -> None:
    assert inert_markdown(said) == parted


@given(st.text(alphabet=st.sampled_from("\\`*_[]{}<>|#&~!$@:/w.0-1 a"), max_size=20))
def test_markdown_shows_what_was_said(said: str) -> None:
    """Each mark is escaped, and what was put between shows nothing."""
    shown = inert_markdown(said)
    assert unescape(re.sub(r"\\(.)", r"\1", shown.replace(NO_SPACE, ""))) == unescape(said)
    assert re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]{}<>|~!]", shown) is None
    assert all(one in (NO_SPACE, "&#36;") for one in re.findall(r"(?<!\\)&#?\w*;?", shown))


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        pytest.param("- a", f"{NO_SPACE}- a", id="a list"),
        pytest.param("+ a", f"{NO_SPACE}+ a", id="another list"),
        pytest.param("12. a", f"{NO_SPACE}12. a", id="a numbered list"),
        pytest.param("1) a", f"{NO_SPACE}1) a", id="another numbered list"),
        pytest.param("===", f"{NO_SPACE}===", id="the line under a heading"),
        pytest.param("  /close", f"{NO_SPACE}/close", id="a command"),
        pytest.param(":note: a", f"{NO_SPACE}:note: a", id="a directive"),
        pytest.param("12 a", "12 a", id="a number"),
        pytest.param("a - b", "a - b", id="a dash within"),
    ],
)
def test_a_paragraph_begins_no_block(said: str, shown: str) -> None:
    assert inert_paragraph(said) == shown


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        pytest.param("::add-mask::a", ": :add-mask::a", id="a command"),
        pytest.param("a\n \t::group::\n::b", "a\n \t: :group::\n: :b", id="at the beginning of any line"),
        pytest.param("a::b std::c", "a::b std::c", id="within a line it is none"),
        pytest.param(":a", ":a", id="one colon is none"),
        pytest.param("a ##[group]b", "a # #[group]b", id="another one, anywhere"),
        pytest.param("###[error]", "## #[error]", id="after a further mark"),
        pytest.param("##VSO[task] ##teamcity[a]", "# #VSO[task] # #teamcity[a]", id="those of other systems"),
        pytest.param("## a [b] ##2[", "## a [b] ##2[", id="headings are none"),
    ],
)
def test_what_a_ci_system_would_obey_has_a_space_within(said: str, shown: str) -> None:
    assert inert_output(said) == shown
