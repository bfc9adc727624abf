// Keys: ? shows them all.
import { toggleTheme } from "./theme.js";

const PAGES = { h: "/", d: "/dags", b: "/backfills", p: "/pools", j: "/journal" };

/** Listen to keys, but not where text is typed. */
export function listenToKeys() {
  let last = "";
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (act(event.key, last)) event.preventDefault();
    last = event.key;
  });
}

function act(key, last) {
  if (last === "g" && PAGES[key]) {
    location.assign(PAGES[key]);
    return true;
  }
  const actions = {
    "/": search,
    "?": help,
    t: toggleTheme,
    j: () => move(1),
    k: () => move(-1),
    Escape: () => document.querySelector("[data-key=Escape]")?.click(),
  };
  if (!actions[key]) return false;
  actions[key]();
  return true;
}

function search() {
  document.querySelector("[data-key='/']")?.focus();
}

function help() {
  const dialog = document.getElementById("keys");
  if (dialog.open) dialog.close();
  else dialog.showModal();
}

/** Go to the first link of the next row of a table, or of the one before. */
function move(by) {
  const rows = [...document.querySelectorAll("main tbody tr")].filter((row) => row.querySelector("a"));
  const here = rows.findIndex((row) => row.contains(document.activeElement));
  const there = rows[here < 0 ? 0 : Math.min(Math.max(here + by, 0), rows.length - 1)];
  there?.querySelector("a").focus();
}

function isTyping(target) {
  return target instanceof Element && target.matches("input, select, textarea, [contenteditable]");
}
