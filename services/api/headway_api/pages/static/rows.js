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
    const asked = this.body.dataset.cells;
    const answer = await fetch(asked);
    if (!answer.ok) return;
    const bytes = new Uint8Array(await answer.arrayBuffer());
    if (asked !== this.body.dataset.cells) return; // a group was folded meanwhile
    const first = this.header === undefined;
    this.read(bytes);
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
    const focused = document.activeElement?.closest(".grid tr")?.dataset.task;
    replaceChildren(this.body, [this.above, ...drawn.map((row) => row.element), this.below]);
    for (const link of this.body.querySelectorAll(".fold")) link.href = addressFolding(link.closest("tr").dataset.task);
    const now = focused && this.drawn.get(focused)?.element.querySelector("a");
    if (now && document.activeElement !== now) now.focus({ preventScroll: true });
    this.afterwards(this.rows.map((row) => row.task_id));
  }

  /** Return a row and its cells; one that is drawn stays for as long as it is the same. */
  row({ nth, ...row }) {
    const count = this.header.rows.length;
    const cells = this.runs.map((_, place) => this.cells[place * count + nth]).join();
    const known = this.drawn.get(row.task_id);
    const same = known?.cells === cells && known.row.folded === row.folded && known.row.size === row.size;
    return same ? known : { row, cells, element: this.rowElement(row, nth) };
  }

  rowElement(row, nth) {
    const name = document.createElement("th");
    name.scope = "row";
    if (row.depth) name.className = `in-${Math.min(row.depth, 6)}`;
    name.append(...(row.size ? groupName(row) : taskName(row)));
    const cells = document.createElement("td");
    cells.append(this.drawing(row.task_id, row.name ?? row.task_id, nth));
    const drawn = document.createElement("tr");
    drawn.dataset.task = row.task_id;
    drawn.append(name, cells);
    return drawn;
  }

  drawing(task, name, nth) {
    const side = Number(this.body.dataset.cell);
    const drawing = this.element("svg", { class: "cells", width: this.runs.length * side, height: side });
    drawing.dataset.task = task;
    const { paths, retried, counts } = this.paths(nth, side);
    for (const [state, path] of paths) drawing.append(this.element("path", { class: `s-${state}`, d: path }));
    if (retried) drawing.append(this.element("path", { class: "retried", d: retried }));
    drawing.setAttribute("role", "img");
    const said = [...counts].map(([state, count]) => `${count} ${state.replaceAll("_", " ")}`);
    drawing.setAttribute("aria-label", `${name}: ${said.join(", ")}`);
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

function taskName({ task_id: task, name, mapped }) {
  if (!name) return [mapped ? `${task} (mapped)` : task];
  const shown = document.createElement("span");
  shown.title = task;
  shown.textContent = mapped ? `${name} (mapped)` : name;
  return [shown];
}

function groupName({ task_id: group, name, size, folded, told }) {
  const [link, mark, tasks] = ["a", "span", "small"].map((tag) => document.createElement(tag));
  mark.setAttribute("aria-hidden", "true");
  mark.textContent = folded ? "▸ " : "▾ ";
  link.className = "fold";
  link.setAttribute("aria-expanded", String(!folded));
  link.title = `${group}${told ? `: ${told}` : ""}. ${folded ? "Unfold" : "Fold"} this group`;
  link.append(mark, name || group);
  tasks.textContent = size === 1 ? "1 task" : `${size} tasks`;
  return [link, " ", tasks];
}

/** Return the address of this page with a group folded, or unfolded if it is. */
function addressFolding(group) {
  const address = new URL(location.href);
  const before = address.searchParams.getAll("folded");
  address.searchParams.delete("folded");
  for (const name of before) if (name !== group) address.searchParams.append("folded", name);
  if (!before.includes(group)) address.searchParams.append("folded", group);
  return address;
}

function gap() {
  const row = document.createElement("tr");
  row.className = "gap";
  row.append(document.createElement("td"));
  return row;
}
