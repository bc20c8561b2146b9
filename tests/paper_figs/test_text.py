"""Texts and formulas as they leave the house: shown, and nothing else; what is no formula is refused."""

import csv
import math
import re
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dpregret.core.errors import ConfigError, printable
from dpregret.paper_figs.judge import vocabulary
from dpregret.paper_figs.judge.fits import Estimate
from dpregret.paper_figs.judge.vocabulary import Rate, parse
from dpregret.paper_figs.report.findings import read_captioned
from dpregret.paper_figs.text import formats, formula
from dpregret.paper_figs.text.escaping import shielded, tex
from dpregret.paper_figs.text.formula import marked_up, unicode

EVIL = [
    "=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "'=1", "''=1", "＝1", "-1|cmd", "-1 [1, 2]+cmd", "=",
    "\n=1", "<script>alert(1)</script>", "</script>", "<!-- table-1:end -->", "[a](javascript:alert(1))", "![a](b)",
    "`a`", "a|b", "a\\|b", "\\", "&lt;b&gt;", "**a**", "__a__", "_a_", "~a~", "www.a.b", "https://a.b", "<https://a.b>",
    "[a]: b", "\\input{a}", "a\\\\b", "$a$", "%a", "a & b", "~ ^ ^^5c", "a\x1b[2Jb", "a\u202eb", "\u2028", "\x00",
    "\n\n# a", "\"a\",b", "", "nan", "# a", "> a", "- a", "+ a", "1. a", "2) a", "---", "| a |", "a\n===", "a\n|-|",
]  # fmt: skip
REFERENCE = Path(__file__).parents[2] / "results/reference"
HARMLESS = ["-", "-1", "+1.5e-3", "-0.52 [-0.6, -0.4] (of dR/dlnT)", "-0.15; 0.08; -1", "-inf", "a-b", "1"]
any_text = st.lists(st.sampled_from(EVIL), min_size=1, max_size=4).map("".join) | st.text(st.characters(codec="utf-8"))
few = settings(max_examples=25)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("neutral")


@few
@given(any_text, any_text)
def test_cells_of_a_csv_are_no_formulas_and_are_read_back(folder: Path, one: str, other: str) -> None:
    frame = pd.DataFrame({"a": [one, other], "n": [-1.5, 2.0]})
    formats.write_csv(frame, folder / "x.csv")
    with (folder / "x.csv").open(newline="", encoding="utf-8") as file:
        cells = [row[0] for row in csv.reader(file)][1:]
    for cell, text in zip(cells, (one, other), strict=True):
        assert cell.lstrip()[:1] not in set("=+-@＝＋－＠") or re.fullmatch(r"-|[-+][\d.;,\[\] e+-]*|[-+]inf.*", cell)
        assert all(each.isprintable() or each == "\n" for each in cell), text
    back = formats.read_csv(folder / "x.csv", dtype={"a": str}, keep_default_na=False)
    assert back["a"].tolist() == [printable(one), printable(other)]
    assert back["n"].tolist() == [-1.5, 2.0]


def test_a_whole_number_of_a_csv_has_all_its_digits(tmp_path: Path) -> None:
    """A horizon is no measurement: 2^24 is not 16777200, whatever else stands in its column."""
    written = pd.DataFrame({"x": [2.0**24, -4194304.0, 2.0**53 - 1, 0.0, 1234567.5, 2.0**53, math.nan, -math.inf]})
    formats.write_csv(written, tmp_path / "x.csv")
    lines = (tmp_path / "x.csv").read_text().split()
    assert lines == ["x", "16777216", "-4194304", "9007199254740991", "0", "1.23457e+06", "9.0072e+15", '""', "-inf"]


@pytest.mark.parametrize(("count", "said"), [(1000, "c0"), (1001, "1: 1001 cells"), (100_000, "1: 100000 cells")])
def test_a_table_of_too_many_columns_is_refused_at_once(count: int, said: str, tmp_path: Path) -> None:
    """And equal names are found without comparing each with each."""
    (tmp_path / "wide.csv").write_text(",".join([*(f"c{at}" for at in range(count - 1)), "c0"]) + "\n")
    with pytest.raises(formats.DamageError, match=said):
        formats.read_table(tmp_path / "wide.csv", formats.Form(["c1"]))


@pytest.mark.parametrize("text", HARMLESS)
def test_numbers_and_dashes_stay_as_they_are(text: str) -> None:
    assert shielded(text) == text


