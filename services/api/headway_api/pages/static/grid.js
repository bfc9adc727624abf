// Cells of a grid: a cell is a place on a row, not an element.  A click, or the arrows, choose one;
// with shift a rectangle.  What is chosen is in the address, and the API draws the panel for it.
import { afterEach, drawCellsBy, visit } from "./live.js";
import { followRows, shownCells, takeCells } from "./rows.js";

const followed = new WeakSet();
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Have cells of the grid on this page, if there is one, answer clicks and keys. */
function followGrid() {
  const grid = document.querySelector(".grid");
  if (!grid) return;
  const body = grid.querySelector("tbody");
  if (body.dataset.cells) followRows(body, showChosen);
  if (followed.has(grid)) return;
  followed.add(grid);
  grid.addEventListener("click", (event) => {
    const row = event.target.closest(".cells");
    if (row) choose(runs()[placeOf(row, event)], row.dataset.task, event.shiftKey);
  });
  grid.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target === grid) document.querySelector("#panel > h2 a")?.click();
    if (!STEPS[event.key] || event.target !== grid) return;
    event.preventDefault();
    step(...STEPS[event.key], event.shiftKey);
  });
}

function runs() {
  return [...document.querySelectorAll(".grid .columns a")].map((column) => column.dataset.run);
}

function tasks() {
  return [...document.querySelectorAll(".grid .cells")].map((row) => row.dataset.task);
}

/** Outline what is chosen in the rows that a script has drawn; `names` are all tasks in order. */
function showChosen(names) {
  const asked = new URL(location.href).searchParams;
  const [left, right] = between(runs(), asked.get("at_run"), asked.get("to_run"));
  const [top, bottom] = between(names, asked.get("at_task"), asked.get("to_task"));
  for (const before of document.querySelectorAll(".grid .cells .chosen")) before.remove();
  if (left < 0 || top < 0) return;
  for (const row of document.querySelectorAll(".grid .cells")) {
    const nth = names.indexOf(row.dataset.task);
    if (nth >= top && nth <= bottom) outline(row, left, right);
  }
}

function between(names, one, other) {
  const places = [names.indexOf(one), names.indexOf(other ?? one)];
  return places.includes(-1) ? [-1, -1] : [Math.min(...places), Math.max(...places)];
}

function outline(row, left, right) {
  const side = Number(row.getAttribute("height"));
  const drawn = document.createElementNS(row.namespaceURI, "rect");
  const size = { x: left * side + 1, y: 1, width: (right - left + 1) * side - 2, height: side - 2 };
  for (const [name, value] of Object.entries(size)) drawn.setAttribute(name, value);
  drawn.setAttribute("class", "chosen");
  row.append(drawn);
}

function placeOf(row, event) {
  const box = row.getBoundingClientRect();
  return Math.floor(((event.clientX - box.left) / box.width) * runs().length);
}

function choose(run, task, toHere) {
  if (!run || !task) return;
  const address = new URL(location.href);
  const stretches = toHere && address.searchParams.has("at_run");
  if (!stretches) for (const name of ["to_run", "to_task"]) address.searchParams.delete(name);
  address.searchParams.set(stretches ? "to_run" : "at_run", run);
  address.searchParams.set(stretches ? "to_task" : "at_task", task);
  visit(address);
}

function step(across, down, toHere) {
  const asked = new URL(location.href).searchParams;
  const chosen = (name) => (toHere && asked.get(`to_${name}`)) || asked.get(`at_${name}`);
  const [columns, rows] = [runs(), tasks()];
  const column = moved(columns, chosen("run"), across, columns.length - 1);
  choose(column, moved(rows, chosen("task"), down, 0), toHere);
}

function moved(names, here, by, first) {
  const at = names.indexOf(here);
  return names[at < 0 ? first : Math.min(Math.max(at + by, 0), names.length - 1)];
}

drawCellsBy(shownCells, takeCells);
afterEach(followGrid);
