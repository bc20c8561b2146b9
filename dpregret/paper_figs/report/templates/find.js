"use strict";
// one search over claims, checks, errata and audited learners: the entries are read off the page
(() => {
  const { element, words, place, remember, paged, labels } = dpregret;
  const MISTAKE = ["mistake in print"];
  const synonyms = { // word of a search -> other words that stand for it
    misprint: MISTAKE, misprints: MISTAKE, typo: MISTAKE, mistakes: MISTAKE, erratum: ["remark on a paper", ...MISTAKE],
    refuted: ["violated"], thm: ["theorem"], alg: ["algorithm"], cor: ["corollary"], prop: ["proposition"], eq: ["eq."],
    eps: ["ε"], epsilon: ["ε"], delta: ["δ"], mu: ["μ"], l1: ["ℓ1"], l2: ["ℓ2"], pocg: ["pocp"], pocp: ["pocg"],
    "frank-wolfe": ["-fw", "ofw"], lasso: ["private-fw"], l2p: ["lazy"],
  };
  labels.what = {
    paper: "stated by a paper", reconstructed: "stated by a paper, text reconstructed", derived: "derived here",
    baseline: "baseline", check: "consistency check", erratum: "remark on a paper", audit: "audited learner",
  };
  const form = document.getElementById("finder");
  const page = form.closest(".page"), count = page.querySelector(".count"), list = page.querySelector(".found");
  const FACETS = ["what", "paper", "verdict", "parameter", "learner"], STEP = 200;
  let entries = null, found = [], asked = "";
  const listAll = paged(list, list, STEP, (listed) => {
    count.textContent = `${found.length} of ${entries.length} found${listed < found.length ? `; the first ${listed} are listed` : ""}`;
  });

  const read = () => [...document.querySelectorAll("[data-what]")].map((source) => ({
    id: source.id, title: source.dataset.title, absent: "absent" in source.dataset,
    says: source.querySelector(".says, dd") || source.querySelector("td:nth-child(7)"),
    text: `${source.dataset.title} ${source.dataset.learner || ""} ${source.textContent}`.toLowerCase(),
    colour: source.querySelector(".badge")?.className || "badge none",
    ...Object.fromEntries(FACETS.map((name) => [name, source.dataset[name] || ""])),
  }));
  const label = (name, value) => labels[name]?.[value] || value;

  const matching = (without) => {
    const chosen = FACETS.filter((name) => name !== without && form.elements[name].value);
    const wanted = words(form.elements.q.value), all = form.elements.all?.checked;
    return entries.filter((entry) => (all || !entry.absent) &&
      chosen.every((name) => entry[name] === form.elements[name].value) && wanted.every((word) => [word, ...(synonyms[word] || [])].some((each) => entry.text.includes(each))));
  };
  const choices = (name) => {
    const select = form.elements[name], before = select.value;
    const numbers = new Map();
    matching(name).forEach((entry) => entry[name] && numbers.set(entry[name], (numbers.get(entry[name]) || 0) + 1));
    if (before && !numbers.has(before)) numbers.set(before, 0);
    const order = [...numbers.keys()].sort((one, other) => label(name, one).localeCompare(label(name, other)));
    select.replaceChildren(element("option", { value: "", textContent: "any" }),
      ...order.map((value) => element("option", { value, textContent: `${label(name, value)} (${numbers.get(value)})` })));
    select.value = before;
  };
  const shown = (entry) => element("li", {},
    element("span", { className: entry.colour, textContent: entry.verdict }), " ",
    element("a", { href: `#${entry.id}`, textContent: entry.title }), " ",
    element("span", { className: "soft", textContent: [label("paper", entry.paper), label("learner", entry.learner)].filter(Boolean).join(", ") }),
    element("p", {}, ...(entry.says ? [...entry.says.cloneNode(true).childNodes] : [])));
  const apply = () => {
    FACETS.forEach(choices);
    found = matching();
    listAll(found.map((entry) => () => shown(entry)));
  };
  const state = () => [["q", form.elements.q.value.trim()], ...FACETS.map((name) => [name, form.elements[name].value]), ["all", form.elements.all?.checked ? "1" : ""]];

  dpregret.opened.push((opened, query) => {
    if (opened !== page) return;
    entries ||= read();
    if (asked === query.toString() && list.children.length) return;
    asked = query.toString();
    form.elements.q.value = query.get("q") || "";
    if (form.elements.all) form.elements.all.checked = query.get("all") === "1";
    FACETS.forEach((name) => {
      const value = query.get(name) || "";
      form.elements[name].replaceChildren(element("option", { value, textContent: value }));
    });
    apply();
  });
  const changed = () => {
    apply();
    remember("find", state());
    asked = place().query.toString();
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", changed);
  form.elements.reset.addEventListener("click", () => {
    [...form.elements].forEach((field) => { if (field.type === "checkbox") field.checked = false; else if (field.type !== "button") field.value = ""; });
    changed();
    form.elements.q.focus();
  });
  // the field at the top leads here
  const search = document.getElementById("search");
  search.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = `#find?${new URLSearchParams({ q: search.elements.q.value.trim() })}`;
  });
})();