@pytest.mark.parametrize(
    ("estimate", "decimals", "digits"),
    [
        ((0.5812, 0.5809, 0.5815), "0.581 [0.581, 0.582]", "0.581 [0.581, 0.582]"),
        ((0.58, 0.52, 0.61), "0.58 [0.52, 0.61]", "0.58 [0.52, 0.61]"),
        ((1.0, 1.0, 1.0), "1.00 (no spread)", "1 (no spread)"),
        ((-1.03148, -1.03149, -1.03147), "-1.03148 [-1.03149, -1.03147]", "-1.03148 [-1.03149, -1.03147]"),
        ((58863.2, 58863.0, 58863.4), "58863.20 (no spread)", "58863 (no spread)"),
        ((7012.0, 7011.8, 7012.2), "7012.00 [7011.80, 7012.20]", "7012 [7012, 7012]"),
        ((0.5, math.nan, math.nan), "0.50 [-, -]", "0.5 [-, -]"),
        ((8.98e-8, 7.66e-8, 1.03e-7), "0.00 (no spread)", "8.98e-08 [7.66e-08, 1.03e-07]"),
        ((0.0, 0.0, 0.0), "0.00 (no spread)", "0 (no spread)"),
        ((8.98e-8, 8.98e-8, 8.98e-8), "0.00 (no spread)", "8.98e-08 (no spread)"),
    ],
)
def test_an_interval_shows_its_ends_or_says_that_it_has_none(
    estimate: tuple[float, float, float], decimals: str, digits: str
) -> None:
    assert formats.with_interval(Estimate(*estimate)) == decimals
    assert formats.significant_interval(Estimate(*estimate)) == digits
    assert shielded(decimals) == decimals


def test_small_numbers_in_a_unit_are_narrow_by_their_own_size() -> None:
    regret = Estimate(0.06, 0.059997, 0.060003)
    assert (formats.with_interval(regret, 1), formats.with_interval(regret, 1, least=0.0)) == (
        "0.1 (no spread)",
        "0.060000 [0.059997, 0.060003]",
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [(4.0, "4.00"), (0.5, "0.500"), (123.4, "123"), (999.6, "1000"), (58863.2, "58863"), (1e-9, "1.00e-09"),
     (0.0, "0.00"), (2.5e7, "2.5e+07"), (math.inf, "inf"), (math.nan, "-")],
)  # fmt: skip
def test_numbers_of_a_column_have_equally_many_digits(number: float, text: str) -> None:
    assert formats.all_digits(number) == text
    assert formats.significant_interval(Estimate(4.0, 3.5, 4.25), formats.all_digits) == "4.00 [3.50, 4.25]"


@few
@given(any_text, any_text)
@example("a\\", "|b")
@example("__a__", "_b_")
@example("resolution_log", "")
def test_markdown_shows_the_text_and_nothing_else(folder: Path, head: str, text: str) -> None:
    formats.write_captioned(pd.DataFrame({head: [text], "b": ["c"]}), text, folder, "x")
    page = (folder / "x.md").read_text(encoding="utf-8")
    assert not re.search(r"<[A-Za-z/!?]|\]\(|\]:", page)  # for readers that know no backslash before these
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page)
    lines = [token.children or [] for token in tokens if token.type == "inline"]
    assert {part.type for line in lines for part in line} <= {"text", "text_special"}
    shown = ["".join(part.content for part in line) for line in lines]
    words = formats.HEADS.get(head, head.replace("_", " "))  # heads are in words
    head, text = (printable(" ".join(each.split())) for each in (words, text))
    caption = [text] if text else []
    assert shown == [*caption, head, "b", text, "c"]
    assert {token.tag for token in tokens} <= {"", "p", "table", "thead", "tbody", "tr", "th", "td"}
    assert [token.type for token in tokens].count("tr_open") == 2
    table = read_captioned(folder / "x.md", "X")
    assert (table["caption"], table["columns"], table["rows"]) == (text, [head, "b"], [[text, "c"]])


