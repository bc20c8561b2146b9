"use strict";
(() => {
  const papers = JSON.parse(document.getElementById("curve-data").textContent);
  // Okabe and Ito's palette without yellow, and shapes: eight colours times eight shapes, told apart without colour too.
  const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#8a6500", "#5b3a8c", "#555555"];
  const DARK = ["#5aa9dd", "#f0803c", "#2fc79b", "#e59cc5", "#8fd0f5", "#e0b23e", "#b79be6", "#b8bec4"];
  const SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"];
  const root = document.documentElement;
  const dark = () => root.dataset.theme === "dark";

  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };
  const text = (value) => (value === null ? "none" : typeof value === "number" ? String(value) : value);
  const unique = (values) => [...new Set(values)];
  const fill = (select, values, label = text) => {
    const before = select.value;
    select.replaceChildren(...values.map((value) => element("option", { value: String(value), textContent: label(value) })));
    if (values.map(String).includes(before)) select.value = before;
  };

  class Explorer {
    constructor(form) {
      this.form = form;
      this.paper = papers[form.dataset.paper];
      this.fields = form.elements;
      this.chart = form.querySelector(".chart");
      const names = Object.keys(this.paper.titles).filter((name) => name in this.paper.experiments);
      fill(this.fields.experiment, names, (name) => (this.paper.titles[name] ? `${name}: ${this.paper.titles[name]}` : name));
      form.addEventListener("submit", (event) => event.preventDefault());
      form.addEventListener("change", (event) => this.changed(event.target.name));
      this.fields.all.addEventListener("click", () => this.choose(true));
      this.fields.none.addEventListener("click", () => this.choose(false));
    }

    changed(name) {
      if (name === "experiment") this.open();
      else if (name === "axis") this.filters();
      else this.draw();
    }

    open(axis) {
      this.experiment = this.paper.experiments[this.fields.experiment.value];
      const { variables, rows, series } = this.experiment;
      this.records = rows.map((row) => {
        const record = { series: series[row[0]] };
        variables.forEach((name, place) => (record[name] = row[place + 1]));
        ["mean", "low", "high", "bound", "trivial", "runs"].forEach((name, place) => (record[name] = row[variables.length + 1 + place]));
        return record;
      });
      const numeric = variables.filter((name) => this.records.some((record) => typeof record[name] === "number"));
      this.axes = numeric.filter((name) => series.some((each) => this.values(name, each).filter((value) => value !== null).length > 1));
      if (!this.axes.length) this.axes = numeric.slice(0, 1);
      // the swept variable first: the one with most values
      const count = (name) => unique(this.records.map((record) => record[name])).length;
      this.axes.sort((one, other) => (other === "checkpoint") - (one === "checkpoint") || count(other) - count(one));
      this.fields.axis.replaceChildren();
      fill(this.fields.axis, this.axes, (name) => this.label(name));
      if (axis && this.axes.includes(axis)) this.fields.axis.value = axis;
      const paper = this.form.dataset.paper;
      this.form.querySelector(".learners").replaceChildren(...series.map((name, place) =>
        element("label", {}, element("input", { type: "checkbox", name: "series", value: name, checked: true, id: `${paper}-${place}` }), " ", name)));
      const constant = Object.entries(this.experiment.constant).map(([name, value]) => `${this.label(name)} = ${text(value)}`);
      this.form.querySelector(".constant").textContent = constant.length ? `The same for all: ${constant.join(", ")}.` : "";
      this.filters();
    }

    label(name) { return this.paper.labels[name] || name; }

    values(name, series) {
      return unique(this.records.filter((record) => series === undefined || record.series === series).map((record) => record[name]));
    }

    filters() {
      const axis = this.fields.axis.value;
      const names = this.experiment.variables.filter((name) => name !== axis && this.experiment.series.some((each) => this.values(name, each).length > 1));
      const made = names.map((name) => {
        const values = this.values(name).filter((value) => value !== null).sort((one, other) => (typeof one === "number" ? one - other : String(one).localeCompare(other)));
        const select = element("select", { name: `filter-${name}` });
        fill(select, values);
        select.value = String(name === "checkpoint" ? values.at(-1) : values[Math.floor(values.length / 2)]);
        return element("label", {}, `${this.label(name)} `, select);
      });
      this.form.querySelector(".filters").replaceChildren(...made);
      this.draw();
    }

    choose(all) {
      this.form.querySelectorAll("input[name=series]").forEach((box) => (box.checked = all));
      this.draw();
    }

    shown() {
      const axis = this.fields.axis.value;
      const wanted = new Set([...this.form.querySelectorAll("input[name=series]:checked")].map((box) => box.value));
      const fixed = [...this.form.querySelectorAll(".filters select")].map((select) => [select.name.slice(7), select.value]);
      const single = new Map(this.experiment.series.map((series) => [series, new Set(fixed.map(([name]) => name).filter((name) => this.values(name, series).length === 1))]));
      const rows = this.records.filter((record) => wanted.has(record.series) &&
        fixed.every(([name, value]) => String(record[name]) === value || single.get(record.series).has(name)));
      const response = this.fields.response.value;
      return rows.map((record) => {
        const share = response === "mean" ? 1 : record[response];
        return { series: record.series, x: record[axis], y: record.mean / share, low: record.low / share, high: record.high / share, runs: record.runs, usable: share !== null && share > 0 };
      }).filter((record) => record.usable && Number.isFinite(record.y)).sort((one, other) => one.x - other.x);
    }

    draw() {
      const logx = this.fields.logx.checked, logy = this.fields.logy.checked;
      let rows = this.shown();
      const hidden = rows.filter((row) => (logy && row.y <= 0) || (logx && row.x !== null && row.x <= 0)).length;
      rows = rows.filter((row) => !(logy && row.y <= 0) && !(logx && row.x !== null && row.x <= 0));
      if (logy) rows.forEach((row) => (row.low = Math.max(row.low, row.y / 20)));
      const series = this.experiment.series;
      const palette = dark() ? DARK : LIGHT;
      const scale = { domain: series, range: series.map((_, place) => palette[place % 8]) };
      const shape = { domain: series, range: series.map((_, place) => SHAPES[(place + Math.floor(place / 8)) % 8]) };
      const dash = { domain: series, range: series.map((name) => (this.experiment.printed.includes(name) ? [5, 4] : [1, 0])) };
      const xs = unique(rows.map((row) => row.x).filter((value) => value !== null));
      const response = this.fields.response.selectedOptions[0].textContent;
      const across = this.label(this.fields.axis.value);
      const x = { field: "x", type: "quantitative", title: across, scale: logx ? { type: "log", nice: false } : { zero: false, nice: false }, axis: { format: "~g", ...(logx && xs.length <= 14 ? { values: xs, labelOverlap: true } : {}) } };
      const y = (field, title) => ({ field, type: "quantitative", title, stack: null, scale: logy ? { type: "log" } : { zero: false }, axis: { format: "~g", tickCount: 6 } });
      const colour = { field: "series", type: "nominal", scale, legend: null };
      const tooltip = [{ field: "series", title: "learner" }, { field: "x", title: across, format: "~g" }, { field: "y", title: response, format: ".4~g" },
        { field: "low", title: "from", format: ".4~g" }, { field: "high", title: "to", format: ".4~g" }, { field: "runs" }];
      const moving = [{ filter: "datum.x !== null" }], still = [{ filter: "datum.x === null" }];
      if (!rows.length) {
        this.keys(scale, shape, rows);
        this.table(rows, across, response, hidden);
        this.chart.replaceChildren(element("p", { textContent: "Nothing to draw: choose learners, or other settings." }));
        return;
      }
      const layers = [
        { transform: moving, mark: { type: "line", clip: true }, encoding: { x, y: y("y", response), color: colour, strokeDash: { field: "series", type: "nominal", scale: dash, legend: null } } },
        { transform: moving, mark: { type: "point", filled: true, size: 55, opacity: 1 }, encoding: { x, y: y("y", response), color: colour, shape: { field: "series", type: "nominal", scale: shape, legend: null }, tooltip } },
        ...(rows.some((row) => row.x === null) ? [{ transform: still, mark: { type: "rule", strokeWidth: 1.5, strokeDash: [2, 3] }, encoding: { y: y("y", response), color: colour, tooltip: tooltip.filter((each) => each.field !== "x") } }] : []),
      ];
      if (this.fields.intervals.checked) {
        layers.unshift({ transform: moving, mark: { type: "area", opacity: 0.18, clip: true }, encoding: { x, y: y("low", response), y2: { field: "high" }, color: colour } });
        layers.unshift({ transform: moving, mark: { type: "rule", strokeWidth: 1 }, encoding: { x, y: y("low", response), y2: { field: "high" }, color: colour } });
      }
      if (!xs.length) layers.splice(0, layers.length - 1); // only learners that do not depend on what is across
      const ink = getComputedStyle(root).getPropertyValue("--ink").trim(), line = getComputedStyle(root).getPropertyValue("--line").trim();
      const spec = {
        data: { values: rows }, layer: layers, width: "container", height: 380, background: null,
        config: { font: "system-ui, sans-serif", view: { stroke: line }, axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontSize: 13, titleFontWeight: "normal" } },
      };
      this.keys(scale, shape, rows);
      this.table(rows, across, response, hidden);
      vegaEmbed(this.chart, spec, { mode: "vega-lite", renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false } })
        .then(() => {
          const picture = this.chart.querySelector("svg");
          picture.setAttribute("aria-label", `${response} against ${across}, ${this.fields.experiment.value}; the numbers stand below`);
        });
    }

    // the list of learners is the legend: each name carries its mark
    keys(scale, shape, rows) {
      const drawn = new Set(rows.map((row) => row.series));
      const glyph = { circle: "●", square: "■", "triangle-up": "▲", diamond: "◆", cross: "✚", "triangle-down": "▼", "triangle-right": "▶", "triangle-left": "◀" };
      this.form.querySelectorAll(".learners label").forEach((label, place) => {
        let mark = label.querySelector("i");
        if (!mark) label.insertBefore((mark = element("i", { ariaHidden: "true" })), label.lastChild);
        mark.textContent = ` ${glyph[shape.range[place]]} `;
        mark.style.cssText = `font-style:normal;color:${scale.range[place]}`;
        const box = label.querySelector("input");
        label.style.opacity = !box.checked || drawn.has(box.value) ? 1 : 0.5;
        label.title = !box.checked || drawn.has(box.value) ? "" : "no row at these settings";
      });
    }

    table(rows, across, response, hidden) {
      const head = ["learner", across, response, "from", "to", "runs"];
      const short = (value) => (value === null ? "any" : Number(value.toPrecision(5)).toString());
      const body = rows.map((row) => element("tr", {}, ...[row.series, short(row.x), short(row.y), short(row.low), short(row.high), row.runs].map((cell) => element("td", { textContent: cell }))));
      const table = element("table", {}, element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { textContent: name, scope: "col" })))), element("tbody", {}, ...body));
      this.form.querySelector(".numbers .scroll").replaceChildren(table);
      this.form.querySelector(".numbers summary").textContent = `the numbers (${rows.length} cells${hidden ? `, ${hidden} not positive and not on a log axis` : ""})`;
    }
  }

  // pages
  const pages = [...document.querySelectorAll(".page")];
  const links = [...document.querySelectorAll("header nav a")];
  const route = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1))) || pages[0];
    const page = target.closest(".page") || pages[0];
    pages.forEach((each) => each.classList.toggle("shown", each === page));
    links.forEach((link) => {
      if (link.hash === `#${page.id}`) { link.setAttribute("aria-current", "page"); link.scrollIntoView({ block: "nearest", inline: "nearest" }); }
      else link.removeAttribute("aria-current");
    });
    for (let open = target; open; open = open.parentElement) if (open.tagName === "DETAILS") { open.open = true; open.hidden = false; }
    page.querySelectorAll(".explorer").forEach((form) => {
      if (!Object.keys(papers[form.dataset.paper].experiments).length) { form.hidden = true; return; }
      if (!form.explorer) { form.explorer = new Explorer(form); form.explorer.open(); }
      else form.explorer.draw();
    });
    if (target === page) window.scrollTo(0, 0); else target.scrollIntoView();
  };
  window.addEventListener("hashchange", route);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.show");
    if (!link) return;
    const form = link.closest(".page").querySelector(".explorer");
    form.elements.experiment.value = link.dataset.experiment;
    form.explorer.open(link.dataset.axis);
  });

  // claims by verdict and words
  document.querySelectorAll(".claim-filter").forEach((bar) => {
    const claims = [...bar.closest(".page").querySelectorAll("details.claim")];
    const [verdict, words] = [bar.querySelector("select"), bar.querySelector("input")];
    const apply = () => {
      const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      claims.forEach((claim) => {
        const matches = (!verdict.value || claim.dataset.verdict === verdict.value) && wanted.every((word) => claim.textContent.toLowerCase().includes(word));
        claim.hidden = !matches;
      });
      bar.querySelector(".count").textContent = `${claims.filter((claim) => !claim.hidden).length} of ${claims.length}`;
    };
    bar.addEventListener("input", apply);
    apply();
  });

  // tables sort by a click on a column's head
  const key = (cell) => {
    const words = cell.textContent.trim();
    const number = parseFloat(words);
    return Number.isNaN(number) ? words : number;
  };
  document.querySelectorAll("table.sortable").forEach((table) => {
    table.querySelectorAll("thead th").forEach((head, column) => {
      const button = element("button", { type: "button" }, ...head.childNodes);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        table.querySelectorAll("thead th").forEach((each) => each.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows].map((row) => [key(row.cells[column]), row]);
        rows.sort(([one], [other]) => (typeof one === typeof other ? (one < other ? -1 : one > other ? 1 : 0) : typeof one === "number" ? -1 : 1) * (up ? 1 : -1));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  });

  // light and dark: as the system says, until the button is pressed
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const paint = (wanted) => { root.dataset.theme = wanted ? "dark" : "light"; document.querySelectorAll(".page.shown .explorer").forEach((form) => form.explorer?.draw()); };
  system.addEventListener("change", () => paint(system.matches));
  document.getElementById("theme").addEventListener("click", () => paint(!dark()));
  root.dataset.theme = system.matches ? "dark" : "light";
  document.body.classList.add("routed");
  route();
})();
