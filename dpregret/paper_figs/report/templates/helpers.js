"use strict";
// what the scripts of the page share. An address is #PLACE?KEY=VALUE&..., so that what is chosen can be shared
window.dpregret = (() => {
  // JSON of the page, packed by zlib and written in base64
  const data = async (name) => {
    const bytes = Uint8Array.from(atob(document.getElementById(name).textContent), (sign) => sign.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  };
  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  // a number as the page writes it, 10⁻⁶, and an element that has it and sorts by its value
  const SCIENTIFIC = /(?<![\w.])(\d(?:\.\d+)?)e([+-]?)0*(\d+)\b/g, RAISED = [..."⁰¹²³⁴⁵⁶⁷⁸⁹"];
  const written = (value) => {
    const text = typeof value === "number" && value && Math.abs(value) < 1e-4 ? value.toExponential() : String(value);
    return text.replace(SCIENTIFIC, (_, digits, sign, power) =>
      `${digits === "1" ? "" : `${digits}·`}10${sign === "-" ? "⁻" : ""}${[...power].map((digit) => RAISED[digit]).join("")}`);
  };
  const number = (text) => (written(text) === text ? text : element("data", { value: parseFloat(text), textContent: written(text) }));
  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  const unique = (values) => [...new Set(values)];
  const place = () => {
    const [id, query] = location.hash.slice(1).split(/\?(.*)/s);
    return { id: decodeURIComponent(id), query: new URLSearchParams(query || "") };
  };
  // writes the address without a new step in the history, and without a jump
  const remember = (id, entries) => {
    const query = new URLSearchParams(entries.filter(([, value]) => value !== "" && value !== false)).toString();
    history.replaceState(null, "", `#${id}${query ? `?${query}` : ""}`);
  };
  // shows some of many entries, and below them a button that shows as many again
  const paged = (list, below, step, count) => {
    const more = element("button", { type: "button", className: "more", hidden: true });
    let rest = [];
    const next = () => {
      list.append(...rest.splice(0, step).map((build) => build()));
      more.hidden = !rest.length;
      more.textContent = `show ${Math.min(step, rest.length)} more`;
      count(list.children.length);
    };
    more.addEventListener("click", () => {
      const place = list.children.length;
      next();
      list.children[place].querySelector("a, td")?.focus();
    });
    below.after(more);
    return (builders) => { rest = builders; list.replaceChildren(); next(); };
  };
  const dark = () => document.documentElement.dataset.theme === "dark";
  return { data, element, written, number, words, unique, place, remember, paged, dark, labels: {}, loading: [], opened: [], painted: [] };
})();
dpregret.loading.push(dpregret.data("page-names").then((labels) => Object.assign(dpregret.labels, labels)));
