"use strict";
// the table of winners: one list a column; what is chosen in one narrows the others
if (document.getElementById("winners-data")) dpregret.loading.push(dpregret.data("winners-data").then(({ shown, filters, columns, names }) => {
  const form = document.querySelector(".winners-filter"), body = document.querySelector("#winners-table tbody");
  const count = form.querySelector(".count"), STEP = 400;
  const size = columns[shown[0]].codes.length, every = [...Array(size).keys()];
  const cell = (name, row) => columns[name].words[columns[name].codes[row]];
  const { element, number, written, remember, paged } = dpregret;
  const order = (one, other) => (isNaN(one) || isNaN(other) ? one.localeCompare(other) : one - other);

  const selects = Object.entries(filters).map(([name, label]) => {
    const select = element("select", { name });
    const holder = element("label", { textContent: `${label} ` });
    holder.append(select);
    form.querySelector(".filters").append(holder);
    return select;
  });
  let rows = [];
  const listAll = paged(body, document.getElementById("winners-table").closest(".scroll"), STEP, (listed) => {
    count.textContent = `${rows.length} of ${size} settings${listed < rows.length ? `, the first ${listed} shown` : ""}`;
  });
  const words = form.elements.words, contested = form.elements.contested;

  const matching = (without) => {
    const chosen = selects.filter((select) => select !== without && select.value).map((select) => {
      const { words, codes } = columns[select.name], wanted = words.indexOf(select.value);
      return (row) => codes[row] === wanted;
    });
    if (contested.checked) chosen.push((row) => cell("contested", row) === "yes");
    const parts = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (parts.length) chosen.push((row) => { const text = shown.map((name) => `${cell(name, row)} ${names[cell(name, row)] || written(cell(name, row))}`).join(" ").toLowerCase(); return parts.every((part) => text.includes(part)); });
    return every.filter((row) => chosen.every((fits) => fits(row)));
  };

  const apply = () => {
    for (const select of selects) {
      const there = [...new Set(matching(select).map((row) => cell(select.name, row)))].sort(order), before = select.value;
      if (before && !there.includes(before)) there.push(before);
      select.replaceChildren(element("option", { value: "", textContent: "any" }), ...there.map((value) => element("option", { value, textContent: names[value] || written(value) })));
      select.value = before;
    }
    rows = matching();
    listAll(rows.map((row) => () => {
      const line = document.createElement("tr");
      line.append(...shown.map((name) => {
        const text = cell(name, row);
        return text in names ? element("td", {}, names[text], element("br"), element("small", { className: "identifier", textContent: text })) : element("td", {}, number(text));
      }));
      return line;
    }));
  };
  selects.forEach((select) => select.append(element("option", { value: "", textContent: "any" })));
  form.addEventListener("submit", (event) => event.preventDefault());
  const changed = () => {
    apply();
    remember("winners", [["words", words.value.trim()], ["own", contested.checked ? "" : "1"], ...selects.map((select) => [select.name, select.value])]);
  };
  form.addEventListener("input", changed);
  form.elements.reset.addEventListener("click", () => { selects.forEach((select) => (select.value = "")); words.value = ""; changed(); });
  let filled = false;
  dpregret.opened.push((page, query) => {
    if (page.id !== "winners" || (filled && !query.size)) return;
    filled = true;
    words.value = query.get("words") || "";
    contested.checked = query.get("own") !== "1";
    selects.forEach((select) => {
      const value = query.get(select.name) || "";
      select.replaceChildren(element("option", { value, textContent: names[value] || written(value) || "any" }));
    });
    apply();
  });
}));
