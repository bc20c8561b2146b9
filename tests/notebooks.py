"""Notebooks: their cells executed in one namespace, with the outputs that Jupyter would show.

python tests/notebooks.py docs/first_steps.ipynb      writes the outputs into the notebook
"""

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def executed(notebook: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Outputs of every code cell, in order, in the form of nbformat 4; in the working folder, lines as in a notebook,
    which has no terminal."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(code_cells(notebook), 1):
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed, value = io.StringIO(), None
        with contextlib.redirect_stdout(printed), _no_terminal():
            exec(compile(tree, "cell", "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            text = repr(value)
        outputs: list[dict[str, Any]] = []
        if printed.getvalue():
            outputs.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(True)})
        if value is not None:
            data: dict[str, Any] = {"text/plain": text.splitlines(True)}
            if table := getattr(value, "_repr_html_", lambda: None)():
                data["text/html"] = table.splitlines(True)
            picture = getattr(value, "_repr_png_", lambda: None)()
            if picture:
                data["image/png"] = base64.b64encode(picture).decode()
            outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
        outputs += [{"data": data, "metadata": {}, "output_type": "display_data"} for data in _figures()]
        yield outputs


@contextlib.contextmanager
def _no_terminal() -> Iterator[None]:
    """What is printed has the width that it has in a notebook, whatever the terminal or COLUMNS says."""
    with mock.patch.dict(os.environ, COLUMNS=""), mock.patch.object(sys, "__stdout__", None):
        yield


def _figures() -> Iterator[dict[str, Any]]:
    """Figures of pyplot that a cell leaves open, which Jupyter shows below it."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    for number in pyplot.get_fignums() if pyplot else ():
        drawn = io.BytesIO()
        pyplot.figure(number).savefig(drawn, format="png", dpi=80, bbox_inches="tight", metadata={"Software": None})
        pyplot.close(number)
        yield {"text/plain": ["<Figure>"], "image/png": base64.b64encode(drawn.getvalue()).decode()}


def shown(outputs: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    """The text of each output, and whether there is a picture."""
    texts = [each["text"] if "text" in each else each["data"]["text/plain"] for each in outputs]
    pictures = ["image/png" in each.get("data", {}) for each in outputs]
    return list(zip(map("".join, texts), pictures, strict=True))


def main(path: Path) -> None:
    notebook = read(path)
    target = path.resolve()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for number, (cell, outputs) in enumerate(zip(code_cells(notebook), executed(notebook), strict=True), 1):
            cell.update(outputs=outputs, execution_count=number)
    target.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main(Path(sys.argv[1]))
