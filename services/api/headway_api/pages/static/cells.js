// The cells of one row of a large grid: a path for each state, and one of the dots that mark further
// attempts.  The newest runs have paths of their own: most changes are there, and draw little again.
const STATE = 15; // the bits of a cell's byte that tell its state
const NEWEST = 5; // runs
const RETRIED = "retried";

export class RowOfCells {
  /** Draw the row at this place of a grid; `grid` tells what its cells are at any time. */
  constructor(grid, { task_id: task, name }, nth) {
    this.grid = grid;
    this.nth = nth;
    this.name = name ?? task;
    this.bytes = new Uint8Array(0);
    this.paths = new Map();
    this.element = grid.element("svg", { class: "cells", height: grid.side, role: "img" });
    this.element.dataset.task = task;
    this.update();
  }

  /** Draw what has changed. */
  update() {
    const [before, bytes] = [this.bytes, this.now()];
    const [count, split] = [bytes.length, Math.max(bytes.length - NEWEST, 0)];
    const resized = before.length !== count;
    const differs = (from, until) => {
      for (let place = from; place < until; place += 1) if (bytes[place] !== before[place]) return true;
      return resized;
    };
    const [older, newer] = [differs(0, split), differs(split, count)];
    if (!older && !newer) return;
    this.bytes = bytes;
    if (resized) this.element.setAttribute("width", count * this.grid.side);
    if (older) this.draw("", 0, split);
    if (newer) this.draw("new ", split, count);
    this.element.setAttribute("aria-label", `${this.name}: ${this.said()}`);
  }

  /** Return the bytes of the row's cells, that of the oldest run first. */
  now() {
    const { cells, header } = this.grid;
    const [count, rows] = [header.columns.length, header.rows.length];
    const bytes = new Uint8Array(count);
    for (let place = 0; place < count; place += 1) bytes[count - 1 - place] = cells[place * rows + this.nth];
    return bytes;
  }

  /** Draw the cells from one place until another, whose paths are kept by what they are called. */
  draw(called, from, until) {
    const shapes = this.shapes(from, until);
    for (const [name, path] of this.paths) {
      if (!name.startsWith(called) || name.includes(" ") !== called.includes(" ")) continue;
      if (shapes.has(name.slice(called.length))) continue;
      path.remove();
      this.paths.delete(name);
    }
    for (const [name, shape] of shapes) this.pathOf(called + name, name).setAttribute("d", shape);
  }

  /** Return what paths of these cells look like, by their classes. */
  shapes(from, until) {
    const { header, side } = this.grid;
    const end = ` 1h${side - 2}v${side - 2}h-${side - 2}z`;
    const found = new Map();
    const add = (name, shape) => found.set(name, (found.get(name) ?? "") + shape);
    for (let place = from; place < until; place += 1) {
      const state = header.states[this.bytes[place] & STATE];
      if (state) add(`s-${state}`, `M${place * side + 1}${end}`);
      if (state && this.bytes[place] & header.retried) add(RETRIED, `M${(place + 1) * side - 6} 3h3v3h-3z`);
    }
    return found;
  }

  pathOf(key, name) {
    const known = this.paths.get(key);
    if (known) return known;
    const made = this.grid.element("path", { class: name });
    this.paths.set(key, made);
    if (name === RETRIED) this.element.insertBefore(made, this.element.querySelector(".chosen"));
    else this.element.prepend(made); // below the dots, and what is chosen
    return made;
  }

  said() {
    const counts = new Map();
    for (const byte of this.bytes) {
      const state = this.grid.header.states[byte & STATE];
      if (state) counts.set(state, (counts.get(state) ?? 0) + 1);
    }
    return [...counts].map(([state, count]) => `${count} ${state.replaceAll("_", " ")}`).join(", ");
  }
}
