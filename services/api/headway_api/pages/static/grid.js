// Cells of a grid lead to their task instances: a cell is a place on a row, not an element.

/** Have cells of the grid on this page, if there is one, answer clicks and say what they are. */
export function followGrid() {
  const runs = [...document.querySelectorAll(".grid .columns a")];
  for (const row of document.querySelectorAll(".grid .cells:not([data-ready])")) {
    row.dataset.ready = "";
    row.addEventListener("click", (event) => {
      const run = runs[placeOf(row, event, runs.length)];
      if (run) location.assign(`${run.getAttribute("href")}/tasks/${encodeURIComponent(row.dataset.task)}`);
    });
  }
}

function placeOf(row, event, number) {
  const box = row.getBoundingClientRect();
  return Math.floor(((event.clientX - box.left) / box.width) * number);
}
