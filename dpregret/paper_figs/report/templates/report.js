"use strict";
(() => {
  const { element, place, unique } = dpregret;
  const root = document.documentElement;

  // pages: one is shown, that which holds the place of the address
  const pages = [...document.querySelectorAll(".page")];
  const links = [...document.querySelectorAll("header nav a")];
  const menu = document.querySelector(".menu");
  document.addEventListener("click", (event) => { if (menu && !menu.contains(event.target)) menu.open = false; });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && menu?.open) { menu.open = false; menu.querySelector("summary").focus(); }
  });
  const route = () => {
    if (menu) menu.open = false;
    const { id, query } = place();
    const target = document.getElementById(id) || pages[0];
    const page = target.closest(".page") || pages[0];
    pages.forEach((each) => each.classList.toggle("shown", each === page));
    links.forEach((link) => {
      if (link.hash === `#${page.id}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
    for (let open = target; open; open = open.parentElement) if (open.tagName === "DETAILS") open.open = true;
    if (target.matches("article.claim")) target.querySelector("details").open = true;
    document.querySelector(".aimed")?.classList.remove("aimed");
    if (target.matches("article, tr")) target.classList.add("aimed");
    document.title = `${page.querySelector("h1").textContent} - dpregret`;
    dpregret.opened.forEach((tell) => tell(page, query));
    if (target === page) window.scrollTo(0, 0); else target.scrollIntoView();
    const head = target === page ? page.querySelector("h1") : target.querySelector("summary, h3") || target;
    if (route.again) { if (!head.matches("summary, a")) head.tabIndex = -1; head.focus({ preventScroll: true }); }
    route.again = true;
  };
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the page that is shown stays
    document.getElementById("content").focus();
  });

  // figures, each a file of its own with the letters that it has
  dpregret.loading.push(dpregret.data("drawings").then(({ letters, figures }) => {
    document.querySelectorAll("img[data-drawing]").forEach((picture) => {
      const figure = figures[picture.dataset.drawing], used = unique(figure.match(/(?<=")#[^"]+/g) || []);
      const outlines = used.map((name) => letters[name.slice(1)] || "").join("");
      const parts = [figure.replace("</svg>", ""), "<defs>", outlines, "</defs></svg>"];
      picture.src = URL.createObjectURL(new Blob(parts, { type: "image/svg+xml" }));
    });
  }));

  // a claim that is opened shows its figure, and its command can be copied
  document.addEventListener("toggle", (event) => {
    const claim = event.target.open && event.target.closest("article.claim");
    if (!claim || claim.dataset.dressed) return;
    claim.dataset.dressed = "yes";
    const link = claim.querySelector("a.picture"), picture = link && document.getElementById(link.hash.slice(1))?.querySelector("img");
    if (picture) link.closest("dd").append(element("div", { className: "small-figure" }, picture.cloneNode(false)));
    const command = claim.querySelector(".command");
    const copy = element("button", { type: "button", textContent: "copy" });
    copy.setAttribute("aria-label", `copy the command of ${claim.dataset.title}`);
    copy.addEventListener("click", () => {
      getSelection().selectAllChildren(command);
      navigator.clipboard?.writeText(command.textContent).then(() => { copy.textContent = "copied"; }, () => {});
    });
    command.after(" ", copy);
  }, true);

  // tables sort by a click on a column's head
  const key = (cell) => {
    const words = cell.querySelector("data")?.value ?? cell.textContent.trim();
    const number = parseFloat(words.replace("−", "-"));
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
  const paint = (wanted) => { root.dataset.theme = wanted ? "dark" : "light"; dpregret.painted.forEach((tell) => tell()); };
  system.addEventListener("change", () => paint(system.matches));
  document.getElementById("theme").addEventListener("click", () => paint(!dpregret.dark()));
  root.dataset.theme = system.matches ? "dark" : "light";
  document.body.classList.add("routed");
  Promise.all(dpregret.loading).then(() => {
    route();
    window.addEventListener("hashchange", route);
  });
})();
