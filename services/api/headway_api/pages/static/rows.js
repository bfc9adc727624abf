// Rows of a large grid: only those in sight are elements.  The cells come once, a byte each, and
// again when something has changed.
import { keepOut } from "./morph.js";

const BEYOND = 12; // rows that are drawn above and below what is in sight
const drawers = new WeakMap();

/** Draw the rows of a table's body, if the page has not all of them. */
export function followRows(body, afterwards) {
  if (!body?.dataset.cells) return;
  let drawer = drawers.get(body);
  if (!drawer) {
    drawer = new Rows(body, afterwards);
    drawers.set(body, drawer);
  }
  drawer.load().catch(() => undefined); // the rows that the page has stay
}

class Rows {
  constructor(body, afterwards) {
    this.body = body;
    this.afterwards = afterwards;
    this.shown = "";
    this.drawn = new Map();
    this.look = () => this.draw(false);
    this.svg = body.querySelector("svg").namespaceURI;
    this.above = gap();
    this.below = gap();
  }

  async load() {
    const answer = await fetch(this.body.dataset.cells);
    if (!answer.ok) return;
    const first = this.header === undefined;
    this.read(new Uint8Array(await answer.arrayBuffer()));
    if (first) this.begin();
    this.draw(true);
  }

  read(bytes) {
    const length = new DataView(bytes.buffer).getUint32(0);
    this.header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
    this.cells = bytes.subarray(4 + length);
    const part = this.body.dataset.part.toLowerCase();
    const all = this.header.rows.map((row, nth) => ({ ...row, nth }));
    this.rows = all.filter((row) => row.task_id.toLowerCase().includes(part));
    const runs = this.header.columns.map((column) => column.run_id).reverse();
    if (runs.join() !== this.runs?.join()) this.drawn.clear();
    this.runs = runs;
  }

  begin() {
    keepOut(this.body);
    this.height = this.body.querySelector("tr").getBoundingClientRect().height;
    this.first = Number(this.body.dataset.first);
    this.body.dataset.drawn = ""; // what leads to other rows is not needed any more
    window.addEventListener("scroll", this.look, { passive: true });
    window.addEventListener("resize", this.look, { passive: true });
  }

  draw(anyway) {
    const top = -this.body.getBoundingClientRect().top / this.height;
    const seen = window.innerHeight / this.height;
    const step = BEYOND / 2; // so that a little scrolling draws nothing
    const from = Math.max(0, Math.floor((top - BEYOND) / step) * step);
    const until = Math.min(this.rows.length, Math.ceil((top + seen + BEYOND) / step) * step);
    if (!anyway && this.shown === `${from}-${until}`) return;
    this.shown = `${from}-${until}`;
    const drawn = this.rows.slice(from, until).map((row) => this.row(row));
    this.drawn = new Map(drawn.map((row) => [row.element.dataset.task, row]));
    this.above.firstElementChild.style.height = `${from * this.height}px`;
    this.below.firstElementChild.style.height = `${(this.rows.length - until) * this.height}px`;
    replaceChildren(this.body, [this.above, ...drawn.map((row) => row.element), this.below]);
    this.afterwards(this.rows.map((row) => row.task_id));
  }

  /** Return a row and its cells; one that is drawn stays for as long as its cells are the same. */
  row({ task_id: task, mapped, nth }) {
    const count = this.header.rows.length;
    const cells = this.runs.map((_, place) => this.cells[place * count + nth]).join();
    const known = this.drawn.get(task);
    return known?.cells === cells ? known : { cells, element: this.rowElement(task, mapped, nth) };
  }

  rowElement(task, mapped, nth) {
    const name = document.createElement("th");
    name.scope = "row";
    name.textContent = mapped ? `${task} (mapped)` : task;
    const cells = document.createElement("td");
    cells.append(this.drawing(task, nth));
    const row = document.createElement("tr");
    row.dataset.task = task;
    row.append(name, cells);
    return row;
  }

  drawing(task, nth) {
    const side = Number(this.body.dataset.cell);
    const drawing = this.element("svg", { class: "cells", width: this.runs.length * side, height: side });
    drawing.dataset.task = task;
    const { paths, retried, counts } = this.paths(nth, side);
    for (const [state, path] of paths) drawing.append(this.element("path", { class: `s-${state}`, d: path }));
    if (retried) drawing.append(this.element("path", { class: "retried", d: retried }));
    drawing.setAttribute("role", "img");
    const said = [...counts].map(([state, count]) => `${count} ${state.replaceAll("_", " ")}`);
    drawing.setAttribute("aria-label", `${task}: ${said.join(", ")}`);
    return drawing;
  }

  paths(nth, side) {
    const [paths, counts] = [new Map(), new Map()];
    let retried = "";
    const [count, last] = [this.header.rows.length, this.runs.length - 1];
    for (let place = 0; place <= last; place += 1) {
      const byte = this.cells[(last - place) * count + nth];
      const state = this.header.states[byte & 15];
      if (!state) continue;
      const square = `M${place * side + 1} 1h${side - 2}v${side - 2}h-${side - 2}z`;
      paths.set(state, (paths.get(state) ?? "") + square);
      counts.set(state, (counts.get(state) ?? 0) + 1);
      if (byte & this.header.retried) retried += `M${(place + 1) * side - 6} 3h3v3h-3z`;
    }
    return { paths, retried, counts };
  }

  element(name, attributes) {
    const made = document.createElementNS(this.svg, name);
    for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
    return made;
  }
}

/** Have these children in an element, and touch none that is in its place. */
function replaceChildren(parent, children) {
  const before = [...parent.children];
  if (before.length !== children.length) parent.replaceChildren(...children);
  else if (before.some((child, nth) => child !== children[nth] && children.includes(child))) parent.replaceChildren(...children);
  else before.forEach((child, nth) => child === children[nth] || child.replaceWith(children[nth]));
}

function gap() {
  const row = document.createElement("tr");
  row.className = "gap";
  row.append(document.createElement("td"));
  return row;
}
