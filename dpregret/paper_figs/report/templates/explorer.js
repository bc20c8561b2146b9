"use strict";
// interactive curves: means over runs with intervals, drawn by Observable Plot
(() => {
  const { data, element, written, unique, remember, dark, labels } = dpregret;
  let papers = {};
  dpregret.loading.push(data("curve-data").then((unpacked) => { papers = unpacked; }));
  // Okabe and Ito's palette without yellow, and shapes: eight colours times eight shapes, told apart without colour too.
  const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#8a6500", "#5b3a8c", "#555555"];
  const DARK = ["#5aa9dd", "#f0803c", "#2fc79b", "#e59cc5", "#8fd0f5", "#e0b23e", "#b79be6", "#b8bec4"];
  const down = (draw) => ({ draw(context, size) { const turned = { moveTo: (x, y) => context.moveTo(draw.x(x, y), draw.y(x, y)), lineTo: (x, y) => context.lineTo(draw.x(x, y), draw.y(x, y)), closePath: () => context.closePath() }; d3.symbolTriangle.draw(turned, size); } });
  const GLYPHS = [
    { symbol: "circle", sign: "●" }, { symbol: "square", sign: "■" }, { symbol: "triangle", sign: "▲" }, { symbol: "diamond", sign: "◆" }, { symbol: "cross", sign: "✚" },
    { symbol: down({ x: (x) => x, y: (_, y) => -y }), sign: "▼" }, { symbol: down({ x: (_, y) => -y, y: (x) => x }), sign: "▶" }, { symbol: down({ x: (_, y) => y, y: (x) => x }), sign: "◀" },
  ];
  const text = (value) => (value === null ? "none" : written(value));
  // of a setting: a whole number has all its digits
  const exact = (value) => written(Number.isInteger(value) ? value : Number(value.toPrecision(7)));
  // round numbers of a logarithmic axis: few, whatever it spans
  const decades = (values) => {
    const [low, high] = [Math.min(...values), Math.max(...values)], span = Math.log10(high / low);
    const within = span > 2.5 ? [1] : span > 1 ? [1, 2, 5] : [1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9], found = [];
    const each = Math.ceil(span / 8);
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
      if (span > 2.5 && power % each) continue;
      for (const times of within) if (times * 10 ** power >= low && times * 10 ** power <= high) found.push(times * 10 ** power);
    }
    return found.length ? found : [low];
  };
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
      fill(this.fields.experiment, names, (name) => this.paper.titles[name] || name);
      form.addEventListener("submit", (event) => event.preventDefault());
      form.addEventListener("change", (event) => this.changed(event.target.name));
      this.fields.all.addEventListener("click", () => this.choose(true));
      this.fields.none.addEventListener("click", () => this.choose(false));
      this.fields.save.addEventListener("click", () => this.save());
    }

    changed(name) {
      if (name === "experiment") this.open();
      else if (name === "axis") this.filters();
      else this.draw();
      remember(`${this.form.dataset.paper}-curves`, [["experiment", this.fields.experiment.value], ["axis", this.fields.axis.value], ["show", this.fields.response.value === "mean" ? "" : this.fields.response.value]]);
    }

    // what an address asks for
    ask(query) {
      const { experiment, response } = this.fields;
      if (query.get("experiment") in this.paper.experiments) experiment.value = query.get("experiment");
      if ([...response.options].some((option) => option.value === query.get("show"))) response.value = query.get("show");
      this.open(query.get("axis"));
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
        element("label", { title: name }, element("input", { type: "checkbox", name: "series", value: name, checked: true, id: `${paper}-${place}` }),
          element("i", { ariaHidden: "true" }), this.experiment.names[place], element("span", { className: "missing soft" }))));
      const constant = Object.entries(this.experiment.constant).map(([name, value]) => `${this.label(name)} = ${this.named(name, value)}`);
      const experiment = this.fields.experiment.value;
      this.form.querySelector(".constant").replaceChildren(`${this.fields.experiment.selectedOptions[0].textContent}, experiment `, element("code", { textContent: experiment }),
        constant.length ? `. The same for all: ${constant.join(", ")}.` : ".");
      this.filters();
    }

    named(name, value) { return labels[name]?.[value] || text(value); }

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
        fill(select, values, (value) => this.named(name, value));
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
      const { series, names } = this.experiment;
      const palette = dark() ? DARK : LIGHT;
      const colour = new Map(series.map((name, place) => [name, palette[place % 8]]));
      const symbol = new Map(series.map((name, place) => [name, (place + Math.floor(place / 8)) % 8]));
      const called = new Map(series.map((name, place) => [name, names[place]]));
      const response = this.fields.response.selectedOptions[0].textContent, across = this.label(this.fields.axis.value);
      this.keys(colour, symbol, rows);
      this.table(rows, called, across, response, hidden);
      if (!rows.length) {
        this.chart.replaceChildren(element("p", { textContent: "Nothing to draw: choose learners, or other settings." }));
        return;
      }
      const moving = rows.filter((row) => row.x !== null), still = rows.filter((row) => row.x === null);
      const width = Math.max(280, this.chart.clientWidth), steps = Math.max(2, Math.floor(width / 75));
      const xs = unique(moving.map((row) => row.x)).sort((one, other) => one - other);
      const every = Math.ceil(xs.length / steps), ticks = xs.filter((_, place) => (xs.length - 1 - place) % every === 0);
      const stroke = (row) => colour.get(row.series), short = (value) => written(Number(value.toPrecision(4)));
      const lower = { label: across, labelAnchor: "center", labelArrow: "none" }, left = { label: response, labelArrow: "none" };
      const heights = logy ? decades(rows.map((row) => row.y)) : null;
      const small = heights?.some((value) => value < 1e-4), tick = (value) => (small ? written(value.toExponential()) : short(value));
      const title = (row) => `${called.get(row.series)}\n${row.x === null ? "" : `${across}: ${exact(row.x)}\n`}${response}: ${short(row.y)}\n95 %: ${short(row.low)} to ${short(row.high)}\n${row.runs} runs`;
      const line = (dashed) => Plot.lineY(moving.filter((row) => this.experiment.printed.includes(row.series) === dashed), { x: "x", y: "y", z: "series", stroke, strokeWidth: 2, ...(dashed ? { strokeDasharray: "5 4" } : {}) });
      const reach = this.fields.intervals.checked ? [
        Plot.areaY(moving, { x: "x", y1: "low", y2: "high", z: "series", fill: stroke, fillOpacity: 0.16 }),
        Plot.ruleX(moving, { x: "x", y1: "low", y2: "high", stroke }),
      ] : [];
      const picture = Plot.plot({
        width, height: 400, marginLeft: 64, marginBottom: 44, marginTop: 24, style: { fontSize: "12px", background: "none", overflow: "visible" },
        x: { type: logx ? "log" : "linear", axis: null }, y: { type: logy ? "log" : "linear", axis: null }, symbol: { type: "identity" },
        marks: [
          ...(xs.length ? [logx ? Plot.axisX(ticks, { ...lower, text: exact }) : Plot.axisX(lower)] : []),
          ...(logy ? [Plot.gridY(heights), Plot.axisY(heights, { ...left, text: tick })] : [Plot.gridY(), Plot.axisY(left)]),
          ...reach, line(false), line(true), Plot.ruleY(still, { y: "y", stroke, strokeWidth: 1.5, strokeDasharray: "2 3" }),
          Plot.dot(moving, { x: "x", y: "y", symbol: (row) => GLYPHS[symbol.get(row.series)].symbol, fill: stroke, stroke: "none", r: 4.5, className: "points" }),
          Plot.tip(moving, Plot.pointer({ x: "x", y: "y", title, fill: "var(--paper)" }))],
      });
      picture.querySelectorAll("[aria-label]").forEach((part) => part.removeAttribute("aria-label")); // it is one picture
      picture.setAttribute("role", "img");
      picture.setAttribute("aria-label", `${response} against ${across}, ${this.fields.experiment.selectedOptions[0].textContent}; the numbers stand below`);
      this.chart.replaceChildren(picture);
    }

    // a file of its own: colours that the page gives are written into it
    save() {
      const picture = this.chart.querySelector("svg");
      if (!picture) return;
      const copy = picture.cloneNode(true), style = getComputedStyle(picture);
      copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
      copy.setAttribute("style", `color:${style.color};background:${getComputedStyle(document.body).backgroundColor};font:12px sans-serif`);
      const file = URL.createObjectURL(new Blob([copy.outerHTML], { type: "image/svg+xml" }));
      element("a", { href: file, download: `${this.form.dataset.paper}_${this.fields.experiment.value}.svg` }).click();
      setTimeout(() => URL.revokeObjectURL(file), 1000);
    }

    // the list of learners is the legend: each name carries its mark
    keys(colour, symbol, rows) {
      const drawn = new Set(rows.map((row) => row.series));
      this.form.querySelectorAll(".learners label").forEach((label) => {
        const box = label.querySelector("input"), mark = label.querySelector("i");
        mark.textContent = ` ${GLYPHS[symbol.get(box.value)].sign} `;
        mark.style.color = colour.get(box.value);
        const missing = box.checked && !drawn.has(box.value);
        label.querySelector(".missing").textContent = missing ? " (no row at these settings)" : "";
      });
    }

    table(rows, called, across, response, hidden) {
      const head = ["learner", across, response, "from", "to", "runs"];
      const short = (value) => (value && Math.abs(value) < 1e-4 ? written(value.toExponential(4)) : Math.abs(value) < 1e5 ? value.toPrecision(5) : String(Math.round(value)));
      const body = rows.map((row) => element("tr", {}, ...[called.get(row.series), row.x === null ? "any" : exact(row.x), short(row.y), short(row.low), short(row.high), row.runs].map((cell) => element("td", { textContent: cell }))));
      const table = element("table", {}, element("caption", { className: "unseen", textContent: "Numbers of the chart" }), element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { textContent: name, scope: "col" })))), element("tbody", {}, ...body));
      this.form.querySelector(".numbers .scroll").replaceChildren(table);
      this.form.querySelector(".numbers summary").textContent = `the numbers (${rows.length} cells${hidden ? `, ${hidden} not positive and not on a log axis` : ""})`;
    }
  }

  const drawn = () => [...document.querySelectorAll(".page.shown .explorer")].filter((form) => form.explorer);
  dpregret.opened.push((page, query) => page.querySelectorAll(".explorer").forEach((form) => {
    if (!Object.keys(papers[form.dataset.paper].experiments).length) { form.hidden = true; return; }
    const asked = ["experiment", "axis", "show"].some((name) => query.has(name));
    if (!form.explorer) form.explorer = new Explorer(form);
    else if (!asked) { form.explorer.draw(); return; }
    form.explorer.ask(query);
  }));
  dpregret.painted.push(() => drawn().forEach((form) => form.explorer.draw()));
  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => drawn().forEach((form) => form.explorer.draw()), 150);
  });
})();