def test_heads_are_in_words_and_an_interval_stands_beside_its_value(tmp_path: Path) -> None:
    numbers = {"half_width": [0.125], "noticed_power": [0.5], "noticed_power_low": [0.25], "noticed_power_high": [1.0]}
    formats.write_captioned(pd.DataFrame(numbers), "Caption.", tmp_path, "x")
    table = read_captioned(tmp_path / "x.md", "")
    assert table["columns"] == ["half-width", "noticed in the power"]
    assert table["rows"] == [["0.125", "0.5 [0.25, 1]"]]
    found = {path: re.search(r"^\|.*", path.read_text(encoding="utf-8"), re.M) for path in REFERENCE.rglob("*.md")}
    heads = {path: head[0] for path, head in found.items() if head}
    assert len(heads) > 20
    assert {path: head for path, head in heads.items() if re.search("[a-z]{2}_|_[a-z]{2}", head)} == {}


@few
@given(any_text)
def test_tex_has_no_command_of_strangers(text: str) -> None:
    words = re.findall(r"\\[A-Za-z]+|\\.|[&%$#_{}^~\\]", tex(text))
    signs = {"textbackslash", "textasciitilde", "textasciicircum", *"&%$#_{}"}
    assert {word.removeprefix("\\") for word in words} <= signs
    assert all(word.startswith("\\") for word in words)


@few
@given(any_text)
def test_nothing_reaches_the_terminal_that_it_would_obey(text: str) -> None:
    shown = "".join((*ConfigError([f"{text}\ud800"]).problems, formats.terminal(pd.DataFrame({text: [text]}), text)))
    assert all(each.isprintable() or each == "\n" for each in shown)


MATHML = "{http://www.w3.org/1998/Math/MathML}"


@pytest.mark.parametrize(("latex", "text"), [
    (r"O\Bigl(\frac{\sqrt{d}\,\ln\frac1\delta\ln^{1.5}T}{\epsilon}\Bigr)", "O((√d ln(1/δ) ln^1.5 T)/ε)"),
    (r"\tilde O\left(\frac{T^{3/4}n^{3/2}}{\varepsilon}\right)", "Õ((T^(3/4) n^(3/2))/ε)"),
    (r"\frac{1}{\epsilon n}\min\{\sqrt p,\log k\}", "(1/(εn)) min{√p, log k}"),
    (r"\lVert\mathcal{C}\rVert_2=1", "‖C‖₂ = 1"),
    (r"n^{-1/2}-n^{-0.5}", "n^(−1/2) − n^−0.5"),
])  # fmt: skip
def test_a_line_of_text_says_what_the_formula_says(latex: str, text: str) -> None:
    assert formula.text(latex) == text


def test_mathml_keeps_the_structure_and_one_source_gives_both() -> None:
    tree = ElementTree.fromstring(formula.mathml(r"\frac{d\ln^{2.5}T}{\varepsilon}"))
    fraction = tree.find(f".//{MATHML}mfrac")
    assert fraction is not None
    above, below = fraction
    assert ["".join(part.itertext()) for part in (above, below)] == ["dln2.5T", "ε"]
    assert tree.find(f".//{MATHML}msup/{MATHML}mi").text == "ln"  # type: ignore[union-attr]
    sentence = "at most $T^2$ & <b>"
    assert formula.in_text(sentence) == "at most T² & <b>"
    assert formula.in_text("window (eps, delta)-DP, $T^2$") == "window (ε, δ)-DP, T²"
    assert formula.in_html(sentence).endswith("</math> &amp; &lt;b&gt;")
    held = formula.in_html("of $x$, and ($y$).")
    assert re.findall(r"</math>(.*?)</span>", held) == [",", ")."]
    assert held.count("nowrap") == 2


@pytest.mark.parametrize("latex", [
    r"\input{/etc/passwd}", r"\href{javascript:x}{y}", r"\frac{a}", "x_", "{", r"\text{&lt;script&gt;}", "a\x1bb", "",
    r"\sqrt{\left(}", "$x$", r"x^^41", r"\write18{ls}", r"\csname input\endcsname", r"\def\a{}",
])  # fmt: skip
def test_what_is_no_formula_is_refused_in_one_line(latex: str) -> None:
    with pytest.raises(formula.FormulaError) as fault:
        formula.mathml(latex)
    assert "\n" not in str(fault.value)
    with pytest.raises(formula.FormulaError):
        formula.in_html("$x$ and $y")


def test_markup_in_a_formula_stays_text() -> None:
    assert "<script>" not in formula.mathml(r"\text{<script>}a<b")


