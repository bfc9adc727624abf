// Rows of a large grid: only those in sight are elements.  The cells come once, a byte each, and by
// the page's stream when something has changed.
import { RowOfCells } from "./cells.js";
import { keepOut } from "./morph.js";

const BEYOND = 12; // rows that are drawn above and below what is in sight
const drawers = new WeakMap();

/** Draw the rows of a table's body, if the page has not all of them. */
export function followRows(body, afterwards) {
  if (!drawers.has(body)) drawers.set(body, new Rows(body, afterwards));
  drawers.get(body).follow();
}

/** Return where the cells come from that a script draws; nothing if the page has all rows. */
export function shownCells() {
  const body = document.querySelector(".grid tbody");
  return drawers.has(body) ? body.dataset.cells : "";
}

/** Draw cells that came from that address. */
export function takeCells(bytes, asked) {
  drawers.get(document.querySelector(".grid tbody"))?.take(bytes, asked);
}

class Rows {
  constructor(body, afterwards) {
    this.body = body;
    this.afterwards = afterwards;
    this.shown = "";
    this.drawn = new Map();
    this.look = () => this.draw(false);
    this.svg = body.closest("table").querySelector("svg").namespaceURI; // that of the columns: rows may be missing
    this.side = Number(body.dataset.cell);
    this.above = gap();
    this.below = gap();
    keepOut(body, (wanted) => this.endsWith(wanted)); // before the cells are there: a stream's pages have no rows
  }

  /** Draw the rows of the page's address, whose cells the stream keeps up to date. */
  follow() {
    const asked = this.body.dataset.cells;
    if (asked !== this.asked) this.load(asked).catch(() => undefined); // the rows that the page has stay
    else if (this.header) this.drawAll();
  }

  async load(asked) {
    this.asked = asked;
    const answer = await fetch(asked);
    if (answer.ok) this.take(new Uint8Array(await answer.arrayBuffer()), asked);
  }

  /** Draw what has changed; nothing if a group was folded meanwhile. */
  take(bytes, asked) {
    if (asked !== this.body.dataset.cells) return;
    const end = 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
    const [head, before] = [bytes.subarray(4, end), this.head];
    this.cells = bytes.subarray(end);
    if (before && areSame(head, before)) {
      for (const { cells } of this.drawn.values()) cells.update();
      return;
    }
    this.head = head;
    this.header = JSON.parse(new TextDecoder().decode(head));
    if (!before) this.begin();
    this.drawAll();
  }

  /** Stop drawing if a page has all rows itself, as when there are fewer tasks now. */
  endsWith(wanted) {
    if (wanted.dataset.cells) return false;
    window.removeEventListener("scroll", this.look);
    window.removeEventListener("resize", this.look);
    drawers.delete(this.body);
    return true;
  }

  begin() {
    // A page that came by the stream has no rows.
    if (!this.body.querySelector("tr")) this.body.append(this.row({ ...this.header.rows[0], nth: 0 }).element);
    this.height = this.body.querySelector("tr").getBoundingClientRect().height;
    window.addEventListener("scroll", this.look, { passive: true });
    window.addEventListener("resize", this.look, { passive: true });
  }

  drawAll() {
    const part = this.body.dataset.part.toLowerCase();
    const all = this.header.rows.map((row, nth) => ({ ...row, nth }));
    this.rows = all.filter((row) => row.task_id.toLowerCase().includes(part));
    this.draw(true);
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
    this.drawn = new Map(drawn.map((row) => [row.row.task_id, row]));
    this.above.firstElementChild.style.height = `${from * this.height}px`;
    this.below.firstElementChild.style.height = `${(this.rows.length - until) * this.height}px`;
    const focused = document.activeElement?.closest(".grid tr")?.dataset.task;
    replaceChildren(this.body, [this.above, ...drawn.map((row) => row.element), this.below]);
    for (const link of this.body.querySelectorAll(".fold")) link.href = addressFolding(link.closest("tr").dataset.task);
    const now = focused && this.drawn.get(focused)?.element.querySelector("a");
    if (now && document.activeElement !== now) now.focus({ preventScroll: true });
    this.afterwards(this.rows.map((row) => row.task_id));
  }

  /** Return a row and its cells; one that is drawn stays for as long as it says the same. */
  row({ nth, ...row }) {
    const known = this.drawn.get(row.task_id);
    const same = known && known.row.folded === row.folded && known.row.size === row.size;
    if (!same) return this.newRow(row, nth);
    known.cells.nth = nth;
    known.cells.update();
    return known;
  }

  newRow(row, nth) {
    const name = document.createElement("th");
    name.scope = "row";
    if (row.depth) name.className = `in-${Math.min(row.depth, 6)}`;
    name.append(...(row.size ? groupName(row) : taskName(row)));
    const cells = new RowOfCells(this, row, nth);
    const place = document.createElement("td");
    place.append(cells.element);
    const element = document.createElement("tr");
    element.dataset.task = row.task_id;
    element.append(name, place);
    return { row, cells, element };
  }

  element(name, attributes) {
    const made = document.createElementNS(this.svg, name);
    for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
    return made;
  }
}

function areSame(one, other) {
  if (one.length !== other.length) return false;
  for (let nth = 0; nth < one.length; nth += 1) if (one[nth] !== other[nth]) return false;
  return true;
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
