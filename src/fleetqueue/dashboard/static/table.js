// A table that is sorted by its headings. Rows that did not change stay as they are, so that what
// is selected or focused in them survives the next snapshot.

import { h, fill } from "./dom.js";

const STEP = 200;

export class Table {
  // columns: { label, cell(row), value(row)?, kind?, isOptional? }, kind: name, number, long, or spare, which
  // only wide pages show; optional ones are there when some row has a value. `sort` is the label of a column.
  constructor(caption, columns, { key, sort = null, descending = false, empty = "None." }) {
    this.columns = columns;
    this.key = key;
    this.sort = sort === null ? null : columns.findIndex((column) => column.label === sort);
    this.descending = descending;
    this.rows = [];
    this.shown = STEP;
    this.known = new Map();
    this.heads = columns.map((column, index) => this.head(column, index));
    this.body = h("tbody", { role: "rowgroup" });
    this.empty = h("p", { class: "quiet", hidden: true }, empty);
    this.more = h("button", { type: "button", class: "more", hidden: true, onclick: () => this.grow() });
    // Roles are said, since a narrow page lays the table out as cards, which browsers take for none.
    const table = h("table", { class: "cards", role: "table" }, caption ? h("caption", null, caption) : "",
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, this.heads)), this.body);
    this.scroll = h("div", { class: "scroll" }, table);
    this.element = h("div", null, this.scroll, this.empty, this.more);
  }

  head(column, index) {
    const kind = ["number", "spare"].includes(column.kind) ? column.kind : null;
    if (!column.value) return h("th", { scope: "col", role: "columnheader", class: kind }, column.label);
    const button = h("button", { type: "button", onclick: () => this.sortBy(index) }, column.label);
    return h("th", { scope: "col", role: "columnheader", class: kind }, button);
  }

  sortBy(index) {
    this.descending = this.sort === index ? !this.descending : false;
    this.sort = index;
    this.draw();
  }

  grow() {
    this.shown += STEP;
    this.draw();
  }

  update(rows) {
    this.rows = rows;
    this.draw();
  }

  draw() {
    this.heads.forEach((head, index) => {
      if (index === this.sort) head.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const hidden = this.columns.map((column) => Boolean(column.isOptional) && !this.rows.some(column.value));
    this.heads.forEach((head, index) => { head.hidden = hidden[index]; });
    const shown = this.sorted().slice(0, this.shown);
    const known = new Map();
    const elements = shown.map((row) => {
      const key = this.key(row);
      const text = JSON.stringify([row, hidden]);
      const before = this.known.get(key);
      const entry = before && before.text === text ? before : { text, element: this.line(row, hidden) };
      known.set(key, entry);
      return entry.element;
    });
    this.known = known;
    this.place(elements);
    const left = this.rows.length - shown.length;
    this.more.hidden = left <= 0;
    fill(this.more, `Show more (${left} left)`);
    this.empty.hidden = this.rows.length > 0;
    this.scroll.hidden = this.rows.length === 0;
  }

  place(elements) {
    const children = this.body.children;
    elements.forEach((element, index) => {
      if (children[index] !== element) this.body.insertBefore(element, children[index] || null);
    });
    while (children.length > elements.length) this.body.lastChild.remove();
  }

  sorted() {
    if (this.sort === null) return this.rows;
    const value = this.columns[this.sort].value;
    const sign = this.descending ? -1 : 1;
    return [...this.rows].sort((left, right) => sign * compare(value(left), value(right)));
  }

  line(row, hidden) {
    return h("tr", { role: "row" }, this.columns.map((column, index) => {
      const inside = h("div", null, column.cell(row));
      const attributes = { role: "cell", "data-label": column.label, class: column.kind, hidden: hidden[index] };
      return h("td", attributes, inside.hasChildNodes() ? inside : "");
    }));
  }
}

function compare(left, right) {
  if (typeof left === "number" && typeof right === "number") return left - right;
  return String(left).localeCompare(String(right), undefined, { numeric: true });
}