@pytest.mark.parametrize(("rate", "latex"), [
    ("T^0.5 ln(T/delta)^2", r"$T^{0.5}\,\ln^{2}(T/\delta)$"), (">= n^(-2/3)", r"$\ge n^{-2/3}$"),
    ("(log2 W + 1)^0.5 A_W", r"$(\log_2 W + 1)^{0.5}\,A_W$"), ("L*", r"$L^\star$"),
    ("d^0.5 log2(d)^0.5", r"$d^{0.5}\,\ln^{0.5} d$"), ("(log2 d)^1.5", r"$(\ln d)^{1.5}$"),
    ("T^0.6667", r"$T^{2/3}$"), ("T^-0.125", r"$T^{-0.125}$"),
    ("accounted eps <= eps", r"accounted $\varepsilon$ $\le$ $\varepsilon$"),
])  # fmt: skip
def test_a_rate_of_a_claim_is_shown_as_mathematics(rate: str, latex: str) -> None:
    assert vocabulary.law(rate) == latex
    assert formula.in_text(latex)


@pytest.mark.parametrize(
    ("typed", "text", "page"),
    [
        ("window (eps, delta)-DP", "window (ε, δ)-DP", "window (ε, δ)-DP"),
        ("d^(1/4) sqrt(T) <= eps^-1", "d^(1/4) √T ≤ ε^−1", "d<sup>1/4</sup> √T ≤ ε<sup>−1</sup>"),
        ("sqrt(ln(1/delta))", "√(ln(1/δ))", "√(ln(1/δ))"),
        ("log2(W)^1.5 of A_W", "log2(W)^1.5 of A_W", "(log<sub>2</sub> W)<sup>1.5</sup> of A<sub>W</sub>"),
        (
            "1.6 D0 L + C0, ln(n/p)^2",
            "1.6 D0 L + C0, ln(n/p)^2",
            "1.6 D<sub>0</sub> L + C<sub>0</sub>, ln(n/p)<sup>2</sup>",
        ),
        ("Gamma", *["Γ"] * 2),
        ("mu-GDP on the ℓ_1 ball", "μ-GDP on the ℓ_1 ball", "μ-GDP on the ℓ<sub>1</sub> ball"),
        ("(T - 1) Gamma), Gamma = 0, X (Gamma)", *["(T − 1) Γ), Γ = 0, X (Gamma)"] * 2),
        ("mu_gdp, delta = 1e-06", "μ_GDP, δ = 10⁻⁶", "μ<sub>GDP</sub>, δ = 10<sup>−6</sup>"),
        ("2.5e+07 of 95%", "2.5·10⁷ of 95 %", "2.5·10<sup>7</sup> of 95 %"),
        ("exp(-|z| / 2)", *["exp(−|z| / 2)"] * 2),
        ("theta_(t+1) - theta_0", "θ_(t+1) − θ_0", "θ<sub>t+1</sub> − θ<sub>0</sub>"),
        ("the Gamma noise, Gamma^(1/3)", "the Gamma noise, Γ^(1/3)", "the Gamma noise, Γ<sup>1/3</sup>"),
        ("-0.06 [-0.07, -0.05]", "−0.06 [−0.07, −0.05]", "−0.06 [−0.07, −0.05]"),
        ("claim thm3-beta, delta.csv, noise_norm", *["claim thm3-beta, delta.csv, noise_norm"] * 2),
        ("docs/proofs/frank_wolfe.md --eps", *["docs/proofs/frank_wolfe.md --eps"] * 2),
        ("|x|^2/2 - <-eta s, x>", "|x|^2/2 − <−η s, x>", "|x|<sup>2</sup>/2 − ⟨−η s, x⟩"),
        ("x_1 < x_3, y > 2", "x_1 < x_3, y > 2", "x<sub>1</sub> &lt; x<sub>3</sub>, y &gt; 2"),
        ("on the l1 ball, in l2.", "on the l1 ball, in l2.", "on the ℓ<sub>1</sub> ball, in ℓ<sub>2</sub>."),
        (
            "x_(t_q - 1), the l_q norm",
            "x_(t_q − 1), the l_q norm",
            "x<sub>t<sub>q</sub> − 1</sub>, the ℓ<sub>q</sub> norm",
        ),
        ("eps = inf, ln(W) / pi, 1/eps_0", "ε = ∞, ln(W) / π, 1/ε_0", "ε = ∞, ln(W) / π, 1/ε<sub>0</sub>"),
        ("docs/inf.md, inf-norm, --pi", *["docs/inf.md, inf-norm, --pi"] * 2),
        ("set = l1-ball, thm3.2-l1", *["set = l1-ball, thm3.2-l1"] * 2),
        ("sqrt(D_omega), D_omega^2", "√D_ω, D_ω^2", "√D<sub>ω</sub>, D<sub>ω</sub><sup>2</sup>"),
        ("<= -B_Psi(x, y), B_K", "≤ −B_Ψ(x, y), B_K", "≤ −B<sub>Ψ</sub>(x, y), B<sub>K</sub>"),
        ("r = kappa_+ + 1 or kappa_*", "r = κ_+ + 1 or κ_*", "r = κ<sub>+</sub> + 1 or κ<sub>*</sub>"),
        (
            "(epsilon, delta)-DP, net-epsilon, x_omega",
            "(ε, δ)-DP, net-epsilon, x_omega",
            "(ε, δ)-DP, net-epsilon, x<sub>omega</sub>",
        ),
        ("-norm of -x and -1", *["-norm of −x and −1"] * 2),
        ("Delta-strongly convex", *["Δ-strongly convex"] * 2),
    ],
)
def test_letters_powers_and_indices(typed: str, text: str, page: str) -> None:
    assert (unicode(typed), marked_up(typed)) == (text, page)


