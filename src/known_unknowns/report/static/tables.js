// Tables: sort by a column, filter rows, hide columns. Columns that do not fit are hidden until the reader chooses.
"use strict";
window.KnownUnknowns = (() => {
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  const FOLD = 480; // px
  const text = (cell) => (cell ? cell.textContent.replace(/\s+/g, " ").trim() : "");
  const shown = (cell) => text(cell.querySelector(".value") || cell.querySelector(".name") || cell);

  class DataTable {
    constructor(box) {
      this.box = box;
      this.scroll = box.querySelector(".scroll");
      this.table = box.querySelector("table");
      const lines = [...this.table.tHead.rows];
      this.heads = [...lines.at(-1).cells];
      this.groups = lines.length > 1 ? [...lines[0].cells].map((cell) => ({ cell, span: cell.colSpan })) : [];
      this.rows = [...this.table.tBodies[0].rows];
      this.body = this.table.tBodies[0];
      this.names = this.columnNames();
      this.hidden = new Set(); // by the reader
      this.left = new Set(); // do not fit
      this.chosen = false;
      this.corner = this.heads.filter((_, index) => this.isRowHead(index)).length;
      this.addFolded();
      this.addSort();
      this.addTools();
      this.foldBaselines();
      this.apply();
      this.fit();
    }

    columnNames() {
      const group = this.groups.flatMap(({ cell, span }) => Array(span).fill(text(cell)));
      return this.heads.map((head, index) => [group[index], shown(head)].filter(Boolean).join(": "));
    }

    isRowHead(index) {
      const row = this.rows.find((row) => !this.isBand(row));
      return Boolean(row && row.cells[index] && row.cells[index].tagName === "TH");
    }

    isBand(row) {
      return row.classList.contains("band");
    }

    // On a phone, the row heads beside the first are shown below it.
    addFolded() {
      for (const row of this.corner > 1 ? this.rows.filter((row) => !this.isBand(row)) : []) {
        const others = [...row.cells].slice(1, this.corner).map(shown).filter(Boolean);
        row.cells[0].append(element("span", { class: "folded" }, others.join(" \u00b7 ")));
      }
    }

    isFolded(index) {
      return this.table.classList.contains("fold") && index > 0 && index < this.corner;
    }

    // Sorting

    addSort() {
      this.heads.forEach((head, index) => {
        const name = head.querySelector(".name");
        if (!name) return;
        const button = element("button", { type: "button", class: "sort", title: name.title || undefined, onclick: () => this.sort(index) });
        name.replaceWith(button);
        button.append(name);
      });
    }

    sort(index) {
      const numeric = this.rows.some((row) => !this.isBand(row) && Number.isFinite(number(row.cells[index])));
      const first = numeric ? "descending" : "ascending";
      const second = numeric ? "ascending" : "descending";
      const now = this.heads[index].getAttribute("aria-sort");
      const next = now === first ? second : now === second ? null : first;
      this.heads.forEach((head) => head.removeAttribute("aria-sort"));
      if (next) this.heads[index].setAttribute("aria-sort", next);
      this.table.classList.toggle("sorted", Boolean(next));
      const sign = next === "descending" ? -1 : 1;
      const order = (a, b) => {
        const last = Number(a.classList.contains("baseline")) - Number(b.classList.contains("baseline"));
        if (last) return last;
        if (!numeric) return sign * shown(a.cells[index]).localeCompare(shown(b.cells[index]));
        const [x, y] = [number(a.cells[index]), number(b.cells[index])];
        if (!Number.isFinite(x) || !Number.isFinite(y)) return Number.isFinite(y) - Number.isFinite(x);
        return sign * (x - y);
      };
      const rows = next ? this.rows.filter((row) => !this.isBand(row)).sort(order) : this.rows;
      this.body.replaceChildren(...rows);
    }

    // Baselines of a compact table are shown on request, unless there are no models.

    foldBaselines() {
      const baselines = this.rows.filter((row) => row.classList.contains("baseline"));
      if (!this.box.matches(".compact") || !baselines.length || baselines.length === this.rows.length) return;
      const button = element("button", { type: "button", "aria-expanded": "false", onclick: () => {
        this.folded = !this.folded;
        button.setAttribute("aria-expanded", !this.folded);
        this.filter(this.query);
        this.fit();
      } }, `${baselines.length} baseline${baselines.length > 1 ? "s" : ""}`);
      this.box.querySelector(".tools").prepend(button);
      this.folded = true;
      this.filter("");
    }

    // Filter and columns

    filter(query) {
      this.query = query;
      const terms = query.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of this.rows) {
        const content = this.isBand(row) ? "" : text(row).toLowerCase();
        const found = !terms.length || (!this.isBand(row) && terms.every((term) => content.includes(term)));
        const folds = this.folded && !this.printed && !terms.length;
        row.hidden = !found || Boolean(folds && row.classList.contains("baseline"));
      }
    }

    // In print, columns that do not fit the window and baselines are shown; what the reader hid is named.

    print(on) {
      this.printed = on;
      if (this.query !== undefined) this.filter(this.query);
      this.apply();
      const columns = [...this.hidden].sort((a, b) => a - b).map((index) => this.names[index]);
      const rows = this.rows.filter((row) => row.hidden).length;
      this.absent.textContent = !on ? "" : [columns.length ? `Columns not printed: ${columns.join(", ")}.` : "",
        rows ? `Rows not printed, because they do not contain \u201c${this.query}\u201d: ${rows} of ${this.rows.length}.` : ""].join(" ").trim();
    }

    apply() {
      const gone = (index) => this.hidden.has(index) || (!this.printed && (this.left.has(index) || this.isFolded(index)));
      const visible = this.heads.filter((_, index) => !gone(index)).length;
      for (const row of [this.heads[0].parentElement, ...this.rows, ...(this.table.tFoot ? this.table.tFoot.rows : [])]) {
        if (this.isBand(row)) row.cells[0].colSpan = visible;
        else [...row.cells].forEach((cell, index) => { cell.hidden = gone(index); });
      }
      let index = 0;
      for (const { cell, span } of this.groups) {
        let count = 0;
        for (let place = 0; place < span; place++) count += gone(index++) ? 0 : 1;
        cell.hidden = count === 0;
        if (count) cell.colSpan = count;
      }
      this.boxes?.forEach((input, place) => { input.checked = !gone(place); });
      const missing = this.heads.filter((_, index) => this.hidden.has(index) || this.left.has(index)).length;
      if (this.status) this.status.textContent = missing ? `${missing} of ${this.heads.length} columns hidden` : "";
    }

    fit() {
      if (!this.scroll.clientWidth) return;
      this.scroll.classList.remove("fits");
      this.fitColumns();
      // Nothing scrolls sideways, so that the heads can stay below the bar of the page.
      this.scroll.classList.toggle("fits", this.scroll.scrollWidth <= this.scroll.clientWidth + 1);
    }

    fitColumns() {
      const fold = this.corner > 1 && this.scroll.clientWidth < FOLD;
      if (this.table.classList.toggle("fold", fold) !== this.folds) { this.folds = fold; this.apply(); }
      if (this.chosen) return;
      if (this.left.size) { this.left.clear(); this.apply(); }
      let index = this.heads.length - 1;
      for (;;) {
        const over = this.scroll.scrollWidth - this.scroll.clientWidth;
        if (over <= 1 || index <= this.corner) break;
        for (let width = 0; width < over && index > this.corner; index--) { // as many columns as are too wide, at once
          width += this.heads[index].offsetWidth;
          this.left.add(index);
        }
        this.apply();
      }
    }

    choose(index, on) {
      this.chosen = true;
      for (const place of this.left) this.hidden.add(place);
      this.left.clear();
      if (on) this.hidden.delete(index);
      else this.hidden.add(index);
      this.apply();
    }

    addTools() {
      const caption = text(this.table.caption);
      const tools = element("div", { class: "tools" });
      if (this.rows.length > 3) {
        tools.append(element("input", {
          type: "search", placeholder: "Filter rows", "aria-label": `Filter rows: ${caption}`,
          oninput: (event) => this.filter(event.target.value),
        }));
      }
      this.boxes = this.names.map((_, index) =>
        element("input", { type: "checkbox", onchange: (event) => this.choose(index, event.target.checked) }));
      const choices = this.names.map((name, index) => element("label", {}, this.boxes[index], ` ${name}`));
      const formats = Object.entries(KnownUnknowns.formats || {}).map(([name, format]) =>
        element("button", { type: "button", onclick: () => KnownUnknowns.save(format(this.contents()), caption) }, name));
      this.status = element("span", { class: "small", role: "status" });
      tools.append(menu("Columns", choices.slice(this.corner)), menu("Export", formats), this.status);
      this.absent = element("p", { class: "small unprinted" });
      this.box.append(tools, this.absent);
    }

    // What is exported: the visible rows, and all columns but those that the reader hid.
    contents() {
      const columns = this.heads.map((_, index) => index).filter((index) => !this.hidden.has(index));
      const sorted = this.table.classList.contains("sorted");
      const row = (line) => columns.map((index) => parts(line.cells[index], !sorted));
      const note = (head) => text(head.querySelector(".note"));
      const head = (name, index) => [name, note(this.heads[index])].filter(Boolean).join(", ");
      const groups = this.groups.flatMap(({ cell, span }) => Array(span).fill(text(cell)));
      const after = this.box.nextElementSibling;
      const notes = after && (after.matches(".small") ? after : after.matches(".data") ? after.querySelector(".footnotes") : null);
      return {
        caption: text(this.table.caption),
        heads: columns.map((index) => head(this.names[index], index)),
        own: columns.map((index) => head(shown(this.heads[index]), index)),
        groups: groups.length ? columns.map((index) => groups[index]) : [],
        rows: [...this.body.rows].filter((line) => !line.hidden).map((line) => (this.isBand(line) ? text(line) : row(line))),
        foot: [...(this.table.tFoot ? this.table.tFoot.rows : [])].map(row),
        notes: notes ? (notes.matches("ul") ? [...notes.children] : [notes]).map((item) => {
          const mark = text(item.querySelector("sup"));
          return { mark, text: text(item).slice(mark.length).trim() };
        }) : [],
        caveat: this.box.closest("[data-caveat]")?.dataset.caveat || "",
        corner: this.corner,
      };
    }
  }

  function parts(cell, grouped = false) {
    if (!cell) return { value: "", low: "", high: "", n: "", note: "", mark: "", repeated: false };
    const bounds = text(cell.querySelector(".bounds")).match(/^\[(\S+), (\S+)\]$/);
    const n = text(cell.querySelector(".count-n")).replace(/^n = |,/g, "");
    return {
      value: shown(cell), low: bounds ? bounds[1] : "", high: bounds ? bounds[2] : "", n, note: text(cell.querySelector(".note")),
      mark: text(cell.querySelector("sup")), repeated: grouped && cell.classList.contains("repeated"),
    };
  }

  function number(cell) {
    const found = cell ? shown(cell).replace(/,/g, "").match(/^[<±]?\s*([+-]?\d+(\.\d+)?)/) : null;
    return found ? Number(found[1]) : NaN;
  }

  function menu(label, children) {
    const made = element("details", { class: "menu" }, element("summary", {}, label), element("div", {}, ...children));
    made.addEventListener("keydown", (event) => { if (event.key === "Escape") made.open = false; });
    return made;
  }

  document.addEventListener("click", (event) => {
    for (const open of document.querySelectorAll("details.menu[open]")) {
      if (!open.contains(event.target)) open.open = false;
    }
  });

  const made = new Map();
  function enhance(root) {
    for (const box of root.querySelectorAll(".table-box")) {
      if (!made.has(box) && box.querySelector(".scroll").clientWidth) made.set(box, new DataTable(box));
    }
  }

  // A table in a closed part of the page has no width; it is made when the part is shown.
  function refresh() {
    const bar = document.querySelector(".bar");
    if (bar) document.documentElement.style.setProperty("--bar", `${bar.offsetHeight}px`);
    enhance(document);
    for (const table of made.values()) table.fit();
  }

  document.addEventListener("DOMContentLoaded", refresh);
  window.addEventListener("beforeprint", () => { for (const table of made.values()) table.print(true); });
  window.addEventListener("afterprint", () => { for (const table of made.values()) table.print(false); });
  document.addEventListener("toggle", (event) => {
    if (!event.target.classList.contains("menu")) enhance(event.target);
  }, true);
  let waiting = 0;
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(refresh);
  });
  return { element, enhance, refresh, text };
})();