@given(st.text(alphabet="<>&\"'^_()ab12 eps\n-", max_size=40))
def test_no_markup_of_strangers_passes(text: str) -> None:
    rest = marked_up(text)
    for tag in ("sup", "sub"):
        assert rest.count(f"<{tag}>") == rest.count(f"</{tag}>")
        rest = rest.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
    assert not set(rest) & set("<>\"'")


POWERS = st.one_of(
    st.sampled_from([-2.0, -1.0, -0.5, 0.25, 0.5, 1.0, 1.5, 2.5, 0.6667]),
    st.builds(lambda over, under: round(over / under, 10), st.integers(-9, 9), st.sampled_from([3, 6, 7])),
    st.floats(-1e6, 1e6, allow_nan=False),
).filter(bool)
SYMBOLS = st.sampled_from(["T", "n", "d", "p", "(log2 d)", "(log2 W + 1)", "G", "eps", "mu_gdp", "L*", "k"])


def rates() -> st.SearchStrategy[Rate]:
    powers = st.builds(Rate, SYMBOLS, POWERS)
    sizes, bases = st.sampled_from(["T", "n", "d", "p"]), st.sampled_from(["ln", "log2"])
    logs = st.builds(Rate, sizes, st.just(0.0) | POWERS, POWERS, st.just("parameter"), bases)
    others = st.builds(
        Rate, st.sampled_from(["T", "n", "p"]), POWERS, POWERS, st.sampled_from(["T/delta", "n/delta", "2np", "2p"])
    )
    alone = st.builds(Rate, st.just(""), st.just(0.0), POWERS, st.sampled_from(["T/delta", "2np", "2p"]))
    return st.one_of(powers, logs, others, alone, st.just(Rate()))


@settings(max_examples=50)
@example(rate=Rate("T", 1e6))  # printed as 1e+06
@given(rates())
def test_what_is_printed_is_read_again(rate: Rate) -> None:
    assert parse(str(rate)) == rate


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("1", Rate()),
        ("ln T", Rate("T", 0.0, 1.0)),
        ("ln(2p)", Rate("", 0.0, 1.0, "2p")),
        ("eps^-1", Rate("eps", -1.0)),
        ("n^(-2/3) ln(n/delta)^2", Rate("n", -0.6666666667, 2.0, "n/delta")),
        ("d log2(d)^1.5", Rate("d", 1.0, 1.5, "parameter", "log2")),
        ("(log2 W + 1)^0.5 A_W", Rate("(log2 W + 1)", 0.5, nodes=True)),
    ],
)
def test_rates_of_the_papers(text: str, rate: Rate) -> None:
    assert (parse(text), str(rate)) == (rate, text)


@settings(max_examples=50)
@example(text="T^(1/0)")
@example(text="T^1e999")
@example(text="ln(T)^(-3/0)")
@given(st.one_of(st.text(max_size=12), st.text("Tnd^ln ().0123456789-/*", max_size=16)))
def test_anything_else_is_refused_in_words_or_read(text: str) -> None:
    rate = None
    with suppress(ValueError):
        rate = parse(text)
    if rate is not None:
        assert parse(str(rate)) == rate
        return
    with pytest.raises(ValueError, match=r"a rate is written like|logarithms are of"):
        parse(text)
